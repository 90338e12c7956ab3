/* SPDX-License-Identifier: MIT */
/* act.h - how each kind of action begins. dispatch_done() or dispatch_fail() ends it. */
#pragma once

#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/edit_history.h"
#include "sandbox/executor/helper.h"
#include "sandbox/executor/shell.h"

enum act_limits {
	ACT_START_MS = 30000,	  /* for a shell to be up */
	ACT_START_OVER_MS = 4000, /* but no longer than its client waits behind the action's time */
	ACT_FILE_MS = 30000,	  /* for one file action */
	ACT_LOOK_MS = 300,	  /* for a look at a process */
};

/* The persistent shell, and what is known of the command in it. */
struct act_runs {
	struct server *server;
	struct shell shell, once; /* `once`: of a static command */
	struct job *job;	  /* the run in hand, or NULL */
	struct shell *where;	  /* the shell it runs in */
	bool pending;		  /* a command was answered for before it was done */
	bool died;		  /* the shell was lost since the last answer; to be said once */
	bool echoed;		  /* the request's text is shown where it was typed */
	bool told_any;		  /* of the pending one */
	size_t told_len;	  /* so much of it, and what that was */
	uint64_t told_hash;
	struct helper looker; /* at who is in the foreground of a shell */
	struct shell *looks_at;
	int looks_for;
	char look_path[32];
	uint64_t silence_ms;	     /* an action that is not blocking is answered after it */
	uint64_t since_ms, quiet_ms; /* begin of the request, last change of the screen */
	struct timer timer;
};

void act_runs_init(struct act_runs *r, struct server *s);

/* Start the shell, which nobody has asked for yet. What is wrong with it the first action will tell. */
void act_runs_prepare(struct act_runs *r);

/* The process that reaches files, and what is asked of it. */
struct act_files {
	struct helper helper;
	struct edit_history history;
	struct buf path; /* of the action in hand */
};

void act_files_init(struct act_files *f, struct server *s);
struct server *act_files_server(struct helper *h);

/* Append the path with doubled slashes and "." dropped, but ".." left to the kernel. */
void act_path_plain(struct text given, struct buf *out);

/* `read` as the editor shows it; act_read() hands over. */
void act_read_editor(struct job *job);

/* Directory that relative paths of file actions start from. */
const char *act_cwd(const struct server *s);

void act_run(struct job *job);
void act_read(struct job *job);
void act_write(struct job *job);
void act_edit(struct job *job);
void act_ipython(struct job *job);
void act_browse(struct job *job);
