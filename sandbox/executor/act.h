/* SPDX-License-Identifier: MIT */
/* act.h - how each kind of action begins. dispatch_done() or dispatch_fail() ends it. */
#pragma once

#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/shell.h"

enum act_limits {
	ACT_START_MS = 30000,	/* for a shell to be up */
	ACT_SILENCE_MS = 10000, /* without new output, an action that is not blocking is answered */
	ACT_FILE_MS = 60000,	/* for one file action */
};

/* The persistent shell, and what is known of the command in it. */
struct act_runs {
	struct server *server;
	struct shell shell, once; /* `once`: of a static command */
	struct job *job;	  /* the run in hand, or NULL */
	struct shell *where;	  /* the shell it runs in */
	bool pending;		  /* a command was answered for before it was done */
	bool died;		  /* the shell was lost since the last answer; to be said once */
	bool typed;		  /* the request's text went into the terminal, which echoes it */
	struct buf reported;	  /* what was told of the pending one */
	bool any_reported;
	uint64_t since_ms, quiet_ms; /* begin of the request, last change of the screen */
	struct timer timer;
};

void act_runs_init(struct act_runs *r, struct server *s);

/* Directory that relative paths of file actions start from. */
const char *act_cwd(const struct server *s);

void act_run(struct job *job);
void act_read(struct job *job);
void act_write(struct job *job);

/* Kinds that need a part this session does not have: an error observation. */
void act_absent(struct job *job);
