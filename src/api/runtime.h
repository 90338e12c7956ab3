/* SPDX-License-Identifier: MIT */
/* runtime.h - a session as the daemon knows it, and as its clients are shown it: the runtime object.
 *
 * It is an index over the records, never the truth: what a session is, its record says, and a daemon
 * that begins finds all of it again. Only what never came to life has no record; what is known of that
 * goes with the daemon. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "base/loop.h"
#include "session/session.h"

struct held_port;
struct operation;
struct server;

enum runtime_state {
	RUNTIME_STARTING,
	RUNTIME_RUNNING,
	RUNTIME_FROZEN,
	RUNTIME_PAUSED, /* on the disk */
	RUNTIME_ENDED,	/* its processes are gone, its layers are there: it can be resumed */
	RUNTIME_FAILED, /* it never came to life: there is nothing but `detail` */
};

#define RUNTIME_STATES 6

enum runtime_limits {
	RUNTIME_PORTS_MAX = 8,
	RUNTIME_FAILED_MAX = 256,	/* of which is still known why */
	RUNTIME_FAILED_MS = 600 * 1000, /* for so long */
};

struct runtime_port {
	uint16_t host, inside;
};

struct runtime {
	struct runtime *next;
	struct server *server;
	char *name;  /* what the client calls it: session_id; its id where nobody gave it one */
	char id[13]; /* runtime_id; "" before there is a record */
	enum runtime_state state;
	char key[65];	   /* of its executor */
	char *program_key; /* of the image's own program, where that is what its URL leads to */
	uint16_t port;	   /* where its executor answers on the host's loopback */
	uint16_t url_port; /* what its URL names: that, or its own program's */
	struct runtime_port ports[RUNTIME_PORTS_MAX];
	unsigned n_ports;
	char *template; /* the name of its template, or NULL */
	/* Of one that is held ready for whoever comes; see pool.h. Clients are shown nothing of it. */
	char *shape, *fresh;
	char *created; /* RFC 3339 */
	char *detail;  /* why it is as it is; NULL */
	char *logs; /* of the image's own program, which has ended though the session lives; NULL */
	uint64_t stamp;	   /* of its record, as it was read last; see session_stamp() */
	uint64_t since_ms; /* of loop_now(): in this state */
	uint64_t up_ticks; /* since the boot: when its processes were started last; 0: never */
	uint64_t
		claimed_ms; /* of loop_now(): it was given to somebody out of the pool; 0: not by us */
	unsigned restarts;
	bool wakes; /* it was paused by nobody's wish: see the journal in session.h */
	/* How it is about to be reclaimed: if it is idle for so long even now (0: in any case). */
	uint64_t reclaim_idle_ms;
	bool reclaim_stops;
	bool checking; /* whether its program has ended */
	/* Its first process: when that ends, all of it has. */
	struct source end;
	/* What is done with it, one after the other. */
	struct operation *first, **last;
	bool busy; /* the first one is at work */
	struct held_port *held,
		*held_program; /* on its ports, while it is on the disk; see held.h */
};

/* What is told of each state. */
const char *runtime_status(enum runtime_state s); /* "starting", "running", "paused", "error" */
const char *runtime_pod_status(
	enum runtime_state s); /* "pending", "ready", "not found", "failed" */

struct runtime *runtime_new(struct server *s, const char *name);
void runtime_free(struct runtime *r);

/* Take over what a record says of it, but for how it stands. */
must_check int runtime_read(struct runtime *r, const struct record *record, struct err *e);

/* The same, and how it stands; `alive` as session_is_alive() has it. */
must_check int runtime_follow(struct runtime *r, const struct record *record, bool alive,
			      struct err *e);

/* Another state, from now on; `detail` may be NULL. */
void runtime_set(struct runtime *r, enum runtime_state state, const char *detail);

/* It was held ready, and begins to count for somebody now. */
void runtime_claimed(struct runtime *r);

/* Its program has ended, and why. `log` is what it wrote before; NULL: no more than that. */
void runtime_break(struct runtime *r, const char *why, const char *log);

/* What its program wrote before that. */
void runtime_log(struct runtime *r, const char *log);

/* The URL of one of its ports. */
void runtime_url(const struct runtime *r, uint16_t port, struct buf *out);

/* The superset of what all clients read; see the strictest reader of each field in runtime.c. */
void runtime_json(struct json_out *o, const char *key, const struct runtime *r);
