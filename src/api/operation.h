/* SPDX-License-Identifier: MIT */
/* operation.h - what is done with a session: one after the other, each by a job; who asked waits. */
#pragma once

#include "api/answer.h"
#include "api/runtime.h"
#include "api/server.h"
#include "api/start_body.h"

enum operation_kind {
	OPERATION_START,
	OPERATION_RESUME,
	OPERATION_FREEZE,
	OPERATION_PAUSE,   /* to the disk */
	OPERATION_RECLAIM, /* what nobody wants any more; see reclaim.h */
	OPERATION_STOP,
	OPERATION_RELEASE, /* its processes have ended by themselves: what they leave is taken down */
	OPERATION_ADOPT,   /* a start that an earlier daemon began: wait until it answers */
	OPERATIONS,
};

enum operation_limits {
	ANSWER_AFTER_MS = 8000, /* V1's application server waits 15 s for each answer */
	ANSWER_AGAIN_MS = 500,
	OPERATIONS_MAX = 16, /* that wait for one session; 429 beyond */
};

/* Do it when what was asked for before has been done; `c` hears of it. `body` (for a start) is taken
 * over. `c` may be NULL. */
void operate(struct runtime *r, enum operation_kind kind, struct start_body *body, struct conn *c,
	     enum answer_kind answer);

/* Who is no connection. */
struct hearer {
	void (*told)(struct hearer *h, const struct err *e); /* code 0: it has been done */
};

/* The same for one that hears of it once, when it has been done or cannot be; perhaps at once. */
void operate_for(struct runtime *r, enum operation_kind kind, struct hearer *h);

/* Is anything under way? */
bool runtime_is_busy(const struct runtime *r);

/* Is it a start of ours that makes the session of this id? */
bool operation_makes(const struct runtime *r, const char *id);

/* "start", "pause", ... */
const char *operation_name(enum operation_kind kind);

/* The first process of a session has ended. */
void runtime_ended(struct source *source, uint32_t events);

/* For whoever does the work. */
const struct start_body *operation_body(const struct operation *o);
const struct runtime *operation_runtime(const struct operation *o);
enum operation_kind operation_kind_of(const struct operation *o);
