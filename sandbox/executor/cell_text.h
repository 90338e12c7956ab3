/* SPDX-License-Identifier: MIT */
/* cell_text.h - what a cell printed: of much, the first and the last.
 *
 * However much comes, no more than CELL_HEAD_BYTES + CELL_TAIL_BYTES are held. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum cell_text_limits { CELL_HEAD_BYTES = 512 * 1024, CELL_TAIL_BYTES = 512 * 1024 };

/* Zeroed memory is empty. */
struct cell_text {
	struct buf head;
	char *tail;    /* a ring, once the head is full */
	uint64_t more; /* bytes that came behind the head */
};

void cell_text_add(struct cell_text *t, const char *bytes, size_t len);
bool cell_text_empty(const struct cell_text *t);

/* Add the text to *out, as it may be told: what is missing in the middle is said, colours and the
 * blanks at the end are gone. It is empty afterwards. */
void cell_text_take(struct cell_text *t, struct buf *out);
void cell_text_clear(struct cell_text *t);

/* Take the colours (ESC [ numbers m) out. */
void cell_text_plain(struct buf *text);
