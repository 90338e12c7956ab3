/* SPDX-License-Identifier: MIT */
/* screen.c - see screen.h. The grid comes first, then the parser of control sequences, which is
 * the part that foreign bytes drive: every position it sets is clamped to the grid. */
#include "sandbox/executor/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct screen_grid *grid_of(struct screen *s)
{
	return s->alternate ? &s->other : &s->main;
}

static void grid_free(struct screen_grid *g)
{
	for (unsigned i = 0; g->rows && i < SCREEN_ROWS; i++)
		free(g->rows[i].cells);
	free(g->rows);
	*g = (struct screen_grid) { 0 };
}

void screen_clear(struct screen *s)
{
	grid_free(&s->main);
	grid_free(&s->other);
	buf_clear(&s->history);
	*s = (struct screen) { 0 };
}

static bool grid_ready(struct screen_grid *g)
{
	if (g->rows)
		return true;
	g->rows = calloc(SCREEN_ROWS, sizeof(*g->rows));
	g->bottom = SCREEN_ROWS - 1;
	return g->rows;
}

static struct screen_row *row_at(const struct screen_grid *g, unsigned i)
{
	return &g->rows[(g->first + i) % SCREEN_ROWS];
}

static void row_reset(struct screen_row *r)
{
	r->len = 0;
	r->wrapped = false;
}

