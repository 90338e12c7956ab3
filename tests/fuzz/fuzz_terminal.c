/* SPDX-License-Identifier: MIT */
/* fuzz_terminal.c - our screen beside another terminal: what both show of the same bytes is the same.
 *
 * The other one is libvterm, which only this test knows. Of the bytes those are taken that real
 * programs write (the corpus holds what some wrote) and that both give one meaning: of what is left
 * out, terminals differ, or have nothing to show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "base/utf8.h"
#include "sandbox/executor/char_width.h"
#include "sandbox/executor/screen_draw.h"
#include "sandbox/executor/screen_grid.h"

enum { ROWS = 24, COLS = 80, INPUT_MAX = 20000 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* --- what is taken --------------------------------------------------------------------------- */

struct reader {
	const char *at, *end;
	struct buf *out;
	/* Theirs has one place for the cursor that a program saves and that of the main screen, and
	 * saves no set of characters. */
	bool saves, alternates, on_other;
	/* Theirs takes a run of text for one set, and has other signs for "y" and "z". */
	bool draws, region, deletes;
	/* The cursor may stand behind the last column. */
	bool behind;
};

static const struct {
	char marker, final;
	unsigned params, most; /* how many, and what each may be at most */
} sequences[] = {
	{ 0, 'A', 1, 30 },   { 0, 'B', 1, 30 }, { 0, 'C', 1, 90 }, { 0, 'D', 1, 90 },
	{ 0, 'G', 1, 90 },   { 0, 'H', 2, 90 }, { 0, 'J', 1, 2 },  { 0, 'K', 1, 2 },
	{ 0, 'L', 1, 30 },   { 0, 'M', 1, 30 }, { 0, 'P', 1, 90 }, { 0, 'S', 1, 30 },
	{ 0, 'T', 1, 30 },   { 0, 'X', 1, 90 }, { 0, '@', 1, 90 }, { 0, 'd', 1, 30 },
	{ 0, 'm', 12, 255 }, { 0, 'r', 2, 24 }, { 0, 'Z', 1, 9 },  { 0, 'I', 1, 9 },
};

/* Set and reset: with a marker of "?" but for the first. */
static const unsigned modes[] = { 4, 1, 7, 12, 25, 1000, 1049, 2004 };

