/* SPDX-License-Identifier: MIT */
/* store.h - STATE/base on disk: which bases there are, and what is in one; see worktree.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "session/refs.h"

/* Bases below bases: deeper ones are laid whole, since every layer costs each look-up inside. */
#define STORE_DEPTH_MAX 8

/* What "ready" says. */
struct ready {
	char trees[STORE_DEPTH_MAX]
		  [GIT_ID_MAX + 1]; /* commits whose trees make up the base, uppermost first */
	unsigned n_trees;
	uint64_t bytes, entries; /* of the uppermost tree alone */
};

/* Open base/REPO/COMMIT and take its lock, shared. -ENOENT when there is none, -EBUSY while it is
 * being evicted. */
must_check int store_open(int state, const char *repo_id, const char *commit, struct err *e);

/* Read "ready" of an open base. 1; 0 when it is missing or not of this form: not finished. */
int store_read_ready(int base, struct ready *out);
must_check int store_write_ready(int base, const struct ready *r, struct err *e);

/* Note that it was used just now; at most once a minute, and nothing depends on it but which base
 * is evicted first. */
void store_touch(int base);

/* Remove a tree that belongs to its repository's owner, with the owner's rights: he may have kept
 * a descriptor of it, and move things about while we are in it. */
must_check int store_remove_owned(int dir, const char *name, struct err *e);

/* Call `each` for every name in a directory but "." and ".."; stops at a negative answer. */
must_check int store_each(int dir, int (*each)(int dir, const char *name, void *arg, struct err *e),
			  void *arg, struct err *e);
