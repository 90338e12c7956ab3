/* SPDX-License-Identifier: MIT */
/* start.h - a process of the workload, from init's fork to its exec.
 *
 * The child enters the workload's group and user namespace, sheds everything, makes its own
 * terminal or pipes (so that they belong to the workload's user), and executes. What it made and
 * whether it got there comes back over a status socket, so that init never waits for a process
 * that the workload's limits may hold up. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/ctl.h"

/* What all starts share. Nothing in it is owned. */
struct starter {
	const struct ctl_boot *boot;
	const void *filter;
	size_t filter_len;
	int userns;
};

/* What came over a status socket: first, if the process has descriptors to give, those; then end
 * of file when it has exec'd (or serves, as a helper), or the error that ended it. */
struct start_report {
	struct err err; /* code 0: only descriptors */
	bool exec;	/* it was exec itself that failed */
	int listener;	/* of its filter, instead of all else; -1: none */
	int fds[3];
	unsigned n_fds;
};

/* Fork a process for this request. 0, with its pid and the status socket (non-blocking, the
 * caller's) filled in. */
must_check int start_process(const struct starter *s, const struct ctl_start *request, pid_t *pid,
			     int *status, struct err *e);

/* Take the next report: 1 and *r filled (descriptors are the caller's), 0 at end-of-file,
 * -EAGAIN when there is none yet. */
must_check int start_report_take(int status, struct start_report *r, struct err *e);

/* The parts that `sudo` needs too. Fork, straight into this leaf of the workload's group (v2); see
 * leaf.h. */
pid_t start_fork(const struct starter *s, unsigned leaf);

/* In a child: become the session's root, or its user, for good. Enters the leaf (v1) and
 * user namespace, sheds everything, takes the limits and leads a session. Descriptors, signals and
 * the filter are left to the caller. */
must_check int start_become(const struct starter *s, unsigned leaf, bool as_root, struct err *e);
