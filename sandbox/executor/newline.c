/* SPDX-License-Identifier: MIT */
/* newline.c - see newline.h. */
#include "sandbox/executor/newline.h"

#include <string.h>

static const char
	*const ends[] = { [NEWLINE_LF] = "\n", [NEWLINE_CRLF] = "\r\n", [NEWLINE_CR] = "\r" };

/* Bytes up to the next `c`, or all that are left. */
static size_t until(struct text t, size_t at, char c)
{
	const char *found = at < t.len ? memchr(t.at + at, c, t.len - at) : NULL;

	return (size_t)(found ? found - t.at : (long)t.len) - at;
}

static bool has_lf_behind(struct text t, size_t cr)
{
	return cr + 1 < t.len && t.at[cr + 1] == '\n';
}

enum newline newline_style(struct text t)
{
	size_t lf = 0, cr = 0, both = 0;

	for (size_t at = until(t, 0, '\n'); at < t.len; at += 1 + until(t, at + 1, '\n'))
		lf++;
	for (size_t at = until(t, 0, '\r'); at < t.len; at += 1 + until(t, at + 1, '\r'))
		if (has_lf_behind(t, at))
			both++;
		else
			cr++;
	lf -= both;
	if (both > lf && both >= cr)
		return NEWLINE_CRLF;
	return cr > lf ? NEWLINE_CR : NEWLINE_LF;
}

void newline_plain(struct text t, struct buf *out)
{
	for (size_t at = 0; at < t.len;) {
		size_t n = until(t, at, '\r');

		buf_add(out, t.at + at, n);
		at += n;
		if (at == t.len)
			break;
		buf_putc(out, '\n');
		at += has_lf_behind(t, at) ? 2 : 1;
	}
}

void newline_styled(struct text plain, enum newline style, struct buf *out)
{
	for (size_t at = 0; at < plain.len;) {
		size_t n = until(plain, at, '\n');

		buf_add(out, plain.at + at, n);
		at += n;
		if (at == plain.len)
			break;
		buf_puts(out, ends[style]);
		at++;
	}
}

size_t newline_offset(struct text t, size_t plain)
{
	size_t at = 0;

	while (plain) {
		size_t n = until(t, at, '\r');

		if (n >= plain)
			return at + plain;
		at += n;
		plain -= n + 1;
		if (at == t.len)
			break;
		at += has_lf_behind(t, at) ? 2 : 1;
	}
	return at;
}
