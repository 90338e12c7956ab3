/* SPDX-License-Identifier: MIT */
/* screen_control.c - see screen_control.h. What is in none of the tables does nothing. */
#include "sandbox/executor/screen_control.h"

#include <stdio.h>
#include <string.h>

#include "sandbox/executor/screen_draw.h"

static unsigned param(const struct screen *s, unsigned i, unsigned missing)
{
	return i < s->n_params && s->params[i] ? s->params[i] : missing;
}

static void answer(struct screen *s, const char *text)
{
	size_t len = strlen(text);

	if (len > sizeof(s->answer) - s->answer_len)
		return; /* nobody reads them: a program that asks without end is not listening */
	memcpy(s->answer + s->answer_len, text, len);
	s->answer_len += (unsigned)len;
}

/* --- ESC [: n is the first parameter, 1 where it is missing ---------------------------------- */

static void up(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned top = g->row >= g->top ? g->top : 0;

	draw_move(s, g->row - top > n ? g->row - n : top, g->col);
}

static void down(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned bottom = g->row <= g->bottom ? g->bottom : draw_rows(s) - 1;

	draw_move(s, g->row + n < bottom ? g->row + n : bottom, g->col);
}

static void right(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	draw_move(s, g->row, g->col + n);
}

static void left(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);

	draw_move(s, g->row, g->col > n ? g->col - n : 0);
}

static void next_line(struct screen *s, unsigned n)
{
	down(s, n);
	draw_grid(s)->col = 0;
}

static void previous_line(struct screen *s, unsigned n)
{
	up(s, n);
	draw_grid(s)->col = 0;
}

static void to_column(struct screen *s, unsigned n)
{
	draw_move(s, draw_grid(s)->row, n - 1);
}

/* In origin mode rows are those of the scrolling region. */
static void to(struct screen *s, unsigned row, unsigned col)
{
	struct screen_grid *g = draw_grid(s);

	if (s->origin)
		row = row < g->bottom - g->top ? g->top + row : g->bottom;
	draw_move(s, row, col);
}

static void to_row(struct screen *s, unsigned n)
{
	to(s, n - 1, draw_grid(s)->col);
}

static void to_position(struct screen *s, unsigned n)
{
	to(s, n - 1, param(s, 1, 1) - 1);
}

static void erase_line(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned how = param(s, 0, 0);

	(void)n;
	if (how <= 2)
		draw_erase(s, g->row, how == 0 ? g->col : 0, how == 1 ? g->col + 1 : draw_cols(s));
}

static void erase_display(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned how = param(s, 0, 0);

	(void)n;
	if (how == 0)
		draw_erase_rows(s, g->row + 1, draw_rows(s));
	else if (how == 1)
		draw_erase_rows(s, 0, g->row);
	else if (how == 2)
		draw_erase_rows(s, 0, draw_rows(s));
	else if (how == 3)
		draw_forget_history(s);
	if (how <= 1)
		erase_line(s, 0);
}

static void erase_chars(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned left_over = draw_cols(s) - g->col;

	draw_erase(s, g->row, g->col, n < left_over ? g->col + n : draw_cols(s));
}

static void repeat(struct screen *s, unsigned n)
{
	for (n = n < SCREEN_COLS ? n : SCREEN_COLS; n && s->last; n--)
		draw_char(s, s->last);
}

static void region(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	unsigned rows = draw_rows(s), bottom = param(s, 1, rows);

	if (bottom > rows)
		bottom = rows;
	if (n >= bottom)
		return;
	g->top = n - 1;
	g->bottom = bottom - 1;
	to(s, 0, 0);
}

static void tab(struct screen *s, unsigned n)
{
	draw_tab(s, n, false);
}

static void back_tab(struct screen *s, unsigned n)
{
	draw_tab(s, n, true);
}

static void clear_tab(struct screen *s, unsigned n)
{
	(void)n;
	if (param(s, 0, 0) == 0)
		draw_set_tab(s, false);
	else if (param(s, 0, 0) == 3)
		draw_clear_tabs(s);
}

static void save(struct screen *s, unsigned n)
{
	(void)n;
	draw_save(s);
}

static void restore(struct screen *s, unsigned n)
{
	(void)n;
	draw_restore(s);
}

static void set_origin(struct screen *s, bool on)
{
	s->origin = on;
	to(s, 0, 0);
}

static void set_saved(struct screen *s, bool on)
{
	if (on)
		draw_save(s);
	else
		draw_restore(s);
}

/* Back on the main screen the cursor is where it was, also for who was there already. */
static void set_alternate(struct screen *s, bool on)
{
	if (on)
		draw_save(s);
	draw_alternate(s, on);
	if (!on)
		draw_restore(s);
}

static void set_application(struct screen *s, bool on)
{
	s->application = on;
}

static void set_wrap(struct screen *s, bool on)
{
	s->no_wrap = !on;
}

static void set_insert(struct screen *s, bool on)
{
	s->insert = on;
}

static void set_line_mode(struct screen *s, bool on)
{
	s->line_mode = on;
}

static const struct {
	char marker;
	unsigned mode;
	void (*set)(struct screen *s, bool on);
} modes[] = {
	{ '?', 1, set_application },  { '?', 6, set_origin },	     { '?', 7, set_wrap },
	{ '?', 47, draw_alternate },  { '?', 1047, draw_alternate }, { '?', 1048, set_saved },
	{ '?', 1049, set_alternate }, { 0, 4, set_insert },	     { 0, 20, set_line_mode },
};