static bool is_taken(char marker, char final, const unsigned *params, unsigned n)
{
	for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
		if (sequences[i].final != final || sequences[i].marker != marker ||
		    n > sequences[i].params)
			continue;
		for (unsigned k = 0; k < n; k++)
			if (params[k] > sequences[i].most)
				return false;
		return final != 'r' || (params[0] ? params[0] : 1) < (n < 2 ? ROWS : params[1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(modes) && (final == 'h' || final == 'l'); i++)
		if (n == 1 && params[0] == modes[i] && marker == (i ? '?' : 0))
			return true;
	return false;
}

/* Down a row: where the cursor stands behind the last column, terminals differ. */
static void put_down(struct reader *r, const char *bytes)
{
	if (r->behind)
		buf_putc(r->out, '\r');
	r->behind = false;
	buf_puts(r->out, bytes);
}

static void take_sequence(struct reader *r)
{
	const char *start = r->at - 2;
	unsigned params[16] = { 0 }, n = 0;
	char marker = 0;

	if (r->at < r->end && *r->at == '?')
		marker = *r->at++;
	for (; r->at < r->end && ((*r->at >= '0' && *r->at <= '9') || *r->at == ';'); r->at++) {
		if (n == 0)
			n = 1;
		if (*r->at == ';' && n < ARRAY_LEN(params))
			n++;
		else if (*r->at != ';' && params[n - 1] < 10000)
			params[n - 1] = params[n - 1] * 10 + (unsigned)(*r->at - '0');
	}
	if (r->at == r->end || *r->at < 0x40)
		return;
	r->at++;
	if (!is_taken(marker, r->at[-1], params, n))
		return;
	/* Theirs shifts nothing in rows outside of a scrolling region, and does not stop at it. */
	r->region = r->region || r->at[-1] == 'r';
	if (r->region && strchr("AB@P", r->at[-1]))
		return;
	r->deletes = r->deletes || strchr("MS", r->at[-1]);
	if (strchr("ABCDGHdr", r->at[-1]))
		r->behind = false;
	if (marker && params[0] == 1049) {
		/* Terminals differ where a program is on that screen already. */
		if (r->saves || r->draws || r->on_other == (r->at[-1] == 'h'))
			return;
		put_down(r, "");
		r->on_other = r->at[-1] == 'h';
		r->alternates = true;
	}
	buf_add(r->out, start, (size_t)(r->at - start));
}

static void take_escape(struct reader *r)
{
	static const char *const others[] = { "7", "8", "D", "E", "M", "=", ">", "(B", "(0", ")0" };

	if (r->at < r->end && *r->at == '[') {
		r->at++;
		take_sequence(r);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		size_t len = strlen(others[i]);

		if ((size_t)(r->end - r->at) < len || memcmp(r->at, others[i], len) != 0)
			continue;
		r->at += len;
		if (i <= 1 && (r->alternates || r->draws))
			return;
		if (others[i][len - 1] == '0' && (r->saves || r->alternates))
			return;
		r->saves = r->saves || i <= 1;
		r->draws = r->draws || others[i][len - 1] == '0';
		if (strchr("DM", others[i][0]))
			put_down(r, "");
		buf_putc(r->out, '\033');
		buf_puts(r->out, others[i]);
		return;
	}
}

/* Characters of one column that are the same in every version of Unicode. */
static void take_char(struct reader *r)
{
	size_t len = utf8_sequence(r->at, (size_t)(r->end - r->at));
	unsigned char first = (unsigned char)*r->at;

	if (r->draws)
		len = 0;
	r->behind = true;
	if (len == 2 && first >= 0xc3 && first <= 0xcb)
		buf_add(r->out, r->at, len);
	else if (len == 3 && first == 0xe2 && r->at[1] >= '\x94' && r->at[1] <= '\x95')
		buf_add(r->out, r->at, len); /* lines and boxes */
	r->at += len ? len : 1;
}

static void take_ascii(struct reader *r)
{
	char c = *r->at++;

	if (c == '\n') {
		put_down(r, "\n");
	} else if (!r->draws || (c != 'y' && c != 'z')) {
		buf_putc(r->out, c);
		if (c == '\r' || c == '\b')
			r->behind = false;
		else if (c >= ' ')
			r->behind = true;
	}
}

static void take(struct reader *r)
{
	while (r->at < r->end) {
		char c = *r->at;

		if (c == 033) {
			r->at++;
			take_escape(r);
		} else if ((c >= ' ' && c < 0x7f) || (c && strchr("\b\t\n\r\016\017", c))) {
			take_ascii(r);
		} else {
			take_char(r);
		}
	}
}

/* --- what is shown --------------------------------------------------------------------------- */

static void put_code(struct buf *out, uint32_t c)
{
	struct screen_row row = { .cells = &c, .len = 1, .wrapped = true };

	row_text(&row, NULL, out);
}

static void trim(struct buf *b, size_t start)
{
	while (b->len > start && b->data[b->len - 1] == ' ')
		b->data[--b->len] = '\0';
}

static int keep_row(int cols, const VTermScreenCell *cells, void *user)
{
	struct buf *history = user;
	size_t start = history->len;

	for (int i = 0; i < cols; i++)
		put_code(history, cells[i].chars[0]);
	trim(history, start);
	return 1;
}

static void their_rows(VTerm *vt, struct buf *out)
{
	VTermScreen *screen = vterm_obtain_screen(vt);
	VTermPos cursor, at;

	vterm_state_get_cursorpos(vterm_obtain_state(vt), &cursor);
	for (at.row = 0; at.row < ROWS; at.row++) {
		size_t start = out->len;

		for (at.col = 0; at.col < COLS; at.col++) {
			VTermScreenCell cell;

			(void)vterm_screen_get_cell(screen, at, &cell);
			put_code(out, cell.chars[0]);
		}
		trim(out, start);
		buf_putc(out, '\n');
	}
	buf_printf(out, "%d %d\n", cursor.row, cursor.col);
}

static void our_rows(struct screen *s, struct buf *out)
{
	struct screen_grid *g = draw_grid(s);

	for (unsigned i = 0; i < ROWS; i++) {
		struct screen_row row = g->rows ? *grid_row(g, i)
						: (struct screen_row) { .len = 0 };

		row.wrapped = false;
		row_text(&row, s->joined, out);
	}
	buf_printf(out, "%u %u\n", g->row, g->col);
}

/* Rows that were joined are told apart no more. */
static void drop_feeds(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] != '\n' && b->data[i] != ' ')
			b->data[n++] = b->data[i];
	b->len = n;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static void must_be_same(const struct buf *bytes, const char *what, struct buf *ours,
			 struct buf *theirs)
{
	if (same(ours, theirs))
		return;
	(void)fprintf(stderr, "%s\n--- ours\n%s--- theirs\n%s--- of\n", what, buf_str(ours),
		      buf_str(theirs));
	for (size_t i = 0; i < bytes->len; i++) {
		unsigned char c = (unsigned char)bytes->data[i];

		(void)fprintf(stderr, c >= ' ' && c < 0x7f ? "%c" : "\\%03o", c);
	}
	(void)fputc('\n', stderr);
	__builtin_trap();
}

static void compare(const struct buf *bytes, bool history_too)
{
	static const VTermScreenCallbacks callbacks = { .sb_pushline = keep_row };
	autobuf struct buf ours = { 0 }, theirs = { 0 }, history = { 0 };
	struct screen s = { .rows = ROWS, .cols = COLS };
	VTerm *vt = vterm_new(ROWS, COLS);

	if (!vt)
		return;
	vterm_set_utf8(vt, 1);
	vterm_screen_set_callbacks(vterm_obtain_screen(vt), &callbacks, &history);
	vterm_screen_enable_altscreen(vterm_obtain_screen(vt), 1);
	vterm_screen_reset(vterm_obtain_screen(vt), 1);
	(void)vterm_input_write(vt, buf_str(bytes), bytes->len);
	screen_feed(&s, buf_str(bytes), bytes->len);
	our_rows(&s, &ours);
	their_rows(vt, &theirs);
	must_be_same(bytes, "screen", &ours, &theirs);
	drop_feeds(&history);
	drop_feeds(&s.history);
	if (history_too)
		must_be_same(bytes, "history", &s.history, &history);
	vterm_free(vt);
	screen_clear(&s);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	autobuf struct buf bytes = { 0 };
	struct reader r = { .at = (const char *)data, .out = &bytes };

	r.end = r.at + (size < INPUT_MAX ? size : INPUT_MAX);
	take(&r);
	if (!bytes.failed)
		compare(&bytes,
			!r.deletes); /* theirs keeps rows that a program deletes, and loses some */
	return 0;
}
