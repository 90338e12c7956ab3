/* SPDX-License-Identifier: MIT */
/* fuzz_edit.c - any text in the hands of the editor. The input is a line number or two, then a text,
 * what is looked for and what comes instead, divided by bytes of 0xff. What is refused changes
 * nothing; what is replaced or inserted leaves the rest byte for byte, and keeps it UTF-8; what is
 * shown is bounded. */
#include <string.h>

#include "base/utf8.h"
#include "sandbox/executor/edit_text.h"
#include "sandbox/executor/encoding.h"

#define MUST(condition)                   \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

#define SAID_MAX (EDIT_SHOWN_CHARS * 24) /* a line of no characters takes eight */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct text cut(struct text *rest)
{
	const char *end = rest->len ? memchr(rest->at, 0xff, rest->len) : NULL;
	struct text piece = { rest->at, end ? (size_t)(end - rest->at) : rest->len };

	rest->at += piece.len + (end != NULL);
	rest->len -= piece.len + (end != NULL);
	return piece;
}

static bool is_utf8(struct text t)
{
	return utf8_check(t.at, t.len) == t.len;
}

static void common_ends(struct text a, struct text b, size_t *head, size_t *tail)
{
	*head = *tail = 0;
	while (*head < a.len && *head < b.len && a.at[*head] == b.at[*head])
		++*head;
	while (*tail < a.len - *head && *tail < b.len - *head &&
	       a.at[a.len - 1 - *tail] == b.at[b.len - 1 - *tail])
		++*tail;
}

static bool has_lone_return(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] == '\r' && (i + 1 == t.len || t.at[i + 1] != '\n'))
			return true;
	return false;
}

/* All that is gone from the text fits into what was looked for, CRLF counted as two. Only returns
 * that stand alone may have become something else. */
static void check_change(struct text before, const struct buf *changed, size_t gone_max)
{
	struct text after = { buf_str(changed), changed->len };
	size_t head, tail;

	common_ends(before, after, &head, &tail);
	MUST(before.len - head - tail <= gone_max || has_lone_return(before));
	MUST(is_utf8(after));
}

static void replace(const struct edit_text *t, struct text old, struct text new)
{
	autobuf struct buf changed = { 0 }, said = { 0 };

	if (edit_replace(t, old, new, &changed, &said))
		check_change(t->whole, &changed, 2 * old.len);
	else
		MUST(!changed.len);
	MUST(said.len && said.len < SAID_MAX + old.len * 2);
}

/* What an insertion makes of the plain form, told in another way. */
static void expect_inserted(const struct edit_text *t, int64_t line, struct text piece,
			    struct buf *out)
{
	struct text head = edit_part(t->plain, 1, line);
	autobuf struct buf plain = { 0 };

	buf_add(out, head.at, head.len);
	if (head.len && head.at[head.len - 1] != '\n')
		buf_putc(out, '\n');
	newline_plain(piece, &plain);
	/* Its last return and the line feed behind it are one. */
	if (piece.len && piece.at[piece.len - 1] == '\r')
		plain.len--;
	buf_add(out, buf_str(&plain), plain.len);
	buf_putc(out, '\n');
	buf_add(out, t->plain.at + head.len, t->plain.len - head.len);
}

static void insert(const struct edit_text *t, int64_t line, struct text new)
{
	autobuf struct buf changed = { 0 }, said = { 0 }, plain = { 0 }, want = { 0 };
	bool good = line >= 0 && line <= edit_lines(t->plain);
	struct edit_text now;

	MUST(edit_insert(t, line, new, &changed, &said) == good);
	MUST(said.len && said.len < SAID_MAX);
	if (!good) {
		MUST(!changed.len);
		return;
	}
	check_change(t->whole, &changed, 0);
	edit_text_init(&now, "/f", (struct text) { buf_str(&changed), changed.len }, &plain);
	expect_inserted(t, line, new, &want);
	MUST(text_eq(now.plain, (struct text) { buf_str(&want), want.len }));
}

static void view(const struct edit_text *t, int64_t first, int64_t last)
{
	struct edit_range range = { .given = true,
				    .good = true,
				    .first = first,
				    .last = last,
				    .shown = text_of("[a, b]") },
			  whole = { .given = false };
	autobuf struct buf said = { 0 };

	(void)edit_view(t, &range, &said);
	MUST(said.len && said.len < SAID_MAX);
	buf_reset(&said);
	MUST(edit_view(t, &whole, &said));
	MUST(said.len < SAID_MAX);
}

/* What can be decoded becomes the same bytes again. */
static void recode(struct text raw)
{
	autobuf struct buf text = { 0 }, back = { 0 };
	enum encoding encoding = encoding_of(raw);
	struct err e = { 0 };

	if (encoding_decode(encoding, raw, &text, &e) < 0)
		return;
	MUST(utf8_check(buf_str(&text), text.len) == text.len);
	encoding_encode(encoding, (struct text) { buf_str(&text), text.len }, &back);
	MUST(back.len == raw.len && (!raw.len || !memcmp(back.data, raw.at, raw.len)));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct text rest = { (const char *)data, size }, whole, old, new;
	autobuf struct buf plain = { 0 };
	struct edit_text t;
	int64_t lines[2];

	recode(rest);
	if (size < 2)
		return 0;
	lines[0] = (signed char)data[0];
	lines[1] = (signed char)data[1];
	rest.at += 2;
	rest.len -= 2;
	whole = cut(&rest);
	old = cut(&rest);
	new = cut(&rest);
	if (!is_utf8(whole) || !is_utf8(old) || !is_utf8(new))
		return 0;
	edit_text_init(&t, "/f", whole, &plain);
	view(&t, lines[0], lines[1]);
	replace(&t, old, new);
	insert(&t, lines[0], new);
	return 0;
}
