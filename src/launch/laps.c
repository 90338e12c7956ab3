/* SPDX-License-Identifier: MIT */
/* laps.c - see laps.h. */
#include "launch/laps.h"

#include "base/clock.h"

void laps_start(struct laps *l)
{
	*l = (struct laps) { .start_ns = clock_ns() };
	l->last_ns = l->start_ns;
}

void lap(struct laps *l, const char *name)
{
	uint64_t now = clock_ns();

	if (l->n < LAPS_MAX)
		l->stages[l->n++] = (struct stage_time) { name, now - l->last_ns };
	l->last_ns = now;
}

void laps_add(struct laps *l, const struct stage_time *times, unsigned n)
{
	for (unsigned i = 0; i < n && l->n < LAPS_MAX; i++)
		l->stages[l->n++] = times[i];
	l->last_ns = clock_ns();
}

uint64_t laps_whole(const struct laps *l)
{
	return clock_ns() - l->start_ns;
}
