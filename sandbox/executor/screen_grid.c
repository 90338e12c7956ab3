/* SPDX-License-Identifier: MIT */
/* screen_grid.c - see screen_grid.h. */
#include "sandbox/executor/screen_grid.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/char_width.h"

bool grid_ready(struct screen_grid *g, unsigned n_rows)
{
	if (g->rows)
		return true;
	g->rows = calloc(n_rows, sizeof(*g->rows));
	g->n_rows = n_rows;
	g->bottom = n_rows - 1;
	return g->rows;
}

void grid_free(struct screen_grid *g)
{
	for (unsigned i = 0; g->rows && i < g->n_rows; i++)
		free(g->rows[i].cells);
	free(g->rows);
	*g = (struct screen_grid) { .rows = NULL };
}

struct screen_row *grid_row(const struct screen_grid *g, unsigned i)
{
	unsigned at = g->first + i;

	return &g->rows[at < g->n_rows ? at : at - g->n_rows];
}

void row_reset(struct screen_row *r)
{
	r->len = 0;
	r->wrapped = false;
}

bool row_reach(struct screen_row *r, unsigned len, unsigned cols)
{
	unsigned room = r->room ? r->room : 80;
	uint32_t *grown;

	if (len > r->room) {
		while (room < len)
			room *= 2;
		if (room > cols)
			room = cols;
		grown = realloc(r->cells, room * sizeof(*grown));
		if (!grown)
			return false;
		r->cells = grown;
		r->room = (unsigned short)room;
	}
	if (len > r->len) {
		memset(r->cells + r->len, 0, (len - r->len) * sizeof(*r->cells));
		r->len = (unsigned short)len;
	}
	return r->cells;
}

static bool is_blank(uint32_t cell)
{
	return cell == 0 || cell == ' ';
}

bool row_shows(const struct screen_row *r, unsigned from)
{
	for (unsigned i = from; i < r->len; i++)
		if (!is_blank(r->cells[i]))
			return true;
	return false;
}

void grid_rotate_up(struct screen_grid *g, unsigned from, unsigned to)
{
	struct screen_row gone;

	if (from == 0 && to == g->n_rows - 1) {
		row_reset(grid_row(g, 0));
		g->first = (g->first + 1) % g->n_rows;
		return;
	}
	gone = *grid_row(g, from);
	for (unsigned i = from; i < to; i++)
		*grid_row(g, i) = *grid_row(g, i + 1);
	row_reset(&gone);
	*grid_row(g, to) = gone;
}

void grid_rotate_down(struct screen_grid *g, unsigned from, unsigned to)
{
	struct screen_row gone = *grid_row(g, to);

	for (unsigned i = to; i > from; i--)
		*grid_row(g, i) = *grid_row(g, i - 1);
	row_reset(&gone);
	*grid_row(g, from) = gone;
	if (g->used <= to)
		g->used++;
}

static void put_code(struct buf *out, uint32_t c)
{
	char bytes[4];
	size_t n;

	if (c < 0x80) {
		bytes[0] = (char)(c ? c : ' ');
		n = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		n = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	buf_add(out, bytes, n);
}

static bool is_wide(uint32_t cell, const struct screen_joined *joined)
{
	if (cell < 0x1100 || cell == CELL_TAIL)
		return false;
	while (cell >= CELL_JOINED)
		cell = joined[cell - CELL_JOINED].before;
	return char_width(cell) == 2;
}

/* The longest chain is as long as what screen_draw.c lets join. */
static void put_cell(struct buf *out, uint32_t cell, const struct screen_joined *joined)
{
	if (cell >= CELL_JOINED) {
		put_cell(out, joined[cell - CELL_JOINED].before, joined);
		cell = joined[cell - CELL_JOINED].code;
	}
	put_code(out, cell);
}

void row_text(const struct screen_row *r, const struct screen_joined *joined, struct buf *out)
{
	unsigned len = r->len;

	while (!r->wrapped && len && is_blank(r->cells[len - 1]))
		len--;
	for (unsigned i = 0; i < len; i++) {
		uint32_t cell = r->cells[i];
		bool wide = is_wide(cell, joined);
		bool whole = wide && i + 1 < r->len && r->cells[i + 1] == CELL_TAIL;

		/* Half of a wide character is a blank: the other one was written over. */
		put_cell(out, cell == CELL_TAIL || (wide && !whole) ? ' ' : cell, joined);
		i += whole;
	}
	if (!r->wrapped)
		buf_putc(out, '\n');
}
