/* SPDX-License-Identifier: MIT */
/* udiff_match.h - which runs of lines two texts have in common. Pure; lines are numbers here. */
#pragma once

#include <stdint.h>

#include "base/auto.h"

/* Lines as numbers: equal lines have equal ones, all below `ids`. */
struct udiff_lines {
	const uint32_t *before, *after;
	uint32_t n_before, n_after, ids;
};

/* A run of lines that both have. */
struct udiff_block {
	uint32_t before, after, n;
};

struct udiff_blocks {
	struct udiff_block
		*block; /* in the order of the lines, none next to another; the caller's */
	uint32_t n, room;
};

/* Find them, within so many steps. -ENOMEM. */
must_check int udiff_match(const struct udiff_lines *lines, uint64_t steps,
			   struct udiff_blocks *out);
