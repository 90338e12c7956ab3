/* SPDX-License-Identifier: MIT */
/* shell.h - a bash in a terminal, told what to run and heard of what came of it.
 *
 * Commands do not go through the terminal. The shell's own stdin is a stream socket to the server
 * that no process it starts inherits; each command comes as one quoted `eval` with the terminal
 * as stdin, and behind it a line that reports its status over the same socket. So nothing is
 * echoed, no prompt is searched for, and the end of a command is a message, not a look at the
 * screen. What is typed while a command runs goes to the terminal.
 *
 * shell.c is its life and what is heard of it, shell_type.c what is typed, shell_lines.c the words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/screen.h"
#include "sandbox/executor/shell_lines.h"

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
	SHELL_WROTE,  /* it has said what the command wrote; see `written` */
};

/* What the shell says of itself after each command. */
struct shell_report {
	int exit_code;
	long background;    /* pid of the last background job; -1: none */
	char *cwd, *python; /* heap; never NULL once there was a report */
};

/* What the last command has written, with all that was waited for; and the sums that this is the
 * difference of. */
struct shell_written {
	int64_t bytes, stored; /* given to write(2) and the like; of them, to a disk */
	int64_t sum, stored_sum;
};

/* A key that is to become a signal, on its way to the terminal. */
struct shell_key {
	struct timer timer;
	char byte;  /* NUL: none is on its way */
	bool again; /* it was typed, but may have come too early or too late */
	bool early; /* it was for the shell, which may just have been starting something */
	uint64_t asked_ms, since_ms;
	int group;	   /* in the foreground since then; 0: not known */
	unsigned changes;  /* how often it was another one */
	unsigned hunts;	   /* how often the shell was interrupted, too */
	bool is_program;   /* its leader is no copy of the shell any more */
	struct buf behind; /* what is to be typed after it */
};

struct shell {
	struct procs *procs;
	struct loop *loop;
	enum shell_state state;
	struct proc proc;
	int pid; /* in the session's namespace, as is the process group that has this number */
	struct source terminal, control; /* fd -1 while there is none */
	uint32_t sequence;
	bool begun;			    /* the command in hand has begun */
	bool traced;			    /* the shell is in `set -x` */
	bool typed;			    /* into the command in hand */
	unsigned asked;			    /* how often more its report was asked for */
	char tty[32];			    /* "/dev/pts/3" */
	struct buf heard;		    /* of a report, so far */
	int64_t heard_total;		    /* bytes of reports: it wrote them, and no command */
	struct buf to_terminal, to_control; /* not yet written */
	struct shell_key key;
	struct screen screen;
	struct shell_report report;
	struct shell_written written;
	bool counts_first; /* it says what was written before it says that the command is done */
	int wait_status;
	struct err failure;
	void (*event)(struct shell *sh, enum shell_event event);
	/* Look whether the leader of this process group is between fork and exec; shell_looked() says
	 * so. May be NULL. */
	void (*look)(struct shell *sh, int group);
	/* What was written to the terminal, as it was. May be NULL. */
	void (*output)(struct shell *sh, const char *bytes, size_t len);
};

void shell_init(struct shell *sh, struct procs *procs,
		void (*event)(struct shell *, enum shell_event));

/* Ask for the shell, starting in `cwd`. SHELL_UP or SHELL_FAILED follows. */
must_check int shell_start(struct shell *sh, const char *cwd, struct err *e);

/* Run this text in the idle shell; SHELL_DONE or SHELL_ENDED follows. `whole`: it is sure where it
 * ends. The screen is left as it is, but what is written begins a line. */
void shell_run(struct shell *sh, const char *text, size_t len, bool whole);

/* A control key for the idle shell, which reads no terminal: C-c interrupts it, C-d ends it, others do
 * nothing. The same events follow. */
void shell_press(struct shell *sh, char byte);

/* Have it report, as if an empty command had run (idle), or again (busy: the report may have been
 * lost to a signal). */
void shell_ask(struct shell *sh);

/* End it with all that is in its foreground; no event follows. Back to SHELL_NONE. */
void shell_stop(struct shell *sh);

/* Type into the terminal of the busy shell. */
void shell_type(struct shell *sh, const char *bytes, size_t len);

/* Type a key that the terminal may make a signal of. It waits until the command is there to take it: a
 * shell that is about to start a program would swallow it. A stopped shell is told to go on. */
void shell_type_signal(struct shell *sh, char byte);

/* The answer to look(): with what shell_stat_is_between() finds in /proc/PID/stat, or false where that
 * cannot be read. One that comes late does nothing. */
void shell_looked(struct shell *sh, int group, bool between);
bool shell_stat_is_between(const char *stat);

/* Does the terminal, or the program that reads it, show what is typed? */
bool shell_echoes(const struct shell *sh);

/* --- between shell.c and shell_type.c --------------------------------------------------------- */

/* Write what the descriptor takes now, keep the rest; write of the rest. */
void shell_send(struct shell *sh, struct source *to, struct buf *waiting, const char *bytes,
		size_t len);
void shell_send_rest(struct shell *sh, struct source *to, struct buf *waiting);

void shell_typing_init(struct shell *sh);
void shell_typing_begun(struct shell *sh);
/* The command is done: what it did not read is read by nobody. */
void shell_typing_done(struct shell *sh);
void shell_typing_stop(struct shell *sh);
