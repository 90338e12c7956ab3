/* SPDX-License-Identifier: MIT */
/* screen_draw.c - see screen_draw.h. */
#include "sandbox/executor/screen_draw.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/char_width.h"
#include "sandbox/executor/screen_grid.h"

#define JOINED_DEPTH 8 /* characters that join one; what comes behind is not shown */
#define TAB_WIDTH 8

struct screen_grid *draw_grid(struct screen *s)
{
	return s->alternate ? &s->other : &s->main;
}

unsigned draw_rows(const struct screen *s)
{
	return s->rows ? s->rows : SCREEN_ROWS;
}

unsigned draw_cols(const struct screen *s)
{
	return s->cols ? s->cols : SCREEN_COLS;
}

/* --- history --------------------------------------------------------------------------------- */

static void history_drop(struct screen *s)
{
	const char *at = s->history.data;
	unsigned n = 0;
	size_t gone;

	while (n < SCREEN_HISTORY_DROP && n < s->history_lines) {
		at = (const char *)memchr(at, '\n',
					  s->history.len - (size_t)(at - s->history.data)) +
		     1;
		n++;
	}
	gone = (size_t)(at - s->history.data);
	s->history.len -= gone;
	memmove(s->history.data, s->history.data + gone, s->history.len + 1);
	s->history_lines -= n;
	s->lost_lines += n;
}

/* The uppermost row leaves the screen for good. */
static void history_add(struct screen *s, const struct screen_row *r)
{
	s->history.limit = (size_t)2 * SCREEN_HISTORY_BYTES;
	row_text(r, s->joined, &s->history);
	if (s->history.failed) {
		/* No memory: what is there stays, this row is lost. */
		s->history.failed = false;
		s->lost_lines++;
		return;
	}
	if (!r->wrapped)
		s->history_lines++;
	while (s->history_lines >= SCREEN_HISTORY_LINES ||
	       (s->history.len > SCREEN_HISTORY_BYTES && s->history_lines))
		history_drop(s);
}

