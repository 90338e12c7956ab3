/* SPDX-License-Identifier: MIT */
/* start_parts.h - a process on its way from fork to exec; private to start*.c. */
#pragma once

#include "sandbox/executor/start.h"

#define STATUS_FD 3 /* where the child keeps its end, behind stdin, stdout and stderr */

/* What crosses the status socket beside the descriptors. */
struct report_bytes {
	struct err err;
	bool exec, listener;
};

struct starting {
	const struct starter *s;
	const struct ctl_start *request;
	int status;
	int io[3];   /* becomes 0, 1, 2 */
	int give[3]; /* what goes to whoever asked */
	unsigned n_give;
	bool as_root;
	char ids[2][32]; /* of the environment */
};

/* Send a report over the status socket; 0 or a negative errno. */
int report_send(int status, const struct report_bytes *bytes, const int *fds, unsigned n_fds);

/* All that happens in the forked process; ends in exec, in serving, or in a report of why not. */
void start_child(const struct starter *s, const struct ctl_start *request, int status)
	__attribute__((noreturn));

/* Make the terminal, pipes or socket that the request asks for, with the workload's ids, and give
 * their other ends away. */
must_check int start_io_make(struct starting *c, struct err *e);

/* Put them where the process expects them, and close everything else but the status socket. */
must_check int start_io_arrange(struct starting *c, struct err *e);

/* The environment of the process, NULL where there is no memory. First come, first kept: the
 * request's own, then what root needs, then the session's. */
char **start_env(struct starting *c);
