/* SPDX-License-Identifier: MIT */
/* file.h - what is asked of a process that reaches files, and what it gives. Runs in the helper;
 * nothing of it knows who asked, or of the session. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "sandbox/executor/text.h"

enum file_limits {
	FILE_BYTES_MAX = 32 << 20, /* of a file that is read, or written by lines */
};

enum file_op { FILE_READ, FILE_WRITE, FILE_EDIT, FILE_OPS };

/* The texts of a request. Which of them are there is for the operation to say. */
enum file_part {
	FILE_PATH,
	FILE_CONTENT, /* to write; to `undo_edit`, what the file held before */
	/* The editor's. */
	FILE_NAME, /* the path as the client gave it */
	FILE_BASE, /* where a relative one may have been meant to begin */
	FILE_COMMAND,
	FILE_OLD,
	FILE_NEW,
	FILE_BAD_LINE, /* what was given for a line and is no number */
	FILE_RANGE,    /* of lines, as it was given */
	FILE_PARTS
};

enum file_flags {
	FILE_GIVEN_ABSOLUTE = 1 << 0, /* the path as the client gave it */
	FILE_ONLY_READS = 1 << 1,     /* may be done twice, if who did it died */
	FILE_LINE_GIVEN = 1 << 2,     /* the editor's: `start` is one */
	FILE_RANGE_GOOD = 1 << 3,     /* `start` and `end` are FILE_RANGE */
	FILE_TEXT_ONLY = 1 << 4,      /* FILE_BINARY is told before anything else */
};

struct file_request {
	enum file_op op;
	unsigned flags;
	int64_t start, end; /* lines; see the reference of the dialect */
	struct text part[FILE_PARTS];
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

enum file_given {
	FILE_GIVES_CONTENT,
	FILE_GIVES_DIFF,
	FILE_GIVES_OLD, /* what the file held */
	FILE_GIVES
};

/* What became of the file, to whoever remembers its past. */
enum file_past {
	FILE_UNTOUCHED,
	FILE_MADE,   /* of FILE_CONTENT */
	FILE_EDITED, /* FILE_GIVES_OLD is what it was */
	FILE_UNDONE, /* it is FILE_CONTENT again */
	FILE_PASTS
};

struct file_reply {
	enum file_status status;
	int code; /* errno of FILE_OS_ERROR */
	enum file_past past;
	struct buf gives[FILE_GIVES];
};

void file_reply_clear(struct file_reply *reply);

/* Do it; *reply is all zero before. */
void file_do(const struct file_request *request, struct file_reply *reply);
