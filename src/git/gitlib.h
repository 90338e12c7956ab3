/* SPDX-License-Identifier: MIT */
/* gitlib.h - libgit2, set up so that it reads no configuration but the repository's own. */
#pragma once

#include "base/err.h"
#include "session/head.h"

struct git_repository;

/* Once, before anything else of libgit2. */
must_check int gitlib_start(struct err *e);
void gitlib_stop(void);

/* Fill *e from libgit2's last error: "<text>: <its message>". `r` is what the call returned. */
int err_git(struct err *e, int r, const char *fmt, ...) printf_like(3, 4);

/* The repository with its references, configuration and work tree. -ENOTSUP where libgit2 does
 * not know how; then git's plumbing may. */
must_check int gitlib_open(const struct repo *r, struct git_repository **out, struct err *e);
