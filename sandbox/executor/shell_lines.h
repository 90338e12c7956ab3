/* SPDX-License-Identifier: MIT */
/* shell_lines.h - what a persistent bash is told over its private socket, and what it says there.
 *
 * Each command is a few lines of bash. Functions that begin with __ohs do the rest: they say that
 * the command begins, keep $? and $_ of one command for the next, put it into the history, and say
 * what came of it. Pure: no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One text that is to be run. */
struct shell_line {
	const char *text;
	size_t len;
	uint32_t sequence;
	const char *tty; /* its stdin */
	bool whole;	 /* it is sure where the text ends: $_ lives on then */
	bool traced;	 /* `set -x` is on */
};

/* For a new shell. */
void shell_lines_start(struct buf *out);

void shell_lines_run(struct buf *out, const struct shell_line *line);

/* Do what this control key does at a prompt; NUL: nothing. */
void shell_lines_key(struct buf *out, char key, uint32_t sequence);

/* Say what came of the command with this number; `counts_first`: first what it wrote. */
void shell_lines_report(struct buf *out, uint32_t sequence, bool counts_first);

/* The same for a shell that has lost the functions. */
void shell_lines_again(struct buf *out, uint32_t sequence);

/* What a shell says, as fields that each end with a NUL:
 *   "b" sequence                                    the command begins
 *   "l" sequence                                    it cannot say more: the functions are gone
 *   "e" sequence status background flags cwd python it is done
 *   "w" sequence /proc/self/io                      what it and all it waited for have written */
enum { SHELL_FIELDS_MAX = 7 };

struct shell_said {
	char kind;
	uint32_t sequence;
	const char *field[SHELL_FIELDS_MAX]; /* kind and sequence, too */
};

/* Take what was said off the front of `heard`: its length and *said (pointing into `heard`), 0 where
 * it is not whole yet, or -1 for what no shell of ours says. */
long shell_lines_said(const struct buf *heard, struct shell_said *said);
