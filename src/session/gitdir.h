/* SPDX-License-Identifier: MIT */
/* gitdir.h - the session's private git directory: a layer over the base's files.
 *
 *	STATE/base/REPO/COMMIT/git-DIGEST/layer/.git/	HEAD config index packed-refs info/ objects/ refs/ hooks/
 *
 * It is shared by all sessions of the same commit, branch, references and identity, and becomes
 * private to each by the overlay's copy-up. DIGEST is over all of these. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"
#include "session/head.h"

#define GITDIR_NAME_BYTES 37 /* "git-", 32 digits, NUL */

/* The directory's name for this repository, head and plan, and the object directories (opened)
 * it borrows from. */
must_check int gitdir_name(const struct plan *p, const struct repo *r, const struct head *h,
			   const int *objects, unsigned n_objects, char out[GITDIR_NAME_BYTES],
			   struct err *e);

/* The arguments that make ohsandbox-git write it; appended to argv, which ends in NULL. `room` is
 * argv's size. */
must_check int gitdir_arguments(const struct plan *p, const struct head *h, const char **argv,
				unsigned room, struct err *e);
