/* SPDX-License-Identifier: MIT */
/* pack.h - the objects that a commit's history is made of, and no others, in one pack. */
#pragma once

#include "git/answer.h"
#include "git/objects.h"

/* Write them into the empty object directory `dir`. */
must_check int pack_reachable(const struct repo *r, const struct repo_format *format,
			      struct objects *o, const char *commit, int dir, struct answer *a,
			      struct err *e);
