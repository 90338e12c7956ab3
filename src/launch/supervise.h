/* SPDX-License-Identifier: MIT */
/* supervise.h - from go to the end: one loop over the executor's messages, its life, signals, the
 * deadline and the relay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launch/lifecycle.h"
#include "launch/relay.h"

#define SUPERVISE_TAG 1u /* of the one command that `run` starts */

/* How it came to an end. */
struct outcome {
	bool exited; /* the command has: wait_status is its own */
	int wait_status;
	uint64_t cpu_us, peak_rss_bytes;
	bool deadline;	  /* the time was over */
	int ended_by;	  /* the signal that, the second time, ended the session; 0 */
	bool hung_up;	  /* the caller's terminal went away */
	bool not_started; /* `failure` says why; with exec_failed it was the exec */
	bool exec_failed;
	struct err failure;
};

/* Take the signals that are passed on, and SIGPIPE, out of their normal course; from here on they
 * are read from the descriptor that is returned. Before the first thing that would have to be
 * undone. */
must_check int supervise_signals(struct err *e);

/* Give them back their normal course, as a process that is started must find it. */
void supervise_signals_end(void);

/* The error of an executor that is gone, and has not said why. */
int supervise_no_word(struct err *e);

/* Watch the command until it or the session has ended, and kill what is left of it. `timeout_ms` 0:
 * none. An error is our own failure; the session is over then, too. supervise_end() follows. */
must_check int supervise(struct launch *l, struct relay *r, int signals, uint64_t timeout_ms,
			 struct outcome *out, struct err *e);

/* Wait until nothing of it lives: the kernel takes its mounts down meanwhile. Output that is still on
 * its way stays in the relay: supervise_drain(). */
must_check int supervise_end(struct launch *l, struct relay *r, struct err *e);

/* Write what the session has left in the relay, until all is written or a second SIGINT or SIGTERM
 * says that nobody wants it. */
void supervise_drain(struct relay *r, int signals, struct outcome *out);
