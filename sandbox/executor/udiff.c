/* SPDX-License-Identifier: MIT */
/* udiff.c - see udiff.h. A text has one line more than line feeds: what stands behind the last one
 * counts, also where that is nothing. */
#include "sandbox/executor/udiff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/udiff_match.h"

/* One of the two texts. */
struct side {
	struct text text;
	uint64_t n;	/* lines */
	uint64_t shift; /* lines before them that are not looked at */
};

/* A walk over a side, to write lines of it. */
struct walk {
	struct text rest;
	uint64_t line;
};

struct line {
	struct text text;
	uint32_t at; /* those of `before` first, then those of `after` */
};

static struct text take_line(struct text *rest)
{
	const char *lf = rest->len ? memchr(rest->at, '\n', rest->len) : NULL;
	struct text line = { rest->at, lf ? (size_t)(lf - rest->at) : rest->len };

	rest->at += line.len + (lf != NULL);
	rest->len -= line.len + (lf != NULL);
	return line;
}

static uint64_t count_lines(struct text t)
{
	uint64_t n = 1;

	for (size_t i = 0; i < t.len; i++)
		n += t.at[i] == '\n';
	return n;
}

/* --- lines as numbers ------------------------------------------------------------------------ */

static int by_content(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	size_t n = x->text.len < y->text.len ? x->text.len : y->text.len;
	int order = n ? memcmp(x->text.at, y->text.at, n) : 0;

	return order ? order : x->text.len < y->text.len ? -1 : x->text.len > y->text.len;
}

static size_t add_lines(const struct side *s, struct line *lines, size_t at)
{
	struct text rest = s->text;

	for (uint64_t i = 0; i < s->n; i++, at++)
		lines[at] = (struct line) { take_line(&rest), (uint32_t)at };
	return at;
}

