/* SPDX-License-Identifier: MIT */
/* io.h - whole reads and writes, small files. Interrupted calls are retried. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Write all of it or fail. */
must_check int io_write_all(int fd, const void *bytes, size_t len, struct err *e);

/* Read up to `len` bytes, fewer only at the end of the file. Returns the count. */
must_check ssize_t io_read_full(int fd, void *bytes, size_t len, struct err *e);

/* Append everything up to the end of `fd` to `out`; -EFBIG beyond `max` bytes. */
must_check int io_read_all(int fd, size_t max, struct buf *out, struct err *e);

/* The whole of a small regular file below `dir` (no link is followed at its end). */
must_check int io_read_file(int dir, const char *path, size_t max, struct buf *out, struct err *e);

/* One write(2) of a short text into an existing file, as control files of the kernel want it. */
must_check int io_write_text(int dir, const char *path, const char *text, struct err *e);

/* Make or replace a file by rename, so that a reader sees the old or the new one, whole. Not
 * synced: what it describes does not outlive the running kernel. */
must_check int io_replace_file(int dir, const char *name, const void *bytes, size_t len,
			       mode_t mode, struct err *e);
