/* SPDX-License-Identifier: MIT */
/* gitrun.h - start ohsandbox-git and hear what it answers.
 *
 * It runs with the repository owner's ids, an empty environment and the descriptors of its call
 * alone. Its owner can trace it, so what it answers is foreign. It answers in lines:
 *
 *	P <done> <total>	progress, any number of times
 *	{...}			one object, last: the answer, or {"error": {"code": N, "text": "..."}}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "session/owner.h"

#define GIT_RUN_FDS_MAX 28

struct git_run {
	const char *const *argv;     /* behind the program's name; NULL-terminated */
	const struct owner_ids *ids; /* NULL: the caller's */
	int fds[GIT_RUN_FDS_MAX];    /* it finds them from 3 on */
	unsigned n_fds;
	int in, out;	  /* its standard input, and output beside the answer; -1: /dev/null */
	const char *what; /* shown with the progress: "laying the base of 1234abcd" */
};

#define GIT_RUN_FD(i) (3 + (i))
#define GIT_RUN_ANSWER_FD 31 /* where it writes its answer */

/* Run it to its end. The caller frees *answer with json_free(). An error it reports comes back
 * as the error of this call. It is killed when it says nothing for ten minutes. */
must_check int git_run(const struct git_run *run, struct json_doc **answer, struct err *e);

/* The same in two halves, for one that is written to meanwhile through run->in. `run` must stay
 * until the end. After a start that succeeded, finish waits for it. */
struct git_job {
	const struct git_run *run;
	pid_t pid;
	int answer, complaint;
};

must_check int git_start(const struct git_run *run, struct git_job *out, struct err *e);
must_check int git_finish(struct git_job *job, struct json_doc **answer, struct err *e);

/* A member of the answer; NULL with *e when it is missing or of another type. */
const char *git_answer_string(const struct json_doc *answer, const char *key, struct err *e);
