/* SPDX-License-Identifier: MIT */
/* file_text.h - the content of a file as an action sees it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sandbox/executor/file.h"

/* The type of a file that is given whole as a data URL, by its name; NULL for all others. */
const char *file_mime(const char *path);

/* Whether the name ends with it, in letters of any case. */
bool file_has_extension(const char *path, const char *extension);

void file_data_url(const char *mime, const char *bytes, size_t len, struct buf *out);

/* A guess from the name and the first kilobyte. */
bool file_is_binary(const char *path, const char *bytes, size_t len);

/* The lines of a text in plain form from `start` (from 0) up to, not including, `end`; -1: to the
 * last. */
struct text file_select(struct text plain, int64_t start, int64_t end);

/* Append old lines before `start`, the lines of the new content, and the old ones from `end`. Old
 * lines keep their ends, and new ones between them get such ones. */
void file_splice(struct text old, const struct file_request *r, struct buf *out);
