/* SPDX-License-Identifier: MIT */
/* layer.h - write the private git directory of sessions at one commit; see session/gitdir.h. */
#pragma once

#include <stdbool.h>

#include "git/answer.h"
#include "git/objects.h"

struct layer {
	const struct repo *repo;
	const struct repo_format *format;
	struct objects *objects;
	struct answer *answer;
	const char *commit; /* hexadecimal, or GIT_UNBORN */
	const char *ref;    /* the branch HEAD is on; "": detached */
	const char *name,
		*email; /* who commits inside, from the policy; NULL: the repository's own */
	const char *default_name, *default_email; /* where the repository has none; may be NULL */
	int pack;  /* "reachable": the one object directory there is; else -1 */
	int index; /* the base's */
};

/* Make ".git" in the empty directory `dir`. */
must_check int layer_write(const struct layer *l, int dir, struct err *e);

/* The config file's text. */
must_check int layer_config(const struct layer *l, struct buf *out, struct err *e);
