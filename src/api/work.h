/* SPDX-License-Identifier: MIT */
/* work.h - each operation as its job does it: in a process of its own, by the same calls as the
 * commands. */
#pragma once

#include "api/job.h"
#include "api/operation.h"

/* What does it; its job's `arg` is the struct operation. */
int (*work_of(enum operation_kind kind))(struct job *j, int out, const int *fds, struct err *e);
