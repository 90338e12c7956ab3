/* SPDX-License-Identifier: MIT */
/* screen_grid.h - the rows of a screen, as a ring: what scrolls does not move. */
#pragma once

#include "sandbox/executor/screen.h"

enum screen_cells {
	CELL_TAIL = 0x110000,	/* the right half of the wide character before it */
	CELL_JOINED = 0x110001, /* and above: an index of screen.joined */
};

/* Is the memory for this many rows there? */
bool grid_ready(struct screen_grid *g, unsigned n_rows);
void grid_free(struct screen_grid *g);

struct screen_row *grid_row(const struct screen_grid *g, unsigned i);

/* Make cells [0, len) exist; `cols` is what a row may have at most. */
bool row_reach(struct screen_row *r, unsigned len, unsigned cols);
void row_reset(struct screen_row *r);

/* Is anything to be seen in the cells from this one on? */
bool row_shows(const struct screen_row *r, unsigned from);

/* Rows [from, to] move by one; the one that becomes free is empty. */
void grid_rotate_up(struct screen_grid *g, unsigned from, unsigned to);
void grid_rotate_down(struct screen_grid *g, unsigned from, unsigned to);

/* One row as text. One that goes on keeps its blanks and has no line feed. */
void row_text(const struct screen_row *r, const struct screen_joined *joined, struct buf *out);
