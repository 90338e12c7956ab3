/* SPDX-License-Identifier: MIT */
/* conn.h - one HTTP connection: requests in, replies out, in order, within limits of size and time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "http/http.h"

struct server; /* whoever answers: each program has its own */
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
	CONN_PIECE_BYTES = 128 * 1024, /* of a body that comes in pieces, at once */
	CONN_STREAM_MAX = 1 << 20,     /* of a streamed reply that wait for a slow client */
	CONN_WHAT_BYTES = 120,	       /* of what is told of a request */
	CONN_LISTENERS_MAX = 8,	       /* three names that are both loopbacks, and a local socket */
};

/* Who answers what. `handle` replies, now or (after conn_hold) later. */
struct route {
	const char *method, *path; /* a segment "*" of the path is any one: see conn_segment */
	bool open;		   /* needs no key */
	size_t body_max;	   /* 0: a body is thrown away */
	void (*handle)(struct server *s, struct conn *c, const char *body, size_t len);
	/* Instead of `handle`: called when the head is here. It replies, or takes the body in
	 * pieces (conn_take_body). */
	void (*begin)(struct server *s, struct conn *c);
};

/* All connections of the server. */
struct conns {
	struct server *server;
	struct loop *loop;
	const char *key; /* NULL: nobody needs one */
	enum http_key key_kind;
	/* NULL, or whether a request may be heard at all, before its key is looked at: 0, or the status
	 * that refuses it, with *why. */
	int (*admit)(struct server *s, const struct http_request *r, const char **why);
	/* NULL, or told of each reply as it begins; `what` is "METHOD /path", cut. */
	void (*answered)(struct server *s, const char *what, int status, uint64_t us);
	const struct route *routes;
	size_t n_routes;
	/* NULL, or what every request that has the key is for, whatever it asks and `admit` says. */
	const struct route *any;
	uint64_t keyed_ms; /* of loop_now(): when the last request came that had the key */
	struct conn *first;
	unsigned n;
	struct timer sweep;
	struct source *listeners[CONN_LISTENERS_MAX];
	unsigned n_listeners;
	bool closed; /* nobody is let in until conns_open() */
};

/* Listen on this descriptor (taken over) from now on, with up to `max` connections at once: who can
 * crowd one listener does not crowd the others. */
must_check int conns_listen(struct conns *cs, int fd, unsigned max, struct err *e);

/* Let in who has come meanwhile, and who comes. */
void conns_open(struct conns *cs);

/* Hear nobody who is not here yet: they wait in the kernel. */
void conns_shut(struct conns *cs);

/* Let everybody go, and stop listening. The listeners' descriptors are closed. */
void conns_end(struct conns *cs);

/* The request in hand, and what stands for the "*" of its route's path. Both are good until `handle`
 * or `begin` returns. */
const struct http_request *conn_request(const struct conn *c);
struct http_text conn_segment(const struct conn *c);

struct conns *conn_all(const struct conn *c);

/* The bytes of the head in hand; good for as long. */
struct http_text conn_head_bytes(const struct conn *c);

/* Somebody else goes on with a connection that was held: what has come behind its head is appended to
 * `rest`, and it is none of the server's any more. Returns its descriptor, not blocking. */
must_check int conn_detach(struct conn *c, struct buf *rest, struct err *e);

/* --- replies --------------------------------------------------------------------------------- */

#define CONN_LENGTH_UNKNOWN UINT64_MAX

struct conn_head {
	int status;
	const char *type;
	const char *lines; /* further headers, each with its CRLF; NULL for none */
	uint64_t length; /* of the body; CONN_LENGTH_UNKNOWN: in chunks, or (HTTP/1.0) to the end */
};

/* Reply to the request in hand. `type` NULL is JSON. */
void conn_reply(struct conn *c, int status, const char *type, const char *body, size_t len);

/* The same with all of the head; its length is the body's. */
void conn_reply_as(struct conn *c, const struct conn_head *head, const char *body);

/* What is told of an error that nobody outside can do anything about. */
#define CONN_UNEXPECTED "An unexpected error occurred. Please try again later."

/* {"detail": text} */
void conn_reply_detail(struct conn *c, int status, const char *detail);

/* 422: {"detail": "Invalid request parameters", "errors": text} */
void conn_reply_invalid(struct conn *c, const char *errors);

/* The reply comes later: *holder is set to the connection, and to NULL if it goes away before, or
 * when the reply begins. */
void conn_hold(struct conn *c, struct conn **holder);

/* What is done for the client alone, and not to its end without it. Embedded in what does it. */
struct conn_mind {
	/* The client went away before the reply began. Who closes its half of the connection counts as
	 * gone: nothing tells the two apart. */
	void (*left)(struct conn_mind *m);
};

/* Beside conn_hold(): be told of that. What was held is NULL then. */
void conn_mind(struct conn *c, struct conn_mind *m);

/* A reply that comes in pieces, for as long as it takes. Embedded in what makes it. */
struct conn_stream {
	struct conn *conn; /* NULL when it has ended, was cut, or its client went away */
	/* All that was sent is with the kernel: there is room for more. May be NULL. */
	void (*room)(struct conn_stream *s);
	/* The client went away, or took no byte for too long: nothing is called after this. */
	void (*gone)(struct conn_stream *s);
};

/* Begin such a reply to the request in hand. */
void conn_stream(struct conn *c, struct conn_stream *s, const struct conn_head *head);

/* The next piece. All of it is taken. Returns whether there is room for more now; otherwise room()
 * says when, and more than CONN_STREAM_MAX bytes sent before that cut the reply. */
bool conn_send(struct conn_stream *s, const void *bytes, size_t len);

/* That was all; the client's next request follows. Short of the length that the head named, this
 * is conn_cut. */
void conn_end(struct conn_stream *s);

/* It cannot be finished: the connection ends so that the client sees that something is missing. */
void conn_cut(struct conn_stream *s);

/* --- bodies in pieces ------------------------------------------------------------------------ */

/* Who takes a body. Embedded; nothing is called after a reply, or after whole() or gone(). */
struct conn_body {
	/* `bytes` is all that is here. Returns how many of them it took; the rest comes again in
	 * front of what follows, or after conn_resume() if it called conn_pause(). */
	size_t (*piece)(struct conn_body *b, const char *bytes, size_t len);
	/* That was all, but for the `left` bytes that piece() never took. Reply, now or later. */
	void (*whole)(struct conn_body *b, size_t left);
	/* The client went away, or the body is malformed. */
	void (*gone)(struct conn_body *b);
};

/* Take the body of the request in hand: the last that `begin` does, for gone() may come at once. */
void conn_take_body(struct conn *c, struct conn_body *b);

/* Nothing is read of the body, and no time passes for its client, until conn_resume(). */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);

/* Bytes of the body that have not come yet; UINT64_MAX while that is not known. A reply before they
 * have come ends the connection. */
uint64_t conn_body_left(const struct conn *c);
