/* SPDX-License-Identifier: MIT */
/* candidates.h - the bases of a repository that a new one may be laid over. */
#pragma once

#include "session/store.h"

#define CANDIDATES_MAX 8

struct candidate {
	char commit[GIT_ID_MAX + 1];
	struct ready ready;
	int lock, index; /* lock: shared, so that it is not evicted meanwhile */
	int64_t used;
};

struct candidates {
	struct candidate base[CANDIDATES_MAX]; /* the last used first */
	unsigned n;
};

/* The last used of the bases in `dir` (base/REPO), but not `except`; those too deep already are
 * left out. */
must_check int candidates_find(int dir, const char *except, struct candidates *out, struct err *e);
void candidates_clear(struct candidates *c);

/* What is known of one, or NULL. */
const struct ready *candidates_get(const struct candidates *c, const char *commit);