void draw_forget_history(struct screen *s)
{
	s->changed = s->changed || s->history.len;
	buf_clear(&s->history);
	s->history_lines = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

static unsigned at_most(unsigned n, unsigned limit)
{
	return n < limit ? n : limit;
}

void draw_scroll_up(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	n = at_most(n, g->bottom - g->top + 1);
	while (n--) {
		if (!s->alternate && g->top == 0)
			history_add(s, grid_row(g, 0));
		grid_rotate_up(g, g->top, g->bottom);
	}
	s->changed = true;
}

void draw_scroll_down(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	n = at_most(n, g->bottom - g->top + 1);
	while (n--)
		grid_rotate_down(g, g->top, g->bottom);
	s->changed = true;
}

static bool in_region(const struct screen_grid *g)
{
	return g->row >= g->top && g->row <= g->bottom;
}

void draw_insert_rows(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	if (!in_region(g))
		return;
	n = at_most(n, g->bottom - g->row + 1);
	while (n--)
		grid_rotate_down(g, g->row, g->bottom);
	s->changed = true;
}

void draw_delete_rows(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	if (!in_region(g))
		return;
	n = at_most(n, g->bottom - g->row + 1);
	while (n--)
		grid_rotate_up(g, g->row, g->bottom);
	s->changed = true;
}

void draw_erase(struct screen *s, unsigned row, unsigned from, unsigned to)
{
	struct screen_row *r = grid_row(draw_grid(s), row);

	s->changed = s->changed || row_shows(r, from);
	if (to >= r->len)
		r->len = (unsigned short)at_most(from, r->len);
	else if (from < to)
		memset(r->cells + from, 0, (to - from) * sizeof(*r->cells));
	if (to >= draw_cols(s))
		r->wrapped = false;
}

void draw_erase_rows(struct screen *s, unsigned from, unsigned to)
{
	struct screen_grid *g = draw_grid(s);

	/* Those behind `used` are empty. */
	for (unsigned i = from; i < to && i < g->used; i++) {
		s->changed = s->changed || row_shows(grid_row(g, i), 0);
		row_reset(grid_row(g, i));
	}
}

/* --- the cursor ------------------------------------------------------------------------------ */

void draw_move(struct screen *s, unsigned row, unsigned col)
{
	struct screen_grid *g = draw_grid(s);

	g->row = at_most(row, draw_rows(s) - 1);
	g->col = at_most(col, draw_cols(s) - 1);
	s->wrap_due = false;
}

static void use_row(struct screen_grid *g)
{
	if (g->row >= g->used)
		g->used = g->row + 1;
}

/* A cursor behind the last column stays there. */
void draw_line_feed(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	if (g->row == g->bottom)
		draw_scroll_up(s, 1);
	else if (g->row < draw_rows(s) - 1)
		g->row++;
	if (s->line_mode)
		draw_move(s, g->row, 0);
	use_row(g);
}

void draw_reverse_feed(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	if (g->row == g->top)
		draw_scroll_down(s, 1);
	else if (g->row)
		g->row--;
}

void draw_save(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	g->saved.row = g->row;
	g->saved.col = g->col;
	g->saved.origin = s->origin;
	memcpy(g->saved.graphics, s->graphics, sizeof(s->graphics));
	g->saved.shifted = s->shifted;
}

void draw_restore(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	s->origin = g->saved.origin;
	memcpy(s->graphics, g->saved.graphics, sizeof(s->graphics));
	s->shifted = g->saved.shifted;
	draw_move(s, g->saved.row, g->saved.col);
}

static bool is_tab(const struct screen *s, unsigned col)
{
	return s->tabs_set ? s->tabs[col / 8] >> col % 8 & 1 : col % TAB_WIDTH == 0;
}

void draw_tab(struct screen *s, unsigned n, bool back)
{
	struct screen_grid *g = draw_grid(s);
	unsigned last = draw_cols(s) - 1, col = g->col;

	if (s->wrap_due && !back)
		return; /* there is none behind the last column: what comes is still to wrap */
	for (n = at_most(n, SCREEN_COLS); n; n--) {
		do
			col = back ? at_most(col - 1, col) : at_most(col + 1, last);
		while (col && col < last && !is_tab(s, col));
	}
	draw_move(s, g->row, col);
}

void draw_set_tab(struct screen *s, bool on)
{
	unsigned col = draw_grid(s)->col;

	for (unsigned i = 0; !s->tabs_set && i < SCREEN_COLS; i += TAB_WIDTH)
		s->tabs[i / 8] |= (unsigned char)(1 << i % 8);
	s->tabs_set = true;
	if (on)
		s->tabs[col / 8] |= (unsigned char)(1 << col % 8);
	else
		s->tabs[col / 8] &= (unsigned char)~(1 << col % 8);
}

void draw_clear_tabs(struct screen *s)
{
	memset(s->tabs, 0, sizeof(s->tabs));
	s->tabs_set = true;
}

/* The cursor and the scrolling region stay what they are. */
void draw_alternate(struct screen *s, bool on)
{
	struct screen_grid was = *draw_grid(s), *g;

	if (on == s->alternate)
		return;
	grid_free(&s->other);
	s->alternate = on && grid_ready(&s->other, draw_rows(s));
	s->changed = true;
	g = draw_grid(s);
	g->top = was.top;
	g->bottom = was.bottom;
	draw_move(s, was.row, was.col);
}

void draw_reset_modes(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	s->no_wrap = s->insert = s->origin = s->line_mode = s->application = false;
	s->graphics[0] = s->graphics[1] = s->shifted = s->tabs_set = false;
	memset(s->tabs, 0, sizeof(s->tabs));
	memset(&g->saved, 0, sizeof(g->saved));
	g->top = 0;
	g->bottom = draw_rows(s) - 1;
}

/* --- cells ----------------------------------------------------------------------------------- */

void draw_delete_cells(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	struct screen_row *r = grid_row(g, g->row);
	unsigned rest;

	if (g->col >= r->len)
		return;
	s->changed = true;
	rest = r->len - g->col;
	n = at_most(n, rest);
	memmove(r->cells + g->col, r->cells + g->col + n, (rest - n) * sizeof(*r->cells));
	r->len = (unsigned short)(r->len - n);
	r->wrapped = false;
}

void draw_insert_cells(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	struct screen_row *r = grid_row(g, g->row);
	unsigned left = draw_cols(s) - g->col, rest;

	if (g->col >= r->len)
		return;
	n = at_most(n, left);
	rest = at_most(r->len - g->col, left - n);
	if (!row_reach(r, g->col + n + rest, draw_cols(s)))
		return;
	s->changed = true;
	memmove(r->cells + g->col + n, r->cells + g->col, rest * sizeof(*r->cells));
	memset(r->cells + g->col, 0, n * sizeof(*r->cells));
}

/* The cursor stands behind the last column: go on in the next row, or stay in that column. */
static void wrap(struct screen *s)
{
	struct screen_grid *g = draw_grid(s);

	s->wrap_due = false;
	if (s->no_wrap)
		return;
	grid_row(g, g->row)->wrapped = true;
	g->col = 0;
	draw_line_feed(s);
	grid_row(g, g->row)->wrapped = false;
}

static void advance(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	g->col += n;
	s->wrap_due = g->col >= draw_cols(s);
	if (s->wrap_due)
		g->col = draw_cols(s) - 1;
	use_row(g);
}

static void put_cell(struct screen *s, struct screen_row *r, unsigned col, uint32_t cell)
{
	uint32_t was = r->cells[col];

	if (was != cell && !(was == 0 && cell == ' '))
		s->changed = true;
	r->cells[col] = cell;
}

/* As much of it as fits into this row from the cursor on. */
static size_t put_run(struct screen *s, const char *bytes, size_t len)
{
	struct screen_grid *g = draw_grid(s);
	struct screen_row *r = grid_row(g, g->row);
	size_t n = draw_cols(s) - g->col;

	if (n > len)
		n = len;
	if (s->insert)
		draw_insert_cells(s, (unsigned)n);
	if (row_reach(r, g->col + (unsigned)n, draw_cols(s)))
		for (size_t i = 0; i < n; i++)
			put_cell(s, r, g->col + (unsigned)i, (unsigned char)bytes[i]);
	advance(s, (unsigned)n);
	return n;
}

/* What the line drawing set has for "`" to "~". */
static uint32_t drawn(const struct screen *s, uint32_t c)
{
	static const uint16_t lines[] = {
		0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0, 0x00b1,
		0x2424, 0x240b, 0x2518, 0x2510, 0x250c, 0x2514, 0x253c, 0x23ba,
		0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534, 0x252c,
		0x2502, 0x2264, 0x2265, 0x03c0, 0x2260, 0x00a3, 0x00b7,
	};

	return s->graphics[s->shifted] && c >= '`' && c <= '~' ? lines[c - '`'] : c;
}

void draw_text(struct screen *s, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	if (s->graphics[s->shifted]) {
		while (bytes < end)
			draw_char(s, (unsigned char)*bytes++);
		return;
	}
	s->last = (unsigned char)end[-1];
	while (bytes < end) {
		if (s->wrap_due)
			wrap(s);
		bytes += put_run(s, bytes, (size_t)(end - bytes));
	}
}

/* Doubled whenever it is full, from 16 on. */
static bool joined_room(struct screen *s)
{
	unsigned n = s->n_joined;
	struct screen_joined *grown;

	if (n == SCREEN_JOINED_MAX)
		return false;
	if (n && (n < 16 || n & (n - 1)))
		return true;
	grown = realloc(s->joined, (n ? 2 * n : 16) * sizeof(*s->joined));
	if (!grown)
		return false;
	s->joined = grown;
	return true;
}

static unsigned joined_depth(const struct screen *s, uint32_t cell)
{
	unsigned depth = 0;

	for (; cell >= CELL_JOINED; cell = s->joined[cell - CELL_JOINED].before)
		depth++;
	return depth;
}

/* The pair of what is in a cell and what joins it; what is there alone where there is no room. */
static uint32_t joined(struct screen *s, uint32_t before, uint32_t code)
{
	unsigned short *head = &s->joined_heads[(before * 31 + code) % ARRAY_LEN(s->joined_heads)];

	for (unsigned i = *head; i; i = s->joined[i - 1].next)
		if (s->joined[i - 1].before == before && s->joined[i - 1].code == code)
			return CELL_JOINED + i - 1;
	if (joined_depth(s, before) == JOINED_DEPTH || !joined_room(s))
		return before;
	s->joined[s->n_joined++] =
		(struct screen_joined) { .before = before, .code = code, .next = *head };
	*head = (unsigned short)s->n_joined;
	return CELL_JOINED + s->n_joined - 1;
}

/* Onto the character before the cursor. */
static bool join(struct screen *s, uint32_t c)
{
	struct screen_grid *g = draw_grid(s);
	struct screen_row *r = grid_row(g, g->row);
	unsigned col = g->col;

	if (!s->wrap_due && col-- == 0)
		return false;
	if (col && col < r->len && r->cells[col] == CELL_TAIL)
		col--;
	if (col >= r->len || r->cells[col] == 0 || r->cells[col] == CELL_TAIL)
		return false;
	put_cell(s, r, col, joined(s, r->cells[col], c));
	return true;
}

void draw_char(struct screen *s, uint32_t c)
{
	struct screen_grid *g = draw_grid(s);
	unsigned width = char_width(c);
	struct screen_row *r;

	if (width == 0 && join(s, c))
		return;
	width = width ? width : 1;
	c = drawn(s, c);
	if (s->wrap_due || g->col + width > draw_cols(s))
		wrap(s);
	if (g->col + width > draw_cols(s))
		return; /* the last column, and no wrapping */
	if (s->insert)
		draw_insert_cells(s, width);
	r = grid_row(g, g->row);
	if (row_reach(r, g->col + width, draw_cols(s))) {
		put_cell(s, r, g->col, c);
		if (width == 2)
			put_cell(s, r, g->col + 1, CELL_TAIL);
	}
	s->last = c;
	advance(s, width);
}
