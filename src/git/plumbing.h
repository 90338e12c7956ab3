/* SPDX-License-Identifier: MIT */
/* plumbing.h - the `git` program, for repositories libgit2 cannot read (SHA-256, new extensions).
 *
 * Only commands that read objects and references, with an environment that holds nothing of the
 * user's, no hook, no monitor and no protocol: nothing the repository's configuration names is run. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "session/head.h"

struct plumbing {
	pid_t pid;
	int in, out; /* to write to and to read from */
};

#define PLUMBING_NONE ((struct plumbing) { .pid = -1, .in = -1, .out = -1 })

/* Start `git --git-dir=... ARGS`. Where there is no git it ends at once with status 127. */
must_check int plumbing_start(const struct repo *r, const char *const *args, struct plumbing *out,
			      struct err *e);

/* Close the pipes and wait. Returns its exit status; 128 + n for a signal. */
int plumbing_end(struct plumbing *p);

/* Say that there is no git. Returns -ENOTSUP. */
int plumbing_missing(struct err *e);

/* Run it with `input` (NULL: none) and read all it says. Returns its exit status; -ENOTSUP where
 * there is no git. */
must_check int plumbing_run(const struct repo *r, const char *const *args, const char *input,
			    struct buf *out, struct err *e);
