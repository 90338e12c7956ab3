/* SPDX-License-Identifier: MIT */
/* call.h - what a client waits for of a session itself: each a job, for as long as it takes.
 *
 * One that nobody waits for any more is ended. None waits for a place: those that are hung of one session
 * must not be in the way of the others'. */
#pragma once

#include "api/job.h"
#include "api/server.h"

enum call_limits {
	CALLS_MAX = 256,	/* at once; 503 beyond */
	CALLS_SESSION_MAX = 32, /* of them for one session; 429 beyond */
	CALLS_OWN_MAX = 8,	/* beside them: what the daemon itself asks sessions */
};

/* What its job needs of the session is a copy: the session may be gone before it ends. */
struct call {
	const char *type;    /* of the answer; NULL: JSON */
	char *text;	     /* what was asked for; heap */
	uint64_t timeout_ms; /* of an exec */
	bool is_program; /* the job becomes another program, which says on stderr why it failed */

	/* private, but for its job's reading */
	char id[13], key[65];
	uint16_t port;
	const char *state_path;
	struct server *server;
	struct call *next;
	struct job *job;
	struct conn *conn; /* NULL when the client went away */
	struct conn_mind mind;
	int said; /* what is_program writes to its stderr; -1: none */
};

/* Answer `c` with what `run` writes, or with its error. Its job's `arg` is the struct call, which is as
 * `like`; like.text is taken over. */
void call_begin(struct runtime *r, struct conn *c, struct call like,
		int (*run)(struct job *j, int out, const int *fds, struct err *e));

/* In its job, when the session does not answer: if it has died or gone, e says that instead. Returns
 * -e->code. */
must_check int call_explain(const struct call *call, struct err *e);
