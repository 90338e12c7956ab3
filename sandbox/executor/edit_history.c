/* SPDX-License-Identifier: MIT */
/* edit_history.c - see edit_history.h. */
#include "sandbox/executor/edit_history.h"

#include <stdlib.h>
#include <string.h>

/* An older version: what it has between the beginning and the end that it shares with the next
 * newer one. */
struct version {
	struct version *older;
	size_t start, end; /* bytes they share */
	size_t len;	   /* of what stands between */
	char bytes[];
};

/* The versions of one file. */
struct past {
	struct past *next;
	struct text path; /* owned */
	char *last;	  /* the newest version, whole */
	size_t last_len;
	struct version *older;
	unsigned n;
};

/* What one of them takes. Bookkeeping counts: small files must not be free. */
static size_t cost_of_version(const struct version *v)
{
	return sizeof(*v) + v->len + 32;
}

static size_t cost_of_past(const struct past *p)
{
	size_t cost = sizeof(*p) + p->path.len + p->last_len + 96;

	for (const struct version *v = p->older; v; v = v->older)
		cost += cost_of_version(v);
	return cost;
}

static void past_free(struct past *p)
{
	struct version *older;

	if (!p)
		return;
	for (struct version *v = p->older; v; v = older) {
		older = v->older;
		free(v);
	}
	free((void *)(uintptr_t)p->path.at);
	free(p->last);
	free(p);
}

static struct past **find(struct edit_history *h, struct text path)
{
	struct past **at = &h->recent;

	while (*at && !text_eq((*at)->path, path))
		at = &(*at)->next;
	return at;
}

static struct past *unlink_at(struct edit_history *h, struct past **at)
{
	struct past *p = *at;

	*at = p->next;
	h->n--;
	h->bytes -= cost_of_past(p);
	return p;
}

static void link_first(struct edit_history *h, struct past *p)
{
	p->next = h->recent;
	h->recent = p;
	h->n++;
	h->bytes += cost_of_past(p);
}

static char *copy(const char *bytes, size_t len)
{
	char *made = malloc(len + 1);

	if (made) {
		if (len)
			memcpy(made, bytes, len);
		made[len] = '\0';
	}
	return made;
}

static struct past *past_new(struct text path)
{
	struct past *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->path = (struct text) { copy(path.at, path.len), path.len };
	if (p->path.at)
		return p;
	free(p);
	return NULL;
}

/* The newest version as an older one of `next`. */
static struct version *version_of(const struct past *p, struct text next)
{
	size_t shorter = p->last_len < next.len ? p->last_len : next.len, start = 0, end = 0;
	struct version *v;

	while (start < shorter && p->last[start] == next.at[start])
		start++;
	while (end < shorter - start &&
	       p->last[p->last_len - 1 - end] == next.at[next.len - 1 - end])
		end++;
	v = malloc(sizeof(*v) + p->last_len - start - end);
	if (!v)
		return NULL;
	*v = (struct version) { .older = p->older,
				.start = start,
				.end = end,
				.len = p->last_len - start - end };
	memcpy(v->bytes, p->last + start, v->len);
	return v;
}

static void drop_oldest(struct past *p)
{
	struct version **at = &p->older;

	while ((*at)->older)
		at = &(*at)->older;
	free(*at);
	*at = NULL;
	p->n--;
}

/* One more version of a file that is in no list now. */
static bool add_version(struct past *p, struct text bytes)
{
	struct version *older = NULL;
	char *last = copy(bytes.at, bytes.len);

	if (last && p->n)
		older = version_of(p, bytes);
	if (!last || (p->n && !older)) {
		free(last);
		return false;
	}
	free(p->last);
	p->last = last;
	p->last_len = bytes.len;
	p->older = older;
	if (++p->n > HISTORY_DEPTH)
		drop_oldest(p);
	while (p->older && cost_of_past(p) > HISTORY_BYTES_MAX)
		drop_oldest(p);
	return cost_of_past(p) <= HISTORY_BYTES_MAX;
}

static void make_room(struct edit_history *h)
{
	while (h->recent && (h->bytes > HISTORY_BYTES_MAX || h->n > HISTORY_FILES_MAX)) {
		struct past **at = &h->recent;

		while ((*at)->next)
			at = &(*at)->next;
		past_free(unlink_at(h, at));
	}
}

void history_push(struct edit_history *h, struct text path, struct text bytes)
{
	struct past **at = find(h, path);
	struct past *p = *at ? unlink_at(h, at) : past_new(path);

	if (!p)
		return;
	if (bytes.len >= HISTORY_BYTES_MAX || !add_version(p, bytes)) {
		past_free(p);
		return;
	}
	link_first(h, p);
	make_room(h);
}

struct text history_last(const struct edit_history *h, struct text path)
{
	for (const struct past *p = h->recent; p; p = p->next)
		if (text_eq(p->path, path))
			return (struct text) { p->last, p->last_len };
	return (struct text) { NULL, 0 };
}

/* Make the next older version whole. */
static bool step_back(struct past *p)
{
	struct version *v = p->older;
	size_t len = v->start + v->len + v->end;
	char *whole = malloc(len + 1);

	if (!whole)
		return false;
	memcpy(whole, p->last, v->start);
	memcpy(whole + v->start, v->bytes, v->len);
	memcpy(whole + v->start + v->len, p->last + p->last_len - v->end, v->end);
	whole[len] = '\0';
	free(p->last);
	p->last = whole;
	p->last_len = len;
	p->older = v->older;
	p->n--;
	free(v);
	return true;
}

void history_pop(struct edit_history *h, struct text path)
{
	struct past **at = find(h, path), *p = *at ? unlink_at(h, at) : NULL;

	if (!p)
		return;
	if (p->older && step_back(p))
		link_first(h, p);
	else
		past_free(p);
}

void history_clear(struct edit_history *h)
{
	while (h->recent)
		past_free(unlink_at(h, &h->recent));
}
