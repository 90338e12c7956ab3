/* SPDX-License-Identifier: MIT */
/* fds.h - the last word on descriptors: what the executor finds, and nothing else. */
#pragma once

#include "base/err.h"

/* Close-on-exec ones: they live to see exec succeed or fail. */
enum { FDS_GATE = 7, FDS_PROGRAM = 8 };

struct fds {
	int ctl, listener, userns,
		lock;	   /* become INSIDE_FD_CTL and so on; -1: that place is closed */
	int gate, program; /* become FDS_GATE, FDS_PROGRAM */
};

/* Put these in their places, /dev/null of the session on 0, 1 and 2, and close all others. On an
 * error *f says where each is by then. */
must_check int fds_arrange(struct fds *f, struct err *e);
