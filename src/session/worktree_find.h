/* SPDX-License-Identifier: MIT */
/* worktree_find.h - shared between finding (worktree.c) and making (worktree_make.c). */
#pragma once

#include "session/head.h"
#include "session/worktree.h"

/* Use the base of this commit if all of it is there. 1 or 0. */
must_check int worktree_try(const struct plan *p, int state, const struct repo *r,
			    const struct head *h, struct base *out, struct err *e);
