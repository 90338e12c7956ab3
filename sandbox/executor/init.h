/* SPDX-License-Identifier: MIT */
/* init.h - PID 1 of a session: it forks the server, starts processes, reaps them, and ends.
 *
 * It reads only messages of ctl.h. When it ends, the kernel ends everything in the session. */
#pragma once

#include "base/err.h"

struct init_fds {
	int ctl;      /* to the host */
	int listener; /* in the session's network; -1: none */
	int userns;   /* of the session */
};

/* The whole life. 0 when the host ended the session, else an error that *e names. */
must_check int init_run(const struct init_fds *fds, struct err *e);
