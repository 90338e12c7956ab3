/* SPDX-License-Identifier: MIT */
/* job.h - what takes its time, or may crash on foreign input, is done by a child of the daemon's.
 *
 * A job is a process of its own: the daemon's loop never waits for a mount, a repository or a session's
 * executor. It holds no descriptor of the daemon's but those it is given. Nothing is lost when the
 * daemon dies meanwhile: the job goes on to its end, and what it made is found by its record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

enum job_limits {
	JOB_OUTPUT_MAX = 64 << 20,
	JOB_FDS_MAX = 2, /* handed over */
};

/* What a job leaves behind: memory that both processes see. */
struct job_result {
	bool done;
	struct err error; /* code 0: none */
	char id[13];	  /* of the session it made */
	uint64_t value;	  /* whatever else it found out */
	uint64_t wall_us;
};

struct jobs;

struct job {
	/* In the child: do it. `out` is a pipe whose bytes the daemon collects; `fds` those handed over. */
	int (*run)(struct job *j, int out, const int *fds, struct err *e);
	/* In the daemon, when the process has ended; the job is freed behind it. j->result->error says
	 * how it went, also when the process died. */
	void (*done)(struct job *j);
	void *arg;
	int fds[JOB_FDS_MAX]; /* the daemon's own still; -1: none */

	/* private, but for the result and the output */
	struct job_result *result;
	struct buf output;
	struct jobs *all;
	struct job *next;
	struct source from, end;
	pid_t pid;
	bool unborn;
	uint64_t began_us;
};

struct jobs {
	struct loop *loop;
	void *owner;	       /* of whoever sets `idle` and `begun` */
	unsigned running, max; /* at once; the others wait in order */
	struct job *first;     /* running */
	struct job *waiting, **last;
	struct timer soon;
	void (*idle)(struct jobs *js);	/* the last one has ended; may be NULL */
	void (*begun)(struct jobs *js); /* in each child, before its work; may be NULL */
};

void jobs_init(struct jobs *js, struct loop *loop, unsigned max);

/* A job with nothing in it but these. NULL when there is no memory. */
struct job *job_new(int (*run)(struct job *j, int out, const int *fds, struct err *e),
		    void (*done)(struct job *j), void *arg);

/* Do it, when there is room. Takes the job over: done() comes in every case, never before this
 * returns. */
void job_start(struct jobs *js, struct job *j);

/* Tell it that nobody wants it any more; done() comes all the same. One that waits for room is never
 * begun. */
void job_cancel(struct job *j);
