/* SPDX-License-Identifier: MIT */
/* laps.c - see laps.h. */
#include "launch/laps.h"

#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void laps_start(struct laps *l)
{
	*l = (struct laps) { .start_ns = now_ns() };
	l->last_ns = l->start_ns;
}

void lap(struct laps *l, const char *name)
{
	uint64_t now = now_ns();

	if (l->n < LAPS_MAX)
		l->stages[l->n++] = (struct stage_time) { name, now - l->last_ns };
	l->last_ns = now;
}

void laps_add(struct laps *l, const struct stage_time *times, unsigned n)
{
	for (unsigned i = 0; i < n && l->n < LAPS_MAX; i++)
		l->stages[l->n++] = times[i];
	l->last_ns = now_ns();
}

uint64_t laps_whole(const struct laps *l)
{
	return now_ns() - l->start_ns;
}