/* Make cells [0, len) exist. */
static bool row_reach(struct screen_row *r, unsigned len)
{
	unsigned room = r->room ? r->room : 80;
	uint32_t *grown;

	if (len > r->room) {
		while (room < len)
			room *= 2;
		if (room > SCREEN_COLS)
			room = SCREEN_COLS;
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

/* One row as text. A row that goes on keeps its blanks and has no line feed. */
static void row_text(const struct screen_row *r, struct buf *out)
{
	unsigned len = r->len;

	while (!r->wrapped && len && (r->cells[len - 1] == 0 || r->cells[len - 1] == ' '))
		len--;
	for (unsigned i = 0; i < len; i++)
		put_code(out, r->cells[i]);
	if (!r->wrapped)
		buf_putc(out, '\n');
}

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
	row_text(r, &s->history);
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

/* Rows [from, to] move up by one; the last becomes empty. */
static void rotate_up(struct screen_grid *g, unsigned from, unsigned to)
{
	struct screen_row gone;

	if (from == 0 && to == SCREEN_ROWS - 1) {
		row_reset(row_at(g, 0));
		g->first = (g->first + 1) % SCREEN_ROWS;
		return;
	}
	gone = *row_at(g, from);
	for (unsigned i = from; i < to; i++)
		*row_at(g, i) = *row_at(g, i + 1);
	row_reset(&gone);
	*row_at(g, to) = gone;
}

static void rotate_down(struct screen_grid *g, unsigned from, unsigned to)
{
	struct screen_row gone = *row_at(g, to);

	for (unsigned i = to; i > from; i--)
		*row_at(g, i) = *row_at(g, i - 1);
	row_reset(&gone);
	*row_at(g, from) = gone;
	if (g->used <= to)
		g->used++;
}

static void scroll_up(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	if (n > g->bottom - g->top + 1)
		n = g->bottom - g->top + 1;
	while (n--) {
		if (!s->alternate && g->top == 0)
			history_add(s, row_at(g, 0));
		rotate_up(g, g->top, g->bottom);
	}
}

static void insert_rows(struct screen_grid *g, unsigned at, unsigned n)
{
	if (at < g->top || at > g->bottom)
		return;
	if (n > g->bottom - at + 1)
		n = g->bottom - at + 1;
	while (n--)
		rotate_down(g, at, g->bottom);
}

static void delete_rows(struct screen_grid *g, unsigned at, unsigned n)
{
	if (at < g->top || at > g->bottom)
		return;
	if (n > g->bottom - at + 1)
		n = g->bottom - at + 1;
	while (n--)
		rotate_up(g, at, g->bottom);
}

static void line_feed(struct screen *s)
{
	struct screen_grid *g = grid_of(s);

	s->wrap_due = false;
	if (g->row == g->bottom)
		scroll_up(s, 1);
	else if (g->row < SCREEN_ROWS - 1)
		g->row++;
	if (g->row >= g->used)
		g->used = g->row + 1;
}

static void reverse_feed(struct screen *s)
{
	struct screen_grid *g = grid_of(s);

	s->wrap_due = false;
	if (g->row == g->top)
		rotate_down(g, g->top, g->bottom);
	else if (g->row)
		g->row--;
}

static void move_to(struct screen *s, unsigned row, unsigned col)
{
	struct screen_grid *g = grid_of(s);

	g->row = row < SCREEN_ROWS ? row : SCREEN_ROWS - 1;
	g->col = col < SCREEN_COLS ? col : SCREEN_COLS - 1;
	s->wrap_due = false;
}

/* The run of printable characters that fits into this row from the cursor on. */
static size_t put_run(struct screen *s, const char *bytes, size_t len)
{
	struct screen_grid *g = grid_of(s);
	struct screen_row *r = row_at(g, g->row);
	size_t n = SCREEN_COLS - g->col;

	if (n > len)
		n = len;
	if (!row_reach(r, g->col + (unsigned)n))
		return n;
	for (size_t i = 0; i < n; i++)
		r->cells[g->col + i] = (unsigned char)bytes[i];
	return n;
}

static void wrap(struct screen *s)
{
	struct screen_grid *g = grid_of(s);

	row_at(g, g->row)->wrapped = true;
	g->col = 0;
	line_feed(s);
	row_at(g, g->row)->wrapped = false;
}

static void advance_col(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	g->col += n;
	s->wrap_due = g->col == SCREEN_COLS;
	if (s->wrap_due)
		g->col--;
	if (g->row >= g->used)
		g->used = g->row + 1;
}

static void put_text(struct screen *s, const char *bytes, size_t len)
{
	s->last = (unsigned char)bytes[len - 1];
	while (len) {
		size_t n;

		if (s->wrap_due)
			wrap(s);
		n = put_run(s, bytes, len);
		advance_col(s, (unsigned)n);
		bytes += n;
		len -= n;
	}
}

static void put_char(struct screen *s, uint32_t c)
{
	struct screen_grid *g = grid_of(s);
	struct screen_row *r;

	if (s->wrap_due)
		wrap(s);
	r = row_at(g, g->row);
	if (row_reach(r, g->col + 1))
		r->cells[g->col] = c;
	s->last = c;
	advance_col(s, 1);
}

static void erase_cells(struct screen_grid *g, unsigned row, unsigned from, unsigned to)
{
	struct screen_row *r = row_at(g, row);

	if (to >= r->len)
		r->len = (unsigned short)(from < r->len ? from : r->len);
	else if (from < to)
		memset(r->cells + from, 0, (to - from) * sizeof(*r->cells));
	if (to >= SCREEN_COLS)
		r->wrapped = false;
}

static void erase_rows(struct screen_grid *g, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		row_reset(row_at(g, i));
}

static void erase_line(struct screen *s, unsigned how)
{
	struct screen_grid *g = grid_of(s);

	if (how == 0)
		erase_cells(g, g->row, g->col, SCREEN_COLS);
	else if (how == 1)
		erase_cells(g, g->row, 0, g->col + 1);
	else if (how == 2)
		erase_cells(g, g->row, 0, SCREEN_COLS);
}

static void erase_display(struct screen *s, unsigned how)
{
	struct screen_grid *g = grid_of(s);

	if (how == 0) {
		erase_line(s, 0);
		erase_rows(g, g->row + 1, SCREEN_ROWS);
	} else if (how == 1) {
		erase_rows(g, 0, g->row);
		erase_line(s, 1);
	} else if (how == 2) {
		erase_rows(g, 0, SCREEN_ROWS);
	} else if (how == 3) {
		buf_clear(&s->history);
		s->history_lines = 0;
	}
}

static void shift_cells(struct screen *s, unsigned n, bool insert)
{
	struct screen_grid *g = grid_of(s);
	struct screen_row *r = row_at(g, g->row);
	unsigned rest, len = r->len;

	if (g->col >= len)
		return;
	rest = len - g->col;
	if (!insert && n >= rest) {
		r->len = (unsigned short)g->col;
	} else if (!insert) {
		memmove(r->cells + g->col, r->cells + g->col + n, (rest - n) * sizeof(*r->cells));
		r->len = (unsigned short)(len - n);
	} else {
		n = n < SCREEN_COLS - g->col ? n : SCREEN_COLS - g->col;
		rest = rest < SCREEN_COLS - g->col - n ? rest : SCREEN_COLS - g->col - n;
		if (!row_reach(r, g->col + n + rest))
			return;
		memmove(r->cells + g->col + n, r->cells + g->col, rest * sizeof(*r->cells));
		memset(r->cells + g->col, 0, n * sizeof(*r->cells));
	}
}

static void use_alternate(struct screen *s, bool on)
{
	if (on == s->alternate)
		return;
	grid_free(&s->other);
	s->alternate = on && grid_ready(&s->other);
	s->wrap_due = false;
}

static void answer(struct screen *s, const char *text, size_t len)
{
	if (len > sizeof(s->answer) - s->answer_len)
		return; /* nobody reads them: a program that asks without end is not listening */
	memcpy(s->answer + s->answer_len, text, len);
	s->answer_len += (unsigned)len;
}

/* --- the parser ------------------------------------------------------------------------------ */

enum state { GROUND, ESCAPE, ESCAPE_SKIP, CONTROL, CONTROL_BAD, STRING, STRING_ESCAPE };

static unsigned param(const struct screen *s, unsigned i, unsigned missing)
{
	return i < s->n_params && s->params[i] ? s->params[i] : missing;
}

static void csi_up(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	move_to(s, g->row > n ? g->row - n : 0, g->col);
}

static void csi_down(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	move_to(s, g->row + n, g->col);
}

static void csi_right(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	move_to(s, g->row, g->col + n);
}

static void csi_left(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	move_to(s, g->row, g->col > n ? g->col - n : 0);
}

static void csi_next_line(struct screen *s, unsigned n)
{
	csi_down(s, n);
	grid_of(s)->col = 0;
}

static void csi_previous_line(struct screen *s, unsigned n)
{
	csi_up(s, n);
	grid_of(s)->col = 0;
}

static void csi_column(struct screen *s, unsigned n)
{
	move_to(s, grid_of(s)->row, n - 1);
}

static void csi_row(struct screen *s, unsigned n)
{
	move_to(s, n - 1, grid_of(s)->col);
}

static void csi_position(struct screen *s, unsigned n)
{
	move_to(s, n - 1, param(s, 1, 1) - 1);
}

static void csi_erase_display(struct screen *s, unsigned n)
{
	(void)n;
	erase_display(s, param(s, 0, 0));
}

static void csi_erase_line(struct screen *s, unsigned n)
{
	(void)n;
	erase_line(s, param(s, 0, 0));
}

static void csi_insert_lines(struct screen *s, unsigned n)
{
	insert_rows(grid_of(s), grid_of(s)->row, n);
}

static void csi_delete_lines(struct screen *s, unsigned n)
{
	delete_rows(grid_of(s), grid_of(s)->row, n);
}

static void csi_delete_chars(struct screen *s, unsigned n)
{
	shift_cells(s, n, false);
}

static void csi_insert_chars(struct screen *s, unsigned n)
{
	shift_cells(s, n, true);
}

static void csi_erase_chars(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	erase_cells(g, g->row, g->col, n < SCREEN_COLS - g->col ? g->col + n : SCREEN_COLS);
}

static void csi_scroll_up(struct screen *s, unsigned n)
{
	scroll_up(s, n);
}

static void csi_scroll_down(struct screen *s, unsigned n)
{
	insert_rows(grid_of(s), grid_of(s)->top, n);
}

static void csi_repeat(struct screen *s, unsigned n)
{
	for (n = n < SCREEN_COLS ? n : SCREEN_COLS; n && s->last; n--)
		put_char(s, s->last);
}

static void csi_region(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);
	unsigned bottom = param(s, 1, SCREEN_ROWS);

	if (bottom > SCREEN_ROWS)
		bottom = SCREEN_ROWS;
	if (n >= bottom)
		return;
	g->top = n - 1;
	g->bottom = bottom - 1;
	move_to(s, 0, 0);
}

static void csi_save(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	(void)n;
	g->saved_row = g->row;
	g->saved_col = g->col;
}

static void csi_restore(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);

	(void)n;
	move_to(s, g->saved_row, g->saved_col);
}

