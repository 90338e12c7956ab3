/* SPDX-License-Identifier: MIT */
/* screen_draw.h - what a terminal can be asked to do, whatever the sequence that asks for it.
 *
 * Every position is clamped to the screen here: numbers come as the program wrote them. */
#pragma once

#include "sandbox/executor/screen.h"

/* The grid that is shown; its memory is there. */
struct screen_grid *draw_grid(struct screen *s);
unsigned draw_rows(const struct screen *s);
unsigned draw_cols(const struct screen *s);

/* Printable ASCII. */
void draw_text(struct screen *s, const char *bytes, size_t len);
void draw_char(struct screen *s, uint32_t c);

void draw_move(struct screen *s, unsigned row, unsigned col);
void draw_line_feed(struct screen *s);
void draw_reverse_feed(struct screen *s);

/* To the next or the previous tab stop, n times. */
void draw_tab(struct screen *s, unsigned n, bool back);
void draw_set_tab(struct screen *s, bool on);
void draw_clear_tabs(struct screen *s);

/* Cells [from, to) of a row; rows [from, to). */
void draw_erase(struct screen *s, unsigned row, unsigned from, unsigned to);
void draw_erase_rows(struct screen *s, unsigned from, unsigned to);
void draw_forget_history(struct screen *s);

/* Within the scrolling region; what leaves it at the screen's top is history. */
void draw_scroll_up(struct screen *s, unsigned n);
void draw_scroll_down(struct screen *s, unsigned n);
void draw_insert_rows(struct screen *s, unsigned n);
void draw_delete_rows(struct screen *s, unsigned n);

/* At the cursor. */
void draw_insert_cells(struct screen *s, unsigned n);
void draw_delete_cells(struct screen *s, unsigned n);

void draw_save(struct screen *s);
void draw_restore(struct screen *s);
void draw_alternate(struct screen *s, bool on);

/* As at the start, but for what is shown. */
void draw_reset_modes(struct screen *s);
