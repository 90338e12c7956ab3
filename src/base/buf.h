/* SPDX-License-Identifier: MIT */
/* buf.h - bytes that grow, up to a limit.
 *
 * `data` is always followed by a NUL that `len` does not count, so a text can
 * be handed to functions that want a string. A failed append marks the buffer
 * as `failed` and later appends do nothing: check once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf {
	char *data;   /* NULL until the first append */
	size_t len;   /* bytes in use */
	size_t room;  /* bytes allocated */
	size_t limit; /* bytes at most; 0 means BUF_LIMIT_DEFAULT */
	bool failed;  /* no memory, or beyond the limit */
};

#define BUF_LIMIT_DEFAULT ((size_t)64 << 20)

#define autobuf __attribute__((cleanup(buf_clear)))

void buf_clear(struct buf *b);
void buf_reset(struct buf *b); /* length 0, memory kept */
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);

/* 0, or -ENOMEM/-EFBIG with *e filled when an append failed. */
must_check int buf_check(const struct buf *b, struct err *e);

/* The text so far, never NULL. */
const char *buf_str(const struct buf *b);

/* Hand the bytes (with their NUL) to the caller, who frees them. Never NULL unless failed. */
char *buf_take(struct buf *b);
