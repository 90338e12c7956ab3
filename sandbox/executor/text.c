/* SPDX-License-Identifier: MIT */
/* text.c - see text.h. */
#include "sandbox/executor/text.h"

#include <string.h>

#include "base/utf8.h"

struct text text_of(const char *string)
{
	return (struct text) { .at = string, .len = strlen(string) };
}

bool text_eq(struct text a, struct text b)
{
	if (!a.at || !b.at)
		return a.at == b.at;
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

static bool is_blank(uint32_t code)
{
	if (code < 0x80)
		return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20);
	return code == 0x85 || code == 0xa0 || code == 0x1680 ||
	       (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
	       code == 0x202f || code == 0x205f || code == 0x3000;
}

/* Bytes of the blank that ends the text, or 0. */
static size_t last_blank(struct text t)
{
	for (size_t n = 1; n <= 3 && n <= t.len; n++) {
		const char *at = t.at + t.len - n;

		if (((unsigned char)*at & 0xc0) == 0x80)
			continue; /* in the middle of one */
		return utf8_sequence(at, n) == n && is_blank(utf8_code(at, n)) ? n : 0;
	}
	return 0;
}

struct text text_rstrip(struct text t)
{
	for (size_t n; (n = last_blank(t)) > 0;)
		t.len -= n;
	return t;
}

struct text text_strip(struct text t)
{
	t = text_rstrip(t);
	while (t.len) {
		size_t n = utf8_sequence(t.at, t.len);

		if (!n || !is_blank(utf8_code(t.at, n)))
			break;
		t.at += n;
		t.len -= n;
	}
	return t;
}

size_t text_offset(struct text t, size_t chars)
{
	size_t at = 0;

	for (; at < t.len; at++)
		if (((unsigned char)t.at[at] & 0xc0) != 0x80 && chars-- == 0)
			break;
	return at;
}

long text_find(struct text t, struct text part, size_t from)
{
	const char *found;

	if (from > t.len || part.len > t.len - from)
		return -1;
	if (!part.len)
		return (long)from;
	found = memmem(t.at + from, t.len - from, part.at, part.len);
	return found ? found - t.at : -1;
}
