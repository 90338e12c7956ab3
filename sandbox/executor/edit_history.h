/* SPDX-License-Identifier: MIT */
/* edit_history.h - what files held before they were edited, for `undo_edit`.
 *
 * It lives in the server: what the workload cannot reach it cannot forge, and it outlives the
 * helper. It is bounded as a whole: of one file's versions only the newest is kept whole, each
 * older one as what distinguishes it from the next; the files edited longest ago go first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sandbox/executor/text.h"

enum edit_history_limits {
	HISTORY_DEPTH = 10, /* versions of one file */
	HISTORY_FILES_MAX = 1000,
	HISTORY_BYTES_MAX = 8 << 20, /* in all */
};

struct past;

/* Zeroed memory is an empty one. */
struct edit_history {
	struct past *recent; /* of each file, the last edited first */
	size_t bytes;
	unsigned n;
};

/* Remember what the file held. A version that is too large, or for which there is no memory, takes
 * the older ones with it: undoing must not skip one. */
void history_push(struct edit_history *h, struct text path, struct text bytes);

/* The last version, shown until the next call; `at` NULL without one. */
struct text history_last(const struct edit_history *h, struct text path);

/* Forget the last version. */
void history_pop(struct edit_history *h, struct text path);

void history_clear(struct edit_history *h);
