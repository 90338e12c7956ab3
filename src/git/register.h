/* SPDX-License-Identifier: MIT */
/* register.h - make the base known to the user's repository as a locked, detached work tree, so
 * that no clean-up there takes its commit away. It is all that is ever written there. */
#pragma once

#include "base/err.h"
#include "session/head.h"

/* Register the tree at `tree_path` (opened as `tree`, which gets the file ".git"). 1, or 0 where
 * the repository cannot be written: then the base stays unknown to it. */
must_check int register_add(const struct repo *r, int tree, const char *tree_path,
			    const char *commit, struct err *e);

/* Take away what points to `tree_path`. One that is not there is no error. */
must_check int register_remove(const struct repo *r, const char *tree_path, struct err *e);
