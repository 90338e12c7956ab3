/* SPDX-License-Identifier: MIT */
/* client.h - the little HTTP that a command speaks to a session's executor.
 *
 * One connection, requests one after the other. What comes back is foreign: head and body are
 * limited, a length is needed, and anything odd is an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define CLIENT_HEAD_MAX 16384u
#define CLIENT_BODY_MAX (256u << 20)

struct client_head {
	unsigned status;
	size_t head_bytes; /* up to and with the empty line */
	bool chunked;
	bool has_length;
	uint64_t length;
	bool close;
};

/* Read a reply's head. 1 and *out filled, 0 where more bytes are needed, -EPROTO or -EFBIG. Pure. */
must_check int client_parse_head(const char *bytes, size_t len, struct client_head *out,
				 struct err *e);

/* Take one piece of a chunked body out of `bytes`: *used bytes are done with, `data` of them with
 * `n` bytes are body. 1 a piece, 2 the end, 0 where more bytes are needed, or -EPROTO. Pure. */
must_check int client_parse_chunk(const char *bytes, size_t len, const char **data, size_t *n,
				  size_t *used, struct err *e);

struct client_request {
	const char *method, *path; /* "POST", "/execute_action" */
	const char *key;	   /* the session's, or NULL */
	const char *body;	   /* JSON, or NULL */
	size_t body_len;
	int timeout_ms; /* for the whole exchange; -1: none */
};

/* Connect to an IPv4 address in host order. Returns an fd. */
must_check int client_connect(uint32_t address, uint16_t port, int timeout_ms, struct err *e);

/* The two halves of an exchange, for who has something else to do meanwhile. `body`'s limit, where it
 * has one, is the reply's. */
must_check int client_send(int fd, const struct client_request *r, struct err *e);
must_check int client_answer(int fd, int timeout_ms, struct buf *body, bool *again, struct err *e);

/* One request, one reply. Returns the status; the body is appended to `body`, whose limit, where it has
 * one, is the reply's. *again says whether the connection is good for another request. */
must_check int client_exchange(int fd, const struct client_request *r, struct buf *body,
			       bool *again, struct err *e);
