/* SPDX-License-Identifier: MIT */
/* conn.h - one HTTP connection: requests in, replies out, in order, within limits of size and time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/http.h"
#include "sandbox/executor/loop.h"

struct server;
struct conn;

enum conn_limits {
	CONN_MAX = 256,	       /* at once; the longest idle one makes room for a new one */
	CONN_SESSION_MAX = 64, /* of them over the session's own address, which is the workload's */
	CONN_DISCARD_MAX =
		64 * 1024,     /* of a body nobody wants, before the connection is given up */
	CONN_IDLE_MS = 75000,  /* between requests */
	CONN_HEAD_MS = 10000,  /* from a head's first byte to its last: 408 */
	CONN_MOVE_MS = 30000,  /* with no byte of a body or reply moving */
	CONN_LINGER_MS = 2000, /* for a refused client to read why, before the reset */
};

/* Who answers what. `handle` replies, now or (after conn_hold) later. */
struct route {
	const char *method, *path;
	bool open;	 /* needs no key */
	size_t body_max; /* 0: a body is thrown away */
	void (*handle)(struct server *s, struct conn *c, const char *body, size_t len);
};

/* All connections of the server. */
struct conns {
	struct server *server;
	struct loop *loop;
	const char *key;
	const struct route *routes;
	size_t n_routes;
	struct conn *first;
	unsigned n;
	struct timer sweep;
	struct source *listeners[5];
	unsigned n_listeners;
};

/* Listen on this descriptor (taken over) from now on, with up to `max` connections at once: who can
 * crowd one listener does not crowd the others. */
must_check int conns_listen(struct conns *cs, int fd, unsigned max, struct err *e);

/* Reply to the request in hand. `type` NULL is JSON. */
void conn_reply(struct conn *c, int status, const char *type, const char *body, size_t len);

/* {"detail": text} */
void conn_reply_detail(struct conn *c, int status, const char *detail);

/* The reply comes later: *holder is set to the connection, and to NULL if it goes away before. */
void conn_hold(struct conn *c, struct conn **holder);
