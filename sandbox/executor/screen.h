/* SPDX-License-Identifier: MIT */
/* screen.h - what a terminal shows of the bytes written to it, as text.
 *
 * Cursor movement, erasing, scrolling, insertion, tab stops, line drawing and the alternate screen
 * are followed; colours and titles vanish. Memory is taken for what was written, not for the size of
 * the terminal: lines that scroll off become bytes in a history of bounded length.
 *
 * screen.c parses what comes, screen_control.c knows the sequences, screen_draw.c does what they
 * ask for, screen_grid.c keeps the rows. */
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
	SCREEN_JOINED_MAX = 16384,	 /* different characters with others that join them */
};

struct screen_row {
	uint32_t *
		cells; /* code points; 0 is a blank never written; beyond Unicode see screen_grid.h */
	unsigned short len, room;
	bool wrapped; /* the line goes on in the next row */
};

struct screen_grid {
	struct screen_row *rows; /* a ring; NULL until something is written */
	unsigned n_rows;
	unsigned first; /* where the ring begins */
	unsigned used;	/* rows that were written to */
	unsigned row, col;
	unsigned top, bottom; /* of the scrolling region, inclusive */
	struct {
		unsigned row, col;
		bool origin, graphics[2], shifted;
	} saved;
};

/* A character and one more that joins it; `before` may be such a pair, too. */
struct screen_joined {
	uint32_t before, code;
	unsigned short next; /* of the same hash; both count from 1 */
};

struct screen {
	unsigned rows, cols; /* 0: SCREEN_ROWS and SCREEN_COLS, which are the most there can be */
	struct screen_grid main, other; /* `other` is the alternate screen */
	struct buf history;
	unsigned history_lines;
	uint64_t lost_lines;
	struct screen_joined *joined;
	unsigned n_joined;
	unsigned short joined_heads[256];
	bool alternate, wrap_due;
	bool no_wrap, insert, origin, line_mode; /* modes a program may set */
	bool application;			 /* cursor keys send their other form */
	bool graphics[2], shifted;		 /* line drawing in the first and the second set */
	bool tabs_set;				 /* else one every eight columns */
	unsigned char tabs[SCREEN_COLS / 8];
	bool changed; /* what is shown, since somebody set it to false */
	/* Replies a program waits for (where is the cursor?); to be written to the terminal. */
	char answer[64];
	unsigned answer_len;
	/* The parser. */
	int state;
	unsigned params[SCREEN_PARAMS], n_params;
	char marker, intermediate; /* of a control sequence; NUL: none */
	uint32_t last, code;
	unsigned code_left;
	uint32_t code_min;
};

/* Memory that is zero but for `rows` and `cols` is an empty screen. Returns to that, and frees all. */
void screen_clear(struct screen *s);

/* Bytes that a program wrote. Without memory, what does not fit is not shown. */
void screen_feed(struct screen *s, const char *bytes, size_t len);

/* What comes from here on begins in a line of its own below all text, with every mode as at the
 * start: whoever wrote so far is done. */
void screen_fresh_line(struct screen *s);

/* History and screen as UTF-8 text: one line a line, blanks at ends of lines and lines without
 * anything at the end dropped. Returns how many lines there are, empty ones included. */
unsigned screen_text(const struct screen *s, struct buf *out);
