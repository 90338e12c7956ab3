/* SPDX-License-Identifier: MIT */
/* http_query.c - see http.h: the parameters of a request's target. */
#include <string.h>

#include "http/http.h"

/* "%41" and "+" as forms have them; a "%" that begins no such thing is itself. */
static void decode(struct http_text text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		int high = -1, low = -1;

		if (text.at[i] == '%' && text.len - i > 2) {
			high = http_hex(text.at[i + 1]);
			low = http_hex(text.at[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			buf_putc(out, (char)(high * 16 + low));
			i += 2;
		} else {
			buf_putc(out, text.at[i] == '+' ? ' ' : text.at[i]);
		}
	}
}

/* The first value of a parameter, as it stands; *rest is what is behind it. `at` is NULL where there is
 * none. */
static struct http_text parameter(struct http_text *rest, const char *name)
{
	size_t name_len = strlen(name);

	while (rest->len) {
		const char *start = rest->at, *end = memchr(start, '&', rest->len);
		size_t len = end ? (size_t)(end - start) : rest->len;

		rest->at += len + (end != NULL);
		rest->len -= len + (end != NULL);
		if (len > name_len && start[name_len] == '=' && memcmp(start, name, name_len) == 0)
			return (struct http_text) { .at = start + name_len + 1,
						    .len = len - name_len - 1 };
	}
	return (struct http_text) { .at = NULL };
}

bool http_query_next(struct http_text *rest, const char *name, struct buf *out)
{
	struct http_text value = parameter(rest, name);

	if (value.at)
		decode(value, out);
	return value.at;
}

bool http_query(struct http_text query, const char *name, struct buf *out)
{
	struct http_text value = { .at = NULL }, next;

	while ((next = parameter(&query, name)).at)
		value = next;
	if (value.at)
		decode(value, out);
	return value.at;
}
