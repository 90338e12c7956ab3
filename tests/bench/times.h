/* SPDX-License-Identifier: MIT */
/* times.h - what the programs that take times share. */
#pragma once

#include <time.h>

/* Of the monotonic clock. */
static inline double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* For qsort(3). */
static inline int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}
