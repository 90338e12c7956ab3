/* SPDX-License-Identifier: MIT */
/* multipart.h - a body of multipart/form-data, as its bytes come. Pure: no I/O, no memory.
 *
 * Strict where two parsers could differ: nothing stands before the first boundary, every part says
 * once what it is, and its bytes are as they are (no transfer encoding). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "http/http.h"

enum multipart_limits {
	MULTIPART_BOUNDARY_MAX = 70, /* as RFC 2046 has it */
	MULTIPART_HEAD_MAX = 8192,   /* of one part, with its last empty line */
	MULTIPART_PARTS_MAX = 100,
	MULTIPART_NAME_MAX = 256,
	MULTIPART_FILENAME_MAX = 4096,
};

struct multipart {
	char mark[MULTIPART_BOUNDARY_MAX + 4]; /* what ends a part: CR LF, "--", the boundary */
	size_t mark_len;
	enum { MULTIPART_FIRST, MULTIPART_MARKED, MULTIPART_HEAD, MULTIPART_IN, MULTIPART_OVER } at;
	unsigned parts;
};

enum multipart_event {
	MULTIPART_MORE, /* bytes are missing: call again with these and what follows them */
	MULTIPART_PART, /* a part begins: `name` and `filename` are filled */
	MULTIPART_DATA, /* the first `used` bytes are of the part; fewer of them may be taken */
	MULTIPART_PART_END,
	MULTIPART_END, /* nothing that follows counts */
	MULTIPART_BAD, /* *e says why */
};

struct multipart_found {
	size_t used;			   /* bytes that are done with */
	char name[MULTIPART_NAME_MAX + 1]; /* UTF-8 without NUL, as filename is */
	char filename[MULTIPART_FILENAME_MAX + 1];
	bool has_filename;
};

/* Begin with what the request's Content-Type says. -EINVAL where it is not such a body. */
must_check int multipart_begin(struct multipart *m, struct http_text content_type, struct err *e);

/* What comes next in these bytes. */
must_check enum multipart_event multipart_next(struct multipart *m, const char *bytes, size_t len,
					       struct multipart_found *found, struct err *e);
