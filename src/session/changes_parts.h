/* SPDX-License-Identifier: MIT */
/* changes_parts.h - the parts of reading changes; for changes*.c and their tests alone. */
#pragma once

#include <stdbool.h>

#include "session/changes.h"
#include "session/stack.h"

/* ---- changes.c: the walk ---- */

/* Compare layer 0 of a stack with what the layers below it show. A negative answer of `each` is
 * returned; so is an error of ours, with *e filled. */
must_check int changes_walk(const struct stack *s, bool skip_git, unsigned flags,
			    int (*each)(const struct change *c, void *arg), void *arg,
			    struct err *e);

/* ---- changes_compare.c: two files ---- */

/* Do two things that are no directories differ in type, mode or content? 1 or 0. */
must_check int change_differs(const struct stack *s, const struct found *was,
			      const struct found *is, struct err *e);

/* Both versions of a change, as struct change shows them. */
struct change_files {
	int before, after;
	char *link_before, *link_after;
};

#define CHANGE_FILES_NONE                 \
	{                                 \
		.before = -1, .after = -1 \
	}

must_check int change_files_open(const struct stack *s, const struct found *was,
				 const struct found *is, struct change_files *out, struct err *e);
void change_files_close(struct change_files *f);

/* ---- changes_pass.c: from a helper process, one packet a change ---- */

must_check int change_send(int fd, const struct change *c, struct err *e);

/* 1 and the change, which points into `room`; 0 at the end. Its descriptors are the caller's. */
struct change_packet {
	char bytes[CHANGES_PATH_MAX + 2 * 4096 + 512];
};
must_check int change_receive(int fd, struct change_packet *room, struct change *out,
			      struct err *e);
