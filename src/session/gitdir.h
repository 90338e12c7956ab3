/* SPDX-License-Identifier: MIT */
/* gitdir.h - the session's private git directory: a layer over the base's files.
 *
 *	STATE/base/REPO/COMMIT/git-DIGEST/layer/.git/	HEAD config index packed-refs info/ objects/ refs/ hooks/
 *	STATE/base/REPO/COMMIT/git-DIGEST/objects	the object directories it borrows from, a line each
 *
 * It is shared by all sessions of the same commit, branch, references and identity, and becomes
 * private to each by the overlay's copy-up. DIGEST is over all of these. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"
#include "session/head.h"

struct base;

/* The layer's directory name for this repository, revision and plan: "git-" and 32 digits. */
must_check int gitdir_name(const struct plan *p, const struct repo *r, const struct head *h, char out[40],
			   struct err *e);

/* Use the one named `name` in the base's directory `commit_dir`, if it is there: its layer becomes
 * the first of b->layers (which is still empty) and its object directories are opened. 1 or 0. */
must_check int gitdir_find(const struct repo *r, int commit_dir, const char *commit_path, const char *name,
			   struct base *b, struct err *e);
