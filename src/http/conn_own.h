/* SPDX-License-Identifier: MIT */
/* conn_own.h - what the files of a connection share: conn.c (its life), conn_in.c (requests),
 * conn_out.c (replies). Nobody else includes it. */
#pragma once

#include "http/conn.h"

enum conn_own_limits {
	CONN_IN_BYTES = 2 * HTTP_HEAD_MAX, /* a head, which stays while it is answered, and more */
};

enum conn_state {
	CONN_HEAD, /* of the next request; at rest while nothing has come */
	CONN_BODY,
	CONN_WAIT,   /* for whoever answers */
	CONN_REPLY,  /* bytes are left to write */
	CONN_STREAM, /* a streamed reply has begun, and all that there is of it is written */
	CONN_LINGER, /* the reply is out; what still comes is thrown away */
};

struct listener {
	struct source source;
	struct conns *all;
	unsigned n, max;
};

struct conn {
	struct conns *all;
	struct listener *from;
	struct conn *next, *prev;
	struct source source;
	enum conn_state state;
	uint64_t deadline_ms;
	char *in; /* CONN_IN_BYTES, or NULL: the head in hand, and what has come behind it */
	size_t head_len, in_at, in_len;

	struct http_request request; /* points into the head */
	struct http_text segment;
	const struct route *route; /* NULL: `refusal` is the answer */
	int refusal;
	const char *refusal_text, *allow;
	bool discard, closes, advancing;

	struct http_chunks chunks;
	uint64_t body_left;
	bool body_ended;
	struct buf body;
	struct conn_body *to; /* whoever takes it in pieces */
	bool paused;
	char *piece; /* CONN_PIECE_BYTES, while a body is taken in pieces */
	size_t piece_at, piece_len;

	struct buf out;
	size_t out_at;
	char *what; /* where somebody wants to be told; of the request in hand */
	uint64_t began_us;
	struct conn **holder;
	struct conn_mind *mind;
	struct conn_stream *stream;
	uint64_t stream_left;
	bool stream_chunks;
};

/* conn.c */
void conn_free(struct conn *c);
void conn_set_state(struct conn *c, enum conn_state state);
void conn_drop_in(struct conn *c);
void conn_drop_piece(struct conn *c);
/* Wait for what the state and its details ask for. Within conn_advance() this is put off to its
 * end. */
void conn_watch(struct conn *c);

/* conn_in.c: go on as far as the bytes that are here allow. */
void conn_advance(struct conn *c);
/* Answer with this and end the connection. */
void conn_give_up(struct conn *c, int status, const char *text);
/* Where the next bytes of the socket go: how many fit (0: none are wanted) and *at. */
size_t conn_room(struct conn *c, char **at);
void conn_came(struct conn *c, size_t len);

/* conn_out.c: write what is left. */
void conn_flush(struct conn *c);
