/* SPDX-License-Identifier: MIT */
/* udiff_match.c - see udiff_match.h: the longest common block, then the same before and behind it.
 *
 * Of blocks as long the one that begins first is taken, first in `before`, then in `after`. Lines
 * that are too frequent in `after` begin no block, but may continue one. */
#include "sandbox/executor/udiff_match.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	FREQUENT_FROM = 200,  /* lines: in a shorter text nothing is too frequent */
	FREQUENT_SHARE = 100, /* more than one line in so many */
};

/* The part that is still to be matched: up to, not including, the ends. */
struct region {
	uint32_t before, before_end, after, after_end;
};

struct matcher {
	const struct udiff_lines *lines;
	uint32_t *first; /* by id, one more than there are: where its places begin in `place` */
	uint32_t *place; /* lines of `after`, by id, ascending */
	/* By line of `after`: length of the block that ends there and at the line of `before` whose
	 * row number is in `row`. */
	uint32_t *len;
	uint64_t *row, last_row;
	uint64_t steps;
	struct region *todo;
	uint32_t n_todo, room_todo;
};

/* Where each line of `after` stands, counted first; `len` counts how many are in their place. */
static void index_after(struct matcher *m)
{
	const struct udiff_lines *l = m->lines;
	uint32_t most = l->n_after / FREQUENT_SHARE + 1, at = 0;

	for (uint32_t j = 0; j < l->n_after; j++)
		m->first[l->after[j]]++;
	for (uint32_t id = 0; id < l->ids; id++) {
		uint32_t n = m->first[id];

		m->first[id] = at;
		at += l->n_after >= FREQUENT_FROM && n > most ? 0 : n;
	}
	m->first[l->ids] = at;
	for (uint32_t j = 0; j < l->n_after; j++) {
		uint32_t id = l->after[j];

		if (m->first[id] < m->first[id + 1])
			m->place[m->first[id] + m->len[id]++] = j;
	}
}

/* The items with room for one more behind `n`, or NULL. */
static void *with_room(void *items, uint32_t *room, uint32_t n, size_t size)
{
	uint32_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return items;
	grown = reallocarray(items, more, size);
	if (grown)
		*room = more;
	return grown;
}

static int push(struct matcher *m, struct region r)
{
	struct region *todo;

	if (r.before == r.before_end || r.after == r.after_end)
		return 0;
	todo = with_room(m->todo, &m->room_todo, m->n_todo, sizeof(*todo));
	if (!todo)
		return -ENOMEM;
	m->todo = todo;
	m->todo[m->n_todo++] = r;
	return 0;
}

static int add_block(struct udiff_blocks *out, struct udiff_block b)
{
	struct udiff_block *block = with_room(out->block, &out->room, out->n, sizeof(*block));

	if (!block)
		return -ENOMEM;
	out->block = block;
	out->block[out->n++] = b;
	return 0;
}

/* Number of places of this line that stand before `end`. */
static uint32_t places_before(const struct matcher *m, uint32_t id, uint32_t end)
{
	uint32_t low = m->first[id], high = m->first[id + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->place[middle] < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low - m->first[id];
}

/* One line of `before` against all its places in `after`. From behind, because a place needs what
 * the line before it has in the row before. */
static void match_row(struct matcher *m, const struct region *r, uint32_t i,
		      struct udiff_block *best)
{
	uint32_t id = m->lines->before[i], top = best->n;
	uint32_t from = places_before(m, id, r->after), n = places_before(m, id, r->after_end);
	const uint32_t *place = m->place + m->first[id];

	m->last_row++;
	m->steps -= m->steps > n - from ? n - from + 1 : m->steps;
	while (n > from) {
		uint32_t j = place[--n], len = 1;

		if (j > r->after && m->row[j - 1] == m->last_row - 1)
			len += m->len[j - 1];
		m->len[j] = len;
		m->row[j] = m->last_row;
		/* Longer than what other rows have; within this one the first is kept. */
		if (len > top && len >= best->n)
			*best = (struct udiff_block) { i + 1 - len, j + 1 - len, len };
	}
}

/* Frequent lines around it belong to it too. */
static void extend(const struct udiff_lines *l, const struct region *r, struct udiff_block *b)
{
	while (b->before > r->before && b->after > r->after &&
	       l->before[b->before - 1] == l->after[b->after - 1]) {
		b->before--;
		b->after--;
		b->n++;
	}
	while (b->before + b->n < r->before_end && b->after + b->n < r->after_end &&
	       l->before[b->before + b->n] == l->after[b->after + b->n])
		b->n++;
}

/* Without a step left: what both end with. */
static struct udiff_block common_end(const struct udiff_lines *l, const struct region *r)
{
	struct udiff_block b = { r->before_end, r->after_end, 0 };

	extend(l, r, &b);
	return b;
}

static struct udiff_block longest(struct matcher *m, const struct region *r)
{
	struct udiff_block best = { r->before, r->after, 0 };

	m->last_row++; /* no row of another region counts */
	for (uint32_t i = r->before; i < r->before_end && m->steps; i++)
		match_row(m, r, i, &best);
	extend(m->lines, r, &best);
	return best.n || m->steps ? best : common_end(m->lines, r);
}

static int match_all(struct matcher *m, struct udiff_blocks *out)
{
	while (m->n_todo) {
		struct region r = m->todo[--m->n_todo];
		struct udiff_block b = longest(m, &r);

		if (!b.n)
			continue;
		if (add_block(out, b) < 0 ||
		    push(m, (struct region) { r.before, b.before, r.after, b.after }) < 0 ||
		    push(m, (struct region) { b.before + b.n, r.before_end, b.after + b.n,
					      r.after_end }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct udiff_block *x = a, *y = b;

	return x->before < y->before ? -1 : x->before > y->before;
}

static void join(struct udiff_blocks *blocks)
{
	uint32_t kept = 0;

	if (!blocks->n)
		return;
	qsort(blocks->block, blocks->n, sizeof(*blocks->block), by_place);
	for (uint32_t i = 1; i < blocks->n; i++) {
		struct udiff_block *last = &blocks->block[kept], b = blocks->block[i];

		if (last->before + last->n == b.before && last->after + last->n == b.after)
			last->n += b.n;
		else
			blocks->block[++kept] = b;
	}
	blocks->n = kept + 1;
}

int udiff_match(const struct udiff_lines *lines, uint64_t steps, struct udiff_blocks *out)
{
	size_t n = lines->n_after > lines->ids ? lines->n_after : lines->ids;
	autofree uint32_t *first = calloc((size_t)lines->ids + 1, sizeof(*first));
	autofree uint32_t *place = calloc(n + 1, sizeof(*place)),
			  *len = calloc(n + 1, sizeof(*len));
	autofree uint64_t *row = calloc(n + 1, sizeof(*row));
	struct matcher m = { .lines = lines,
			     .first = first,
			     .place = place,
			     .len = len,
			     .row = row,
			     .steps = steps };
	int ret;

	*out = (struct udiff_blocks) { .n = 0 };
	if (!first || !place || !len || !row)
		return -ENOMEM;
	index_after(&m);
	ret = push(&m, (struct region) { 0, lines->n_before, 0, lines->n_after });
	if (ret == 0)
		ret = match_all(&m, out);
	free(m.todo);
	if (ret < 0) {
		free(out->block);
		*out = (struct udiff_blocks) { .n = 0 };
		return ret;
	}
	join(out);
	return 0;
}
