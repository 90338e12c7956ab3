/* SPDX-License-Identifier: MIT */
/* text.h - bytes with a length, somebody else's: of a request, of a file. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `at` NULL: there is none, which is not the same as an empty one. Texts of a request are followed
 * by a NUL; all may hold further ones. */
struct text {
	const char *at;
	size_t len;
};

/* A text of this string, of these bytes. */
struct text text_of(const char *string);

bool text_eq(struct text a, struct text b);

/* Without the blanks at its end, or at both; what counts as one is Unicode's white space and the
 * separators U+001C to U+001F. */
struct text text_rstrip(struct text t);
struct text text_strip(struct text t);

/* Bytes of the first `chars` characters (code points), or all of them. */
size_t text_offset(struct text t, size_t chars);

/* Offset of the first place at or behind `from` where `part` stands, or -1. An empty part stands
 * everywhere, the end included. */
long text_find(struct text t, struct text part, size_t from);
