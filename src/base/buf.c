/* SPDX-License-Identifier: MIT */
/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_clear(struct buf *b)
{
	free(b->data);
	*b = (struct buf) { .limit = b->limit };
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

/* Make room for `more` bytes and the NUL behind them. */
static bool reserve(struct buf *b, size_t more)
{
	size_t limit = b->limit ? b->limit : BUF_LIMIT_DEFAULT;
	size_t want, room;
	char *grown;

	/* Half the address space, so that no sum below can wrap. */
	if (limit > SIZE_MAX / 4)
		limit = SIZE_MAX / 4;
	if (b->failed || more > limit || b->len > limit - more) {
		b->failed = true;
		return false;
	}
	want = b->len + more + 1;
	if (want <= b->room)
		return true;
	for (room = b->room ? b->room : 64; room < want;)
		room *= 2;
	grown = realloc(b->data, room);
	if (!grown) {
		b->failed = true;
		return false;
	}
	b->data = grown;
	b->room = room;
	return true;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int need;

	va_start(ap, fmt);
	need = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (need < 0) {
		b->failed = true;
		return;
	}
	if (!reserve(b, (size_t)need))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)need + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)need;
}

int buf_check(const struct buf *b, struct err *e)
{
	if (!b->failed)
		return 0;
	return err_code(e, EFBIG, "text does not fit in memory or in its limit of %zu bytes",
			b->limit ? b->limit : BUF_LIMIT_DEFAULT);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *taken;

	if (b->failed)
		return NULL;
	taken = b->data ? b->data : strdup("");
	*b = (struct buf) { .limit = b->limit };
	return taken;
}
