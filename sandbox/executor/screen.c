/* SPDX-License-Identifier: MIT */
/* screen.c - see screen.h. The parser: foreign bytes, one after the other. */
#include "sandbox/executor/screen.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/screen_control.h"
#include "sandbox/executor/screen_draw.h"
#include "sandbox/executor/screen_grid.h"

#define REPLACEMENT 0xfffd

enum state { GROUND, ESCAPE, ESCAPE_MORE, CONTROL, STRING, STRING_ESCAPE };

void screen_clear(struct screen *s)
{
	grid_free(&s->main);
	grid_free(&s->other);
	buf_clear(&s->history);
	free(s->joined);
	*s = (struct screen) { .rows = s->rows, .cols = s->cols };
}

static void control_byte(struct screen *s, unsigned char c)
{
	unsigned *p;

	if (c >= 0x40 && c <= 0x7e) {
		s->state = GROUND;
		control_sequence(s, (char)c);
	} else if (c >= '<' && c <= '?') {
		s->marker = (char)c;
	} else if (c <= '/') {
		s->intermediate = (char)c;
	} else {
		if (!s->n_params)
			s->n_params = 1;
		if (c == ';' || c == ':') {
			if (s->n_params < SCREEN_PARAMS)
				s->n_params++;
			return;
		}
		p = &s->params[s->n_params - 1];
		*p = *p * 10 + (unsigned)(c - '0');
		if (*p > 9999)
			*p = 9999;
	}
}

static void escape_byte(struct screen *s, unsigned char c)
{
	s->state = GROUND;
	if (c == '[') {
		s->state = CONTROL;
		s->n_params = 0;
		s->marker = s->intermediate = '\0';
		memset(s->params, 0, sizeof(s->params));
	} else if (strchr("]PX^_k", c)) { /* k: a title, as multiplexers set it */
		s->state = STRING;
	} else if (c <= '/') {
		s->state = ESCAPE_MORE;
		s->intermediate = (char)c;
	} else {
		control_escape(s, '\0', (char)c);
	}
}

/* Control characters act within sequences too, as terminals do. Returns whether it was one. */
static bool is_control(struct screen *s, unsigned char c)
{
	if (c >= ' ' && c != 0x7f)
		return false;
	if (c == 033)
		s->state = ESCAPE;
	else if (c == 030 || c == 032)
		s->state = GROUND;
	else
		control_char(s, (char)c);
	return true;
}

static void string_byte(struct screen *s, unsigned char c)
{
	if (s->state == STRING_ESCAPE) {
		s->state = ESCAPE;
		if (c == '\\')
			s->state = GROUND;
		else if (!is_control(s, c))
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
	if (c >= 0x80) {
		s->state = GROUND; /* no sequence has such a byte */
	} else if (s->state == ESCAPE) {
		escape_byte(s, c);
	} else if (s->state == CONTROL) {
		control_byte(s, c);
	} else if (c > '/') {
		s->state = GROUND;
		control_escape(s, s->intermediate, (char)c);
	}
}

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
		draw_char(s, REPLACEMENT);
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
		draw_char(s, s->code);
}

static void ground_byte(struct screen *s, unsigned char c)
{
	if (s->code_left && (c & 0xc0) == 0x80) {
		code_next(s, c);
		return;
	}
	if (s->code_left) {
		s->code_left = 0;
		draw_char(s, REPLACEMENT);
	}
	if (c >= 0x80)
		code_start(s, c);
	else
		(void)is_control(s, c); /* printable ones came in runs */
}

void screen_feed(struct screen *s, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	if (!grid_ready(&s->main, draw_rows(s)))
		return;
	while (bytes < end) {
		const char *run = bytes;

		if (s->state != GROUND) {
			sequence_byte(s, (unsigned char)*bytes++);
			continue;
		}
		while (!s->code_left && run < end && *run >= ' ' && *run < 0x7f)
			run++;
		if (run > bytes)
			draw_text(s, bytes, (size_t)(run - bytes));
		else if (s->code_left && *bytes >= ' ' && *bytes < 0x7f)
			ground_byte(s, 0x7f); /* a sequence cut short: shown, then what follows */
		else
			ground_byte(s, (unsigned char)*run++);
		bytes = run;
	}
}

/* Rows up to the last one that shows something. */
static unsigned shown_rows(const struct screen_grid *g)
{
	unsigned n = g->used;

	while (n && !row_shows(grid_row(g, n - 1), 0))
		n--;
	return n;
}

void screen_fresh_line(struct screen *s)
{
	unsigned n;

	s->state = GROUND;
	s->code_left = 0;
	if (!s->main.rows)
		return;
	draw_alternate(s, false);
	draw_reset_modes(s);
	n = shown_rows(&s->main);
	draw_move(s, n ? n - 1 : 0, 0);
	if (n)
		draw_line_feed(s);
}

unsigned screen_text(const struct screen *s, struct buf *out)
{
	const struct screen_grid *g = s->alternate ? &s->other : &s->main;
	unsigned lines = s->history_lines;
	size_t start = out->len;

	buf_add(out, buf_str(&s->history), s->history.len);
	for (unsigned i = 0; g->rows && i < g->used; i++) {
		const struct screen_row *r = grid_row(g, i);

		row_text(r, s->joined, out);
		lines += !r->wrapped;
	}
	while (!out->failed && out->len > start && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return lines;
}
