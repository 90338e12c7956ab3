/* SPDX-License-Identifier: MIT */
/* spawn.h - the clone: from here on there are two sides, and the gate between them. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "sandbox/inside.h"

/* Clone the child into its namespaces and let it walk `in` (see inside.h). `group_dir` is the v2
 * group it is born in, or -1. The child has its own copies of the descriptors named in `in`: the
 * caller closes in->gate and in->ctl afterwards, or it will never see their ends. Gives the
 * child's pid on the host and a pidfd, which is the caller's. */
must_check int spawn(const struct inside *in, int group_dir, pid_t *pid, int *pidfd, struct err *e);
