/* SPDX-License-Identifier: MIT */
/* file.h - reading and writing one file as an action does. Runs in the helper. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum file_limits {
	FILE_BYTES_MAX = 32 << 20, /* of a file that is read, or edited by lines */
};

enum file_op { FILE_READ, FILE_WRITE, FILE_OPS };

struct file_request {
	enum file_op op;
	bool given_absolute; /* the path as the client gave it: only then is it tested for binary content */
	int64_t start, end;  /* lines; see the reference of the dialect */
	const char *path;    /* absolute */
	const char *content; /* to write */
	size_t content_len;
};

enum file_status {
	FILE_OK,
	FILE_MISSING,
	FILE_IS_DIRECTORY,
	FILE_NOT_TEXT, /* not UTF-8 */
	FILE_BINARY,
	FILE_SPECIAL, /* a device, a fifo, a socket */
	FILE_TOO_LARGE,
	FILE_OS_ERROR,
	FILE_STATUSES,
};

struct file_outcome {
	enum file_status status;
	int code; /* errno of FILE_OS_ERROR */
};

/* Do it. What was read is appended to `content`. */
struct file_outcome file_do(const struct file_request *request, struct buf *content);
