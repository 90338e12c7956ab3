/* SPDX-License-Identifier: MIT */
/* procs.h - what the server asks of init, and init's answers, by tag. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "sandbox/ctl.h"

/* One thing asked for: a process, or a connection. Embedded in what asked; zeroed memory is idle. */
struct proc {
	uint32_t tag;
	uint32_t leaf; /* which a process starts in, or was moved to; see leaf.h */
	bool asked;    /* answers may come */
	bool wants_told;
	struct proc *next;
	/* STARTED, FAILED, EXITED or ANSWERED; after the last three nothing more comes. Takes the
	 * descriptors it wants out of the message (leaving -1). */
	void (*answer)(struct proc *p, struct ctl_message *m);
};

struct procs {
	struct loop *loop;
	struct source link; /* to init */
	struct proc *asked;
	uint32_t last_tag;
	bool broken; /* init is gone, or speaks nonsense: the server ends */
	bool untold; /* a process was started of whose refused calls nothing is told */
	/* Calls of processes that were asked for were refused. May be NULL. */
	void (*refused)(struct procs *ps, const struct ctl_refused *refused);
};

/* Takes over `link`. */
must_check int procs_init(struct procs *ps, struct loop *loop, int link, struct err *e);

/* Ask. The tag in the message is filled in. */
must_check int procs_ask(struct procs *ps, struct proc *p, struct ctl_message *m, struct err *e);

/* Send a signal to a process asked for. One that has ended is no error. */
void procs_signal(struct procs *ps, const struct proc *p, int signal, bool group);

/* Hear no more of it; descriptors that still come are closed. */
void procs_forget(struct procs *ps, struct proc *p);
