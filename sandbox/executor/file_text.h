/* SPDX-License-Identifier: MIT */
/* file_text.h - the content of a file as an action sees it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sandbox/executor/file.h"

/* The type of a file that is given whole as a data URL, by its name; NULL for all others. */
const char *file_mime(const char *path);

void file_data_url(const char *mime, const char *bytes, size_t len, struct buf *out);

/* A guess from the name and the first kilobyte. */
bool file_is_binary(const char *path, const char *bytes, size_t len);

/* CRLF and CR become LF, in place. */
void file_newlines(struct buf *text);

/* Append the lines from `start` (from 0) up to, not including, `end`; -1: to the last. */
void file_select(const struct buf *text, int64_t start, int64_t end, struct buf *out);

/* Append old lines before `start`, the lines of the new content, and the old ones from `end`. */
void file_splice(const struct buf *old, const struct file_request *r, struct buf *out);
