/* SPDX-License-Identifier: MIT */
/* observation.c - see observation.h. */
#include "sandbox/executor/observation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void observation_clear(struct observation *o)
{
	buf_clear(&o->content);
	buf_clear(&o->prefix);
	buf_clear(&o->suffix);
	buf_clear(&o->path);
	for (unsigned i = 0; i < o->n_images; i++)
		buf_clear(&o->images[i]);
	buf_clear(&o->diff);
	*o = (struct observation) { .kind = OBSERVED_RUN };
}

static bool starts_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* Offset of the n-th character, or the length where there are no more. */
static size_t char_offset(const struct buf *b, size_t n)
{
	size_t at = 0;

	for (; at < b->len; at++)
		if (starts_char(b->data[at]) && n-- == 0)
			break;
	return at;
}

static size_t char_offset_from_end(const struct buf *b, size_t n)
{
	size_t at = b->len;

	while (at && n)
		n -= starts_char(b->data[--at]);
	return at;
}

static size_t char_count(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += starts_char(b->data[i]);
	return n;
}

void observation_shorten(struct buf *content)
{
	static const char mark[] = "\n[... Observation truncated due to length ...]\n";
	struct buf shorter = { 0 };
	size_t head, tail;

	if (content->len <= OBSERVED_CHARS || char_count(content) <= OBSERVED_CHARS)
		return;
	head = char_offset(content, OBSERVED_CHARS / 2);
	tail = char_offset_from_end(content, OBSERVED_CHARS / 2);
	buf_add(&shorter, content->data, head);
	buf_puts(&shorter, mark);
	buf_add(&shorter, content->data + tail, content->len - tail);
	buf_clear(content);
	*content = shorter;
}

void observation_trim(struct buf *content)
{
	struct text t = text_strip((struct text) { .at = buf_str(content), .len = content->len });

	if (!content->data)
		return;
	memmove(content->data, t.at, t.len);
	content->len = t.len;
	content->data[t.len] = '\0';
}

void observation_seconds(struct buf *out, double seconds)
{
	char text[64];

	for (int places = 1; places <= 17; places++) {
		(void)snprintf(text, sizeof(text), "%.*f", places, seconds);
		if (strtod(text, NULL) == seconds)
			break;
	}
	buf_puts(out, text);
}
