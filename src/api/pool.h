/* SPDX-License-Identifier: MIT */
/* pool.h - sessions held ready for clients that have not come yet: `warm` of a template.
 *
 * Each is a whole session, started for what a client of that template asked for last and lacking but a
 * name; whoever asks for exactly the same is given one by a line in its journal. It is never handed out
 * twice: having a name is what ends its time in the pool. Nor when it is stale: what it was made of is
 * looked at again in that moment (fresh.h). What the pool holds is told by the records alone, so a later
 * daemon finds it. */
#pragma once

#include "api/answer.h"
#include "api/start_body.h"
#include "base/loop.h"
#include "http/conn.h"

struct pool_shape;
struct server;

struct pool {
	struct pool_shape *shapes; /* one for each template that holds any */
	struct timer turn;
	uint64_t asked_ms;  /* by a client, last */
	uint64_t wanted_ms; /* since when there is something to do; 0: nothing is known */
	uint64_t looked_ms;
	unsigned number; /* of the next one */
	uint64_t taken;	 /* so many were handed out */
};

enum pool_limits {
	POOL_AT_ONCE = 2,	   /* are being started */
	POOL_QUIET_MS = 50,	   /* after a client's start: those go first */
	POOL_PATIENT_MS = 1000,	   /* but for no longer */
	POOL_LOOK_MS = 5000,	   /* between two looks at whether they are stale */
	POOL_AGE_MS = 3600 * 1000, /* none gets older unused */
};

void pool_begin(struct server *s);

/* A client asks for a new session, whose name `body` has. True: it was given one of the pool's, and has
 * its answer. `text` is what `body` was read from. */
bool pool_take(struct server *s, const struct start_body *body, const char *text, size_t len,
	       struct conn *c, enum answer_kind answer);

/* Something has changed: look soon at what is to be started, or stopped. */
void pool_want(struct server *s);

/* Look now. */
void pool_turn(struct server *s);
void pool_end(struct server *s);
