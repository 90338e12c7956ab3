/* SPDX-License-Identifier: MIT */
/* laps.h - how long each step of a start or an end took, for who asks. */
#pragma once

#include <stdint.h>

#define LAPS_MAX 40

struct stage_time {
	const char *name; /* a constant */
	uint64_t ns;
};

struct laps {
	struct stage_time stages[LAPS_MAX];
	unsigned n;
	uint64_t start_ns, last_ns;
};

void laps_start(struct laps *l);

/* The time since the last lap was `name`'s. */
void lap(struct laps *l, const char *name);

/* Steps that were timed on their own. */
void laps_add(struct laps *l, const struct stage_time *times, unsigned n);

/* Since the start, in nanoseconds. */
uint64_t laps_whole(const struct laps *l);
