/* SPDX-License-Identifier: MIT */
/* err.h - the one form of an error: a code and one line of text.
 *
 * It is a plain value, so that it crosses the gate between the sandbox and
 * the host as it is. `code` is a positive errno. */
#pragma once

#include <errno.h>

#include "base/auto.h"

#define ERR_TEXT_BYTES 400

/* What the caller named is not there. A file of ours that is missing is ENOENT, and no answer to that. */
#define ERR_NONE_SUCH EBADR

struct err {
	int code;
	char text[ERR_TEXT_BYTES];
};

/* Fill *e from errno: "<text>: <strerror>". Returns -errno. */
int err_errno(struct err *e, const char *fmt, ...) printf_like(2, 3);

/* Fill *e with a refusal of our own. `code` is a positive errno. Returns -code. */
int err_code(struct err *e, int code, const char *fmt, ...) printf_like(3, 4);

/* Put "<text>: " before what *e says. Returns -e->code. */
int err_wrap(struct err *e, const char *fmt, ...) printf_like(2, 3);

/* Keep the first error: copy `next` into *first unless it holds one already. */
void err_keep(struct err *first, const struct err *next);

/* Static analysers see one file at a time: tell them that these always give a failure. */
#if (defined(__clang_analyzer__) || defined(OHS_ANALYZER)) && !defined(OHS_ERR_DEFINITIONS)
#define err_errno(...) ((void)err_errno(__VA_ARGS__), -1)
#define err_code(...) ((void)err_code(__VA_ARGS__), -1)
#define err_wrap(...) ((void)err_wrap(__VA_ARGS__), -1)
#endif
