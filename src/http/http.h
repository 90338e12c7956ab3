/* SPDX-License-Identifier: MIT */
/* http.h - the bytes of an HTTP/1.1 request become a struct. Pure: no I/O.
 *
 * Strict: what two parsers could read differently is refused. No bare line feeds, no folded
 * lines, no blank before a colon, no Content-Length beside Transfer-Encoding or twice, no chunk
 * extensions, no trailers, exactly one Host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#include "base/auto.h"

enum http_limits {
	HTTP_HEAD_MAX = 16 * 1024, /* bytes of request line and headers; 431 beyond */
	HTTP_HEADERS_MAX = 64,	   /* 431 */
};

/* Part of the bytes that were parsed; not terminated. `at` is NULL where it is missing. */
struct http_text {
	const char *at;
	size_t len;
};

struct http_request {
	struct http_text method, path, query; /* the query without its "?" */
	struct http_text host, key, content_type, idempotency_key;
	bool has_origin;  /* a page of a browser's asks */
	bool has_upgrade; /* to another protocol, which nobody here speaks */
	bool one_dot_zero, keep_alive, expects_continue, chunked;
	uint64_t length; /* of the body, unless chunked */
};

/* Two keys are about, and clients send each to whom the other belongs. */
enum http_key {
	HTTP_KEY_SESSION, /* X-Session-API-Key */
	HTTP_KEY_CONTROL, /* X-API-Key */
};

/* Parse the head at the start of `bytes`. Returns its length with *r filled, 0 while the end of
 * the head has not come, or a negative HTTP status. The value of the key that is not `ours` is
 * overwritten where it stands, unread; after a refusal the caller overwrites all of the bytes. */
must_check long http_head(char *bytes, size_t len, enum http_key ours, struct http_request *r);

/* A chunked body on its way. Zeroed memory is its start. */
struct http_chunks {
	enum {
		CHUNK_SIZE,
		CHUNK_SIZE_LF,
		CHUNK_DATA,
		CHUNK_CR,
		CHUNK_LF,
		CHUNK_END_CR,
		CHUNK_END_LF,
		CHUNK_DONE
	} at;
	unsigned digits;
	uint64_t left; /* of this chunk */
};

/* Take the next piece: `*used` bytes were consumed, `*data` are those of the body among them,
 * which may be none. Call again with the rest while there is any. 0, 1 when the body is whole,
 * or -400. */
must_check int http_chunks(struct http_chunks *c, const char *bytes, size_t len, size_t *used,
			   struct http_text *data);

bool http_text_is(struct http_text text, const char *other);

/* Does a path fit a pattern? A segment "*" of it stands for any one that is not empty; *segment is
 * then the first such. */
bool http_path_fits(struct http_text path, const char *pattern, struct http_text *segment);

/* Append the value of a parameter of a query, decoded, to `out`: the last one where there are
 * several. Returns whether there is one. May hold any byte. */
bool http_query(struct http_text query, const char *name, struct buf *out);

/* The next value of a parameter that may be given several times. *rest begins as the query, and is what
 * is behind that value afterwards. */
bool http_query_next(struct http_text *rest, const char *name, struct buf *out);

/* A hexadecimal digit of either case: its value, or -1. */
int http_hex(char c);

/* The reason phrase of a status. */
const char *http_reason(int status);