static void csi_modes(struct screen *s, bool on)
{
	for (unsigned i = 0; s->private_mode && i < s->n_params; i++) {
		unsigned mode = s->params[i];

		if (mode == 1049 || mode == 1047 || mode == 47)
			use_alternate(s, on);
	}
}

static void csi_set(struct screen *s, unsigned n)
{
	(void)n;
	csi_modes(s, true);
}

static void csi_reset(struct screen *s, unsigned n)
{
	(void)n;
	csi_modes(s, false);
}

static void csi_status(struct screen *s, unsigned n)
{
	struct screen_grid *g = grid_of(s);
	char text[32];
	int len = 0;

	if (n == 5)
		answer(s, "\033[0n", 4);
	else if (n == 6)
		len = snprintf(text, sizeof(text), "\033[%u;%uR", g->row + 1, g->col + 1);
	if (len)
		answer(s, text, (size_t)len);
}

static void csi_attributes(struct screen *s, unsigned n)
{
	(void)n;
	if (!s->private_mode)
		answer(s, "\033[?1;2c", 7);
}

static const struct {
	char final;
	bool also_private;
	void (*act)(struct screen *,
		    unsigned n); /* n: the first parameter, 1 where it is missing */
} sequences[] = {
	{ 'A', false, csi_up },
	{ 'B', false, csi_down },
	{ 'C', false, csi_right },
	{ 'D', false, csi_left },
	{ 'E', false, csi_next_line },
	{ 'F', false, csi_previous_line },
	{ 'G', false, csi_column },
	{ 'H', false, csi_position },
	{ 'J', false, csi_erase_display },
	{ 'K', false, csi_erase_line },
	{ 'L', false, csi_insert_lines },
	{ 'M', false, csi_delete_lines },
	{ 'P', false, csi_delete_chars },
	{ 'S', false, csi_scroll_up },
	{ 'T', false, csi_scroll_down },
	{ 'X', false, csi_erase_chars },
	{ '@', false, csi_insert_chars },
	{ '`', false, csi_column },
	{ 'a', false, csi_right },
	{ 'b', false, csi_repeat },
	{ 'c', false, csi_attributes },
	{ 'd', false, csi_row },
	{ 'e', false, csi_down },
	{ 'f', false, csi_position },
	{ 'h', true, csi_set },
	{ 'l', true, csi_reset },
	{ 'n', false, csi_status },
	{ 'r', false, csi_region },
	{ 's', false, csi_save },
	{ 'u', false, csi_restore },
};