/* Sorted by content, equal lines stand together. */
static int number_lines(const struct side *before, const struct side *after, uint32_t *numbers,
			uint32_t *ids)
{
	size_t n = before->n + after->n;
	autofree struct line *lines = calloc(n, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	(void)add_lines(after, lines, add_lines(before, lines, 0));
	qsort(lines, n, sizeof(*lines), by_content);
	*ids = 0;
	for (size_t i = 0; i < n; i++) {
		*ids += i > 0 && by_content(&lines[i - 1], &lines[i]) != 0;
		numbers[lines[i].at] = *ids;
	}
	++*ids;
	return 0;
}

/* Too much for the memory we have, or want to take: nothing is in common. */
static void match(const struct side *before, const struct side *after, struct udiff_blocks *out)
{
	uint64_t n = before->n + after->n;
	autofree uint32_t *numbers = n <= UDIFF_LINES_MAX ? calloc(n, sizeof(*numbers)) : NULL;
	struct udiff_lines lines = { .before = numbers };

	*out = (struct udiff_blocks) { .n = 0 };
	if (!numbers || number_lines(before, after, numbers, &lines.ids) < 0)
		return;
	lines.after = numbers + before->n;
	lines.n_before = (uint32_t)before->n;
	lines.n_after = (uint32_t)after->n;
	if (udiff_match(&lines, UDIFF_STEPS_MAX, out) < 0)
		*out = (struct udiff_blocks) { .n = 0 };
}

/* --- common ends ----------------------------------------------------------------------------- */

/* Whole lines only: each side keeps one at least, so that no text is without a line. */
static void trim_start(struct side *a, struct side *b)
{
	while (a->n > 1 && b->n > 1) {
		struct text rest_a = a->text, rest_b = b->text;

		if (!text_eq(take_line(&rest_a), take_line(&rest_b)))
			break;
		a->text = rest_a;
		b->text = rest_b;
		a->n--;
		b->n--;
		a->shift++;
		b->shift++;
	}
}

static struct text last_line(struct text t)
{
	const char *lf = t.len ? memrchr(t.at, '\n', t.len) : NULL;
	size_t from = lf ? (size_t)(lf - t.at) + 1 : 0;

	return (struct text) { t.at + from, t.len - from };
}

static void trim_end(struct side *a, struct side *b)
{
	while (a->n > 1 && b->n > 1) {
		struct text last_a = last_line(a->text), last_b = last_line(b->text);

		if (!text_eq(last_a, last_b))
			break;
		a->text.len -= last_a.len + 1;
		b->text.len -= last_b.len + 1;
		a->n--;
		b->n--;
	}
}

/* --- hunks ----------------------------------------------------------------------------------- */

static void put_range(struct buf *out, char sign, uint64_t first, uint64_t n)
{
	/* Where there are no lines, the one before. */
	buf_printf(out, "%c%" PRIu64, sign, n ? first + 1 : first);
	if (n != 1)
		buf_printf(out, ",%" PRIu64, n);
}

static void put_line(struct buf *out, char sign, struct text line)
{
	buf_putc(out, '\n');
	buf_putc(out, sign);
	line = text_rstrip(line);
	buf_add(out, line.at, line.len);
}

/* Lines from `from` to `to`. The walk only goes forward. */
static void put_lines(struct buf *out, char sign, struct walk *w, uint64_t from, uint64_t to)
{
	for (; w->line < to && !out->failed; w->line++) {
		struct text line = take_line(&w->rest);

		if (w->line >= from)
			put_line(out, sign, line);
	}
}

/* What stands between two blocks, the ends not included. */
struct hunk {
	uint64_t before, before_end, after, after_end;
};

static void put_hunk(const struct side sides[2], struct walk walks[2], const struct hunk *h,
		     struct buf *out)
{
	buf_puts(out, "\n@@ ");
	put_range(out, '-', sides[0].shift + h->before, h->before_end - h->before);
	buf_putc(out, ' ');
	put_range(out, '+', sides[1].shift + h->after, h->after_end - h->after);
	buf_puts(out, " @@");
	put_lines(out, '-', &walks[0], h->before, h->before_end);
	put_lines(out, '+', &walks[1], h->after, h->after_end);
}

static void put_hunks(const struct side sides[2], const struct udiff_blocks *blocks,
		      struct buf *out)
{
	struct walk walks[2] = { { .rest = sides[0].text }, { .rest = sides[1].text } };
	struct hunk h = { .before = 0 };

	for (uint32_t i = 0; i <= blocks->n; i++) {
		struct udiff_block b = { (uint32_t)sides[0].n, (uint32_t)sides[1].n, 0 };
		size_t len = out->len;

		if (i < blocks->n)
			b = blocks->block[i];
		h.before_end = b.before;
		h.after_end = b.after;
		if (h.before < h.before_end || h.after < h.after_end)
			put_hunk(sides, walks, &h, out);
		if (out->failed) { /* part of a hunk is none */
			out->len = len;
			break;
		}
		h.before = b.before + b.n;
		h.after = b.after + b.n;
	}
}

void udiff(struct text path, struct text before, struct text after, struct buf *out)
{
	struct side sides[2] = { { .text = before, .n = count_lines(before) },
				 { .text = after, .n = count_lines(after) } };
	autobuf struct buf made = { .limit = UDIFF_BYTES_MAX };
	struct udiff_blocks blocks;
	size_t head;

	if (before.len == after.len && (!before.len || !memcmp(before.at, after.at, before.len)))
		return;
	if (sides[0].n + sides[1].n > UDIFF_LINES_MAX) {
		trim_start(&sides[0], &sides[1]);
		trim_end(&sides[0], &sides[1]);
	}
	match(&sides[0], &sides[1], &blocks);
	path = text_rstrip(path);
	buf_puts(&made, "--- ");
	buf_add(&made, path.at, path.len);
	buf_puts(&made, "\n+++ ");
	buf_add(&made, path.at, path.len);
	head = made.len;
	put_hunks(sides, &blocks, &made);
	free(blocks.block);
	if (made.len > head)
		buf_add(out, made.data, made.len);
}
