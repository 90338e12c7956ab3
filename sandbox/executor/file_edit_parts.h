/* SPDX-License-Identifier: MIT */
/* file_edit_parts.h - between the files of the editor. */
#pragma once

#include "sandbox/executor/file_edit.h"
#include "sandbox/executor/file_io.h"

/* One request in work. */
struct edit {
	const struct file_request *r;
	struct file_reply *reply;
	const char *path;
	struct file_target target; /* fd -1: there is nothing */
};

/* What the client is told. */
static inline struct buf *edit_said(const struct edit *e)
{
	return &e->reply->gives[FILE_GIVES_CONTENT];
}

/* The same, with the head of a refusal alone in it. */
struct buf *edit_refusal(const struct edit *e);

/* Refuse; false. `doing` is "read" or "write to", `code` a negative errno. */
bool edit_refuse(const struct edit *e, const char *fmt, ...) printf_like(2, 3);
bool edit_refuse_os(const struct edit *e, int code, const char *doing);

bool edit_is_command(const struct edit *e, const char *name);

/* The extension of a document that the reference converts, which needs what is not here; NULL for
 * all others. */
const char *edit_convertible(const char *path);

/* Look at the request and at what its path leads to. False: it is refused. */
bool edit_check(struct edit *e);
