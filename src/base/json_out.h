/* SPDX-License-Identifier: MIT */
/* json_out.h - write JSON into a buffer. Commas and escapes are taken care of; nesting is the
 * caller's. Bytes that are not UTF-8 become U+FFFD, so the result is always valid. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct json_out {
	struct buf *buf;
	bool pretty; /* two spaces a level, one value a line */
	bool comma;  /* private: a comma is due before the next value */
	unsigned depth;
};

/* `key` is NULL inside arrays and at the top. */
void jo_object(struct json_out *o, const char *key);
void jo_end_object(struct json_out *o);
void jo_array(struct json_out *o, const char *key);
void jo_end_array(struct json_out *o);
void jo_string(struct json_out *o, const char *key, const char *value); /* NULL writes null */
void jo_string_n(struct json_out *o, const char *key, const char *bytes, size_t len);
void jo_int(struct json_out *o, const char *key, int64_t value);
void jo_u64(struct json_out *o, const char *key, uint64_t value);
void jo_real(struct json_out *o, const char *key,
	     double value); /* shortest form; NaN writes null */
void jo_bool(struct json_out *o, const char *key, bool value);
void jo_null(struct json_out *o, const char *key);
