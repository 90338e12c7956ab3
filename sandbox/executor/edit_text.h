/* SPDX-License-Identifier: MIT */
/* edit_text.h - what the editor does to a text and says of it, in the words clients know. Pure.
 *
 * What is shown and searched is the text's plain form, with line feeds alone; what is changed is
 * the text itself, so that the rest keeps its line ends. Lines are counted from 1; a text that
 * ends with a line feed has none behind it. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "sandbox/executor/newline.h"
#include "sandbox/executor/text.h"

enum edit_limits {
	EDIT_SHOWN_CHARS = 16000, /* of a file or a directory */
	EDIT_WINDOW = 4,	  /* lines around a change */
	EDIT_LISTED_MAX = 1000,	  /* lines that are named where a text was found */
};

/* A text in the hands of the editor. */
struct edit_text {
	const char *path; /* as it is named in what is said */
	struct text whole, plain;
	enum newline style;
};

/* `plain` is the caller's, and holds what *t shows until it is freed. */
void edit_text_init(struct edit_text *t, const char *path, struct text whole, struct buf *plain);

/* Lines that are wanted. */
struct edit_range {
	bool given, good; /* good: two integers */
	int64_t first, last;
	struct text shown; /* as it is repeated in what is said */
};

int64_t edit_lines(struct text plain);

/* The lines from `first` to `last`, with their ends; as far as there are any. */
struct text edit_part(struct text plain, int64_t first, int64_t last);

/* Append the whole text with `new` instead of the bytes from `from` to `to` of its plain form. New
 * lines get such ends as the others have; in a text with line feeds they stay as they are. */
void edit_splice(const struct edit_text *t, size_t from, size_t to, struct text new,
		 struct buf *out);

/* Append the text, cut to what may be shown, with `note` behind what was cut. */
void edit_clip(struct text t, const char *note, struct buf *out);

/* Append "Here's the result of running ... on WHAT:" and the text's lines, numbered. */
void edit_number(struct text plain, const char *what, int64_t first, struct buf *out);

/* Each appends to `said`, and returns false where that is a refusal. What a change makes of the
 * whole text is appended to `changed`. */
bool edit_view(const struct edit_text *t, const struct edit_range *range, struct buf *said);
bool edit_replace(const struct edit_text *t, struct text old, struct text new, struct buf *changed,
		  struct buf *said);
bool edit_insert(const struct edit_text *t, int64_t line, struct text new, struct buf *changed,
		 struct buf *said);
