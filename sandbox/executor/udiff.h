/* SPDX-License-Identifier: MIT */
/* udiff.h - the unified diff of two texts, without context. Pure.
 *
 * Lines are matched as Ratcliff and Obershelp do, the longest common block first, because that is
 * the diff clients have seen so far. That can take the cube of the number of lines; so the work is
 * bounded, and what is still unmatched when it is used up counts as changed. */
#pragma once

#include "base/buf.h"
#include "sandbox/executor/text.h"

enum udiff_limits {
	UDIFF_LINES_MAX = 100000, /* of both texts; beyond, only common ends are matched */
	UDIFF_STEPS_MAX = 30 * 1000 * 1000,
	UDIFF_BYTES_MAX =
		4 << 20, /* of the diff; hunks that go beyond are left out, with all behind */
};

/* Append the diff, or nothing where the texts are equal. Blanks at the end of lines are not shown,
 * and there is no line end behind the last. */
void udiff(struct text path, struct text before, struct text after, struct buf *out);