static void control_end(struct screen *s, char final)
{
	s->state = GROUND;
	for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
		if (sequences[i].final != final || (s->private_mode && !sequences[i].also_private))
			continue;
		sequences[i].act(s, param(s, 0, 1));
		return;
	}
}

static void control_byte(struct screen *s, unsigned char c)
{
	unsigned *p;

	if (c >= '0' && c <= '9') {
		if (!s->n_params)
			s->n_params = 1;
		p = &s->params[s->n_params - 1];
		*p = *p * 10 + (unsigned)(c - '0');
		if (*p > 9999)
			*p = 9999;
	} else if (c == ';' || c == ':') {
		if (!s->n_params)
			s->n_params = 1;
		if (s->n_params < SCREEN_PARAMS)
			s->n_params++;
	} else if (c >= '<' && c <= '?') {
		s->private_mode = true;
	} else if (c >= 0x40 && c <= 0x7e) {
		control_end(s, (char)c);
	} else if (c >= ' ') {
		s->state = CONTROL_BAD; /* with intermediate bytes: none of those we follow */
	}
}

static void escape_byte(struct screen *s, unsigned char c)
{
	s->state = GROUND;
	switch (c) {
	case '[':
		s->state = CONTROL;
		s->n_params = 0;
		s->private_mode = false;
		memset(s->params, 0, sizeof(s->params));
		break;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
	case 'k': /* a title, as tmux and screen set it */
		s->state = STRING;
		break;
	case '7':
		csi_save(s, 0);
		break;
	case '8':
		csi_restore(s, 0);
		break;
	case 'D':
		line_feed(s);
		break;
	case 'E':
		line_feed(s);
		grid_of(s)->col = 0;
		break;
	case 'M':
		reverse_feed(s);
		break;
	case 'c':
		use_alternate(s, false);
		erase_display(s, 2);
		csi_region(s, 1);
		break;
	default:
		if (c >= ' ' && c <= '/')
			s->state = ESCAPE_SKIP; /* a character set and the like: one byte more */
	}
}