static void set_modes(struct screen *s, bool on)
{
	for (unsigned i = 0; i < s->n_params; i++)
		for (size_t k = 0; k < ARRAY_LEN(modes); k++)
			if (modes[k].marker == s->marker && modes[k].mode == s->params[i])
				modes[k].set(s, on);
}

static void set(struct screen *s, unsigned n)
{
	(void)n;
	set_modes(s, true);
}

static void reset(struct screen *s, unsigned n)
{
	(void)n;
	set_modes(s, false);
}

static void soft_reset(struct screen *s, unsigned n)
{
	(void)n;
	draw_reset_modes(s);
}

static void status(struct screen *s, unsigned n)
{
	struct screen_grid *g = draw_grid(s);
	char text[32];

	if (n == 5)
		answer(s, "\033[0n");
	if (n != 6)
		return;
	(void)snprintf(text, sizeof(text), "\033[%u;%uR", g->row + 1, g->col + 1);
	answer(s, text);
}

static void window(struct screen *s, unsigned n)
{
	char text[32];

	if (n != 18)
		return;
	(void)snprintf(text, sizeof(text), "\033[8;%u;%ut", draw_rows(s), draw_cols(s));
	answer(s, text);
}

/* A terminal with advanced video, as the description that TERM names says. */
static void attributes(struct screen *s, unsigned n)
{
	(void)n;
	answer(s, "\033[?1;2c");
}

static void version(struct screen *s, unsigned n)
{
	(void)n;
	answer(s, "\033[>84;0;0c");
}

static const struct {
	char marker, intermediate, final;
	void (*act)(struct screen *s, unsigned n);
} sequences[] = {
	{ 0, 0, 'A', up },
	{ 0, 0, 'B', down },
	{ 0, 0, 'C', right },
	{ 0, 0, 'D', left },
	{ 0, 0, 'E', next_line },
	{ 0, 0, 'F', previous_line },
	{ 0, 0, 'G', to_column },
	{ 0, 0, 'H', to_position },
	{ 0, 0, 'I', tab },
	{ 0, 0, 'J', erase_display },
	{ 0, 0, 'K', erase_line },
	{ 0, 0, 'L', draw_insert_rows },
	{ 0, 0, 'M', draw_delete_rows },
	{ 0, 0, 'P', draw_delete_cells },
	{ 0, 0, 'S', draw_scroll_up },
	{ 0, 0, 'T', draw_scroll_down },
	{ 0, 0, 'X', erase_chars },
	{ 0, 0, 'Z', back_tab },
	{ 0, 0, '@', draw_insert_cells },
	{ 0, 0, '`', to_column },
	{ 0, 0, 'a', right },
	{ 0, 0, 'b', repeat },
	{ 0, 0, 'c', attributes },
	{ '>', 0, 'c', version },
	{ 0, 0, 'd', to_row },
	{ 0, 0, 'e', down },
	{ 0, 0, 'f', to_position },
	{ 0, 0, 'g', clear_tab },
	{ 0, 0, 'h', set },
	{ '?', 0, 'h', set },
	{ 0, 0, 'l', reset },
	{ '?', 0, 'l', reset },
	{ 0, 0, 'n', status },
	{ 0, '!', 'p', soft_reset },
	{ 0, 0, 'r', region },
	{ 0, 0, 's', save },
	{ 0, 0, 't', window },
	{ 0, 0, 'u', restore },
};

void control_sequence(struct screen *s, char final)
{
	for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
		if (sequences[i].final != final || sequences[i].marker != s->marker ||
		    sequences[i].intermediate != s->intermediate)
			continue;
		sequences[i].act(s, param(s, 0, 1));
		return;
	}
}

/* --- ESC and one byte ------------------------------------------------------------------------ */

static void new_line(struct screen *s)
{
	draw_line_feed(s);
	draw_move(s, draw_grid(s)->row, 0);
}

static void set_tab(struct screen *s)
{
	draw_set_tab(s, true);
}

static void reset_all(struct screen *s)
{
	draw_alternate(s, false);
	draw_reset_modes(s);
	draw_erase_rows(s, 0, draw_rows(s));
	draw_move(s, 0, 0);
}

static void ask_attributes(struct screen *s)
{
	attributes(s, 0);
}

static const struct {
	char final;
	void (*act)(struct screen *s);
} escapes[] = {
	{ '7', draw_save }, { '8', draw_restore },   { 'D', draw_line_feed },
	{ 'E', new_line },  { 'H', set_tab },	     { 'M', draw_reverse_feed },
	{ 'c', reset_all }, { 'Z', ask_attributes },
};

void control_escape(struct screen *s, char intermediate, char final)
{
	if (intermediate == '(' || intermediate == ')') {
		s->graphics[intermediate == ')'] = final == '0';
		return;
	}
	for (size_t i = 0; !intermediate && i < ARRAY_LEN(escapes); i++)
		if (escapes[i].final == final)
			escapes[i].act(s);
}

/* --- control characters ---------------------------------------------------------------------- */

void control_char(struct screen *s, char c)
{
	struct screen_grid *g = draw_grid(s);

	switch (c) {
	case '\b':
		left(s, 1);
		break;
	case '\t':
		draw_tab(s, 1, false);
		break;
	case '\n':
	case '\v':
	case '\f':
		draw_line_feed(s);
		break;
	case '\r':
		draw_move(s, g->row, 0);
		break;
	case 016:
	case 017:
		s->shifted = c == 016;
		break;
	default:
		break;
	}
}
