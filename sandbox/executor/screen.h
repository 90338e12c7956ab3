/* SPDX-License-Identifier: MIT */
/* screen.h - what a terminal shows of the bytes written to it, as text.
 *
 * Cursor movement, erasing, scrolling, insertion and the alternate screen are followed; colours
 * and titles vanish. Memory is taken for what was written, not for the size of the terminal:
 * lines that scroll off become bytes in a history of bounded length. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum screen_limits {
	SCREEN_ROWS = 1000,
	SCREEN_COLS = 1000,
	/* When there are so many lines above the screen, the oldest go, so many at once. Clients
	 * rely on at least 10,001 and at most some 11,300 lines being kept, the screen's included. */
	SCREEN_HISTORY_LINES = 10200,
	SCREEN_HISTORY_DROP = 1000,
	SCREEN_HISTORY_BYTES = 16 << 20, /* or when there are so many */
	SCREEN_PARAMS = 16,		 /* of a control sequence */
};

struct screen_row {
	uint32_t *cells; /* code points; 0 is a blank never written */
	unsigned short len, room;
	bool wrapped; /* the line goes on in the next row */
};

struct screen_grid {
	struct screen_row *rows; /* SCREEN_ROWS of them, a ring; NULL until something is written */
	unsigned first;		 /* where the ring begins */
	unsigned used;		 /* rows that were written to */
	unsigned row, col, saved_row, saved_col;
	unsigned top, bottom; /* of the scrolling region, inclusive */
};

struct screen {
	struct screen_grid main, other; /* `other` is the alternate screen */
	bool alternate, wrap_due;
	struct buf history;
	unsigned history_lines;
	uint64_t lost_lines;
	bool changed; /* since somebody set it to false */
	/* Replies a program waits for (where is the cursor?); to be written to the terminal. */
	char answer[64];
	unsigned answer_len;
	/* The parser. */
	int state;
	unsigned params[SCREEN_PARAMS], n_params;
	bool private_mode;
	uint32_t last, code;
	unsigned code_left;
	uint32_t code_min;
};

/* Zeroed memory is an empty screen. Returns to that, and frees all. */
void screen_clear(struct screen *s);

/* Bytes that a program wrote. Without memory, what does not fit is not shown. */
void screen_feed(struct screen *s, const char *bytes, size_t len);

/* History and screen as UTF-8 text: one line a line, blanks at ends of lines and lines without
 * anything at the end dropped. Returns how many lines there are, empty ones included. */
unsigned screen_text(const struct screen *s, struct buf *out);
