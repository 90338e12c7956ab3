/* SPDX-License-Identifier: MIT */
/* action.h - what a client wants done, whatever dialect it said it in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* Bytes of the request, or of nothing: `at` NULL. Followed by a NUL, and may hold further ones. */
struct text {
	const char *at;
	size_t len;
};

enum action_kind {
	ACTION_RUN,
	ACTION_READ,
	ACTION_WRITE,
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

struct action_read {
	struct text path;
	int64_t start, end;
};

struct action_write {
	struct text path, content;
	int64_t start, end;
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
	};
};

static inline void action_clear(struct action *a)
{
	json_free(a->doc);
	*a = (struct action) { .kind = ACTION_RUN };
}
