/* SPDX-License-Identifier: MIT */
/* dispatch.h - actions are done one at a time, in the order they came. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "http/conn.h"
#include "sandbox/executor/action.h"
#include "sandbox/executor/observation.h"

struct entry;

enum dispatch_limits {
	DISPATCH_BODY_MAX = 32 << 20, /* of a request for an action; 413 beyond */
	DISPATCH_WAITING_MAX = 256,   /* actions: as many as there may be connections */
};

/* One action on its way from request to reply. */
struct job {
	struct server *server;
	struct job *next;
	struct conn *conn;     /* NULL: the client went away; the action is done all the same... */
	struct conn_mind mind; /* ...but for one that is its client's alone */
	struct entry *entry;   /* what is known of it; see actions.h */
	struct once *once;     /* the key it must not be done twice by, or NULL; see idempotent.h */
	struct action action;
	/* How a dialect says what came of it. */
	void (*tell)(struct job *job, struct observation *o);
	void (*fail)(struct job *job, const char *text);
};

struct dispatch {
	struct job *first, **last; /* the first is in hand */
	unsigned n;
	bool in_hand;	  /* the first has begun */
	unsigned held;	  /* none begins before this is 0 */
	uint64_t used_ms; /* of loop_now(): the last one ended, or this was begun */
};

void dispatch_init(struct dispatch *d);

/* Take over a job; it begins at once if no other is in hand. */
must_check int dispatch_add(struct dispatch *d, struct job *job, struct err *e);

/* A job that has not begun is told that it was cancelled. */
void dispatch_withdraw(struct dispatch *d, struct entry *en);

/* Let no action begin until as many have called dispatch_release(). */
void dispatch_hold(struct dispatch *d);
void dispatch_release(struct dispatch *d);

/* The job in hand is finished: tell the client, begin the next. Takes the observation's texts. */
void dispatch_done(struct dispatch *d, struct observation *o);

/* It could not be done at all: an error of the server, not of the action. */
void dispatch_fail(struct dispatch *d, const char *text);