static void ground_control(struct screen *s, unsigned char c)
{
	struct screen_grid *g = grid_of(s);

	switch (c) {
	case '\b':
		csi_left(s, 1);
		break;
	case '\t':
		move_to(s, g->row, (g->col / 8 + 1) * 8);
		break;
	case '\n':
	case '\v':
	case '\f':
		line_feed(s);
		break;
	case '\r':
		move_to(s, g->row, 0);
		break;
	case 033:
		s->state = ESCAPE;
		break;
	default:
		break;
	}
}

/* Control characters act within sequences too, as terminals do. Returns whether it was one. */
static bool is_control(struct screen *s, unsigned char c)
{
	if (c >= ' ' && c != 0x7f)
		return false;
	if (c == 030 || c == 032)
		s->state = GROUND;
	else
		ground_control(s, c);
	return true;
}

static void string_byte(struct screen *s, unsigned char c)
{
	if (s->state == STRING_ESCAPE) {
		s->state = GROUND;
		if (c != '\\')
			escape_byte(s, c);
	} else if (c == 033) {
		s->state = STRING_ESCAPE;
	} else if (c == 7 || c == 030 || c == 032) {
		s->state = GROUND;
	}
}

static void sequence_byte(struct screen *s, unsigned char c)
{
	if (s->state == STRING || s->state == STRING_ESCAPE) {
		string_byte(s, c);
		return;
	}
	if (is_control(s, c))
		return;
	if (s->state == ESCAPE)
		escape_byte(s, c);
	else if (s->state == CONTROL)
		control_byte(s, c);
	else if (s->state == ESCAPE_SKIP || (c >= 0x40 && c <= 0x7e))
		s->state = GROUND;
}

#define REPLACEMENT 0xfffd

static void code_start(struct screen *s, unsigned char c)
{
	if (c >= 0xc2 && c <= 0xdf) {
		s->code = c & 0x1f;
		s->code_left = 1;
		s->code_min = 0x80;
	} else if (c >= 0xe0 && c <= 0xef) {
		s->code = c & 0x0f;
		s->code_left = 2;
		s->code_min = 0x800;
	} else if (c >= 0xf0 && c <= 0xf4) {
		s->code = c & 0x07;
		s->code_left = 3;
		s->code_min = 0x10000;
	} else {
		put_char(s, REPLACEMENT);
	}
}

static void code_next(struct screen *s, unsigned char c)
{
	s->code = s->code << 6 | (c & 0x3f);
	if (--s->code_left)
		return;
	if (s->code < s->code_min || s->code > 0x10ffff || (s->code >= 0xd800 && s->code <= 0xdfff))
		s->code = REPLACEMENT;
	/* C1 controls come from mistaken encodings; terminals show nothing of them. */
	if (s->code >= 0xa0)
		put_char(s, s->code);
}

static void ground_byte(struct screen *s, unsigned char c)
{
	if (s->code_left && (c & 0xc0) == 0x80) {
		code_next(s, c);
		return;
	}
	if (s->code_left) {
		s->code_left = 0;
		put_char(s, REPLACEMENT);
	}
	if (c >= 0x80)
		code_start(s, c);
	else
		(void)is_control(s, c); /* printable ones came in runs */
}

void screen_feed(struct screen *s, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	if (!grid_ready(&s->main))
		return;
	s->changed = s->changed || len;
	while (bytes < end) {
		const char *run = bytes;

		if (s->state != GROUND) {
			sequence_byte(s, (unsigned char)*bytes++);
			continue;
		}
		while (!s->code_left && run < end && *run >= ' ' && *run < 0x7f)
			run++;
		if (run > bytes)
			put_text(s, bytes, (size_t)(run - bytes));
		else if (s->code_left && *bytes >= ' ' && *bytes < 0x7f)
			ground_byte(s, 0x7f); /* a sequence cut short: shown, then what follows */
		else
			ground_byte(s, (unsigned char)*run++);
		bytes = run;
	}
}

unsigned screen_text(const struct screen *s, struct buf *out)
{
	const struct screen_grid *g = s->alternate ? &s->other : &s->main;
	unsigned lines = s->history_lines;
	size_t start = out->len;

	buf_add(out, buf_str(&s->history), s->history.len);
	for (unsigned i = 0; g->rows && i < g->used; i++) {
		const struct screen_row *r = row_at(g, i);

		row_text(r, out);
		lines += !r->wrapped;
	}
	while (!out->failed && out->len > start && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return lines;
}
