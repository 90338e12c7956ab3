/* SPDX-License-Identifier: MIT */
/* plain.h - foreign text for a terminal: nothing in it is obeyed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* What a piece of text leaves for the next one. */
struct plain {
	bool led; /* it ended in the first byte of what may be a control character */
};

/* Add `text` with its control characters, but for tab and line feed, shown as less(1) does: "^[".
 * Those of two bytes (U+0080 to U+009F) too. */
void plain_add(struct plain *p, struct buf *out, const char *text, size_t len);

/* What is left when no more comes. */
void plain_end(struct plain *p, struct buf *out);

/* From one descriptor to another, to its end. */
must_check int plain_copy(int from, int to, struct err *e);
