/* SPDX-License-Identifier: MIT */
/* cell_text.c - see cell_text.h. */
#include "sandbox/executor/cell_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void add_to_tail(struct cell_text *t, const char *bytes, size_t len)
{
	size_t at, first;

	if (!t->tail)
		t->tail = malloc(CELL_TAIL_BYTES);
	t->more += len;
	if (!t->tail)
		return; /* counted, and so said to be missing */
	if (len > CELL_TAIL_BYTES) {
		bytes += len - CELL_TAIL_BYTES;
		len = CELL_TAIL_BYTES;
	}
	at = (size_t)((t->more - len) % CELL_TAIL_BYTES);
	first = len < CELL_TAIL_BYTES - at ? len : CELL_TAIL_BYTES - at;
	memcpy(t->tail + at, bytes, first);
	memcpy(t->tail, bytes + first, len - first);
}

void cell_text_add(struct cell_text *t, const char *bytes, size_t len)
{
	size_t room = CELL_HEAD_BYTES - t->head.len;
	size_t now = t->more ? 0 : len < room ? len : room;

	buf_add(&t->head, bytes, now);
	if (now < len)
		add_to_tail(t, bytes + now, len - now);
}

bool cell_text_empty(const struct cell_text *t)
{
	return !t->head.len && !t->more;
}

/* Where a character has been cut, the rest of it goes. */
static size_t whole_characters(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++)
		if (((unsigned char)bytes[len - back] & 0xc0) == 0xc0)
			return utf8_sequence(bytes + len - back, back) ? len : len - back;
	return len;
}

static size_t cut_off(const char *bytes, size_t len)
{
	size_t n = 0;

	while (n < 3 && n < len && ((unsigned char)bytes[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void add_tail(const struct cell_text *t, struct buf *out)
{
	static const char mark[] = "\n[... Observation truncated due to length ...]\n";
	size_t len = t->more < CELL_TAIL_BYTES ? (size_t)t->more : CELL_TAIL_BYTES;
	size_t at = t->more < CELL_TAIL_BYTES ? 0 : (size_t)(t->more % CELL_TAIL_BYTES);
	size_t first = len - at, before;

	if (!t->tail || t->more > CELL_TAIL_BYTES) {
		out->len = whole_characters(out->data, out->len);
		buf_puts(out, mark);
	}
	if (!t->tail)
		return;
	before = out->len;
	buf_add(out, t->tail + at, first);
	buf_add(out, t->tail, len - first);
	if (t->more > CELL_TAIL_BYTES && !out->failed) {
		size_t cut = cut_off(out->data + before, out->len - before);

		out->len -= cut;
		memmove(out->data + before, out->data + before + cut, out->len - before + 1);
	}
}

/* Bytes of the colour escape at the start, or 0. */
static size_t colour_len(const char *at, size_t len)
{
	size_t n = 2;

	if (len < 3 || at[0] != '\033' || at[1] != '[')
		return 0;
	while (n < len && (isdigit((unsigned char)at[n]) || at[n] == ';'))
		n++;
	return n < len && at[n] == 'm' ? n + 1 : 0;
}

void cell_text_plain(struct buf *text)
{
	size_t from = 0, to = 0, skip;

	while (from < text->len) {
		skip = colour_len(text->data + from, text->len - from);
		if (!skip)
			text->data[to++] = text->data[from++];
		from += skip;
	}
	if (text->data)
		text->data[to] = '\0';
	text->len = to;
}

void cell_text_take(struct cell_text *t, struct buf *out)
{
	autobuf struct buf text = t->head;

	t->head = (struct buf) { 0 };
	if (t->more)
		add_tail(t, &text);
	cell_text_plain(&text);
	while (text.len && isspace((unsigned char)text.data[text.len - 1]))
		text.len--;
	buf_add(out, buf_str(&text), text.len);
	cell_text_clear(t);
}

void cell_text_clear(struct cell_text *t)
{
	buf_clear(&t->head);
	free(t->tail);
	*t = (struct cell_text) { 0 };
}
