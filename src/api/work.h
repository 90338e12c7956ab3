/* SPDX-License-Identifier: MIT */
/* work.h - each operation as its job does it: in a process of its own, by the same calls as the
 * commands. */
#pragma once

#include "api/job.h"
#include "api/operation.h"

/* In a job's `value`: its program is to be waited for, by a job with work_await(). */
#define WORK_GOES_ON 1

/* Wait until the program of a session that was started or resumed answers; what it wrote comes back where
 * it ends. A start that fails so leaves no session. */
int work_await(struct job *j, int out, const int *fds, struct err *e);

/* What does it; its job's `arg` is the struct operation. */
int (*work_of(enum operation_kind kind))(struct job *j, int out, const int *fds, struct err *e);
