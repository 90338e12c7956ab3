/* SPDX-License-Identifier: MIT */
/* observation.h - what came of an action, whatever dialect it is told in. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "sandbox/executor/action.h"

enum observation_kind {
	OBSERVED_RUN,
	OBSERVED_READ,
	OBSERVED_WRITE,
	OBSERVED_EDIT,
	OBSERVED_IPYTHON,
	OBSERVED_ERROR,
};

enum observation_limits {
	OBSERVED_CHARS = 30000, /* longer output is cut in the middle */
	OBSERVED_IMAGES = 32,
	OBSERVED_IMAGE_BYTES = 8 << 20, /* of all together */
};

struct observation {
	enum observation_kind kind;
	struct buf content;
	/* run */
	struct text command;
	int exit_code; /* -1: not finished */
	long background;
	const char *user, *hostname, *cwd, *python; /* NULL: not known */
	struct buf prefix, suffix;
	bool hidden;
	/* read, write, edit */
	struct buf path;
	bool editor; /* read as the editor shows it */
	/* edit */
	struct buf diff;
	struct text old_str, new_str; /* as they were given */
	/* run_ipython */
	struct text code;
	struct buf images[OBSERVED_IMAGES]; /* PNG */
	unsigned n_images;
};

void observation_clear(struct observation *o);

/* Keep the first and the last half of what may be shown, in characters. */
void observation_shorten(struct buf *content);

/* Drop blanks and empty lines at both ends. */
void observation_trim(struct buf *content);

/* "1.5", "120.0": the shortest form that reads back the same, never without a point. */
void observation_seconds(struct buf *out, double seconds);
