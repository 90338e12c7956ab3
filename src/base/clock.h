/* SPDX-License-Identifier: MIT */
/* clock.h - the monotonic clock, which cannot fail: it goes on whatever is done to the time of day. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_us(void)
{
	return clock_ns() / 1000;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000;
}
