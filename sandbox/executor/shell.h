/* SPDX-License-Identifier: MIT */
/* shell.h - a bash in a terminal, told what to run and heard of what came of it.
 *
 * Commands do not go through the terminal. The shell's own stdin is a stream socket to the server
 * that no process it starts inherits; each command comes as one quoted `eval` with the terminal
 * as stdin, and behind it a line that reports its status over the same socket. So nothing is
 * echoed, no prompt is searched for, and the end of a command is a message, not a look at the
 * screen. What is typed while a command runs goes to the terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/screen.h"

enum shell_state {
	SHELL_NONE,	/* not started, or ended */
	SHELL_STARTING, /* asked for; until the first report */
	SHELL_IDLE,
	SHELL_BUSY,
};

enum shell_event {
	SHELL_OUTPUT, /* the screen has changed */
	SHELL_UP,     /* started, and idle */
	SHELL_DONE,   /* the command is done; see `report` */
	SHELL_ENDED,  /* the shell is no more; wait_status tells how */
	SHELL_FAILED, /* it could not be started; `failure` tells why */
};

/* What the shell says of itself after each command. */
struct shell_report {
	int exit_code;
	long background;    /* pid of the last background job; -1: none */
	char *cwd, *python; /* heap; never NULL once there was a report */
};

struct shell {
	struct procs *procs;
	struct loop *loop;
	enum shell_state state;
	struct proc proc;
	struct source terminal, control; /* fd -1 while there is none */
	uint32_t sequence;
	char tty[32];			    /* "/dev/pts/3" */
	struct buf heard;		    /* of a report, so far */
	struct buf to_terminal, to_control; /* not yet written */
	struct screen screen;
	struct shell_report report;
	int wait_status;
	struct err failure;
	void (*event)(struct shell *sh, enum shell_event event);
};

void shell_init(struct shell *sh, struct procs *procs,
		void (*event)(struct shell *, enum shell_event));

/* Ask for the shell, starting in `cwd`. SHELL_UP or SHELL_FAILED follows. */
must_check int shell_start(struct shell *sh, const char *cwd, struct err *e);

/* Run this text in the idle shell. The screen is left as it is. */
void shell_run(struct shell *sh, const char *text, size_t len);

/* Type into the terminal. */
void shell_type(struct shell *sh, const char *bytes, size_t len);

/* Only report once more, as if an empty command had run (idle shell). */
void shell_ask(struct shell *sh);

/* End it with all that is in its foreground; no event follows. Back to SHELL_NONE. */
void shell_stop(struct shell *sh);
