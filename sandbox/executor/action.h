/* SPDX-License-Identifier: MIT */
/* action.h - what a client wants done, whatever dialect it said it in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "sandbox/executor/text.h"

enum action_kind {
	ACTION_RUN,
	ACTION_READ,
	ACTION_WRITE,
	ACTION_EDIT,
	ACTION_IPYTHON,
	ACTION_BROWSE,
	ACTION_KINDS
};

struct action_run {
	struct text command; /* as sent */
	struct text cwd;     /* of a static command */
	bool is_input;	     /* for the program that runs, not for the shell */
	bool blocking;	     /* silence is no reason to answer */
	bool is_static;	     /* in a fresh shell, thrown away */
	bool hidden;	     /* its output is not shortened */
};

/* Lines, from 1, that the editor is to show. */
struct action_range {
	bool given, good; /* good: two integers */
	int64_t first, last;
	char shown[80]; /* as it was said, for the texts that repeat it */
};

struct action_read {
	struct text path;
	int64_t start, end;
	bool editor; /* as the editor shows it; then `range` counts */
	struct action_range range;
};

struct action_write {
	struct text path, content;
	int64_t start, end;
};

struct action_ipython {
	struct text code, first; /* `first`: for a Python that has run nothing yet */
	bool with_places;	 /* tell the directory and the Python, too */
};

/* What is not given has no text. */
struct action_edit {
	struct text path, command, file_text, old_str, new_str;
	struct text bad_line; /* what was said for a line and is no number */
	bool line_given;
	int64_t line;
};

struct action {
	enum action_kind kind;
	uint64_t timeout_ms;  /* 0: none */
	double timeout_s;     /* as it was said, for the texts that repeat it */
	struct json_doc *doc; /* what the texts point into; owned */
	union {
		struct action_run run;
		struct action_read read;
		struct action_write write;
		struct action_ipython ipython;
		struct action_edit edit;
	};
};

static inline void action_clear(struct action *a)
{
	json_free(a->doc);
	*a = (struct action) { .kind = ACTION_RUN };
}
