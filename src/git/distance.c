/* SPDX-License-Identifier: MIT */
/* distance.c - how far two trees are apart, to choose the base to lie over; see checkout.h. */
#include <string.h>

#include "git/checkout.h"
#include "git/tree.h"

#define DEPTH_MAX 256

struct walk {
	struct objects *objects;
	uint32_t found, max;
};

static bool same(const struct tree_entry *a, const struct tree_entry *b)
{
	return a && b && a->mode == b->mode && memcmp(&a->id, &b->id, sizeof(a->id)) == 0;
}

static int compare(struct walk *w, const struct object_id *a, const struct object_id *b,
		   unsigned depth, struct err *e);

/* Entries of `one` that are not the same in `other`; directories of both are looked into. */
static int compare_sides(struct walk *w, const struct tree *one, const struct tree *other,
			 unsigned depth, struct err *e)
{
	for (size_t i = 0; i < one->n && w->found < w->max; i++) {
		const struct tree_entry *a = &one->entries[i], *b = tree_find(other, a->name);

		if (same(a, b))
			continue;
		if (b && a->mode == TREE_MODE_DIR && b->mode == TREE_MODE_DIR && depth) {
			if (compare(w, &a->id, &b->id, depth - 1, e) < 0)
				return -e->code;
			continue;
		}
		/* What is in a directory that only one side has is not counted: it is cheap to write
		 * as a whole where it is new, and one mark where it is gone. */
		w->found++;
	}
	return 0;
}

static int compare(struct walk *w, const struct object_id *a, const struct object_id *b,
		   unsigned depth, struct err *e)
{
	autotree struct tree left = { 0 }, right = { 0 };

	if (tree_read(w->objects, a, &left, e) < 0 || tree_read(w->objects, b, &right, e) < 0)
		return -e->code;
	tree_sort(&left);
	tree_sort(&right);
	if (compare_sides(w, &left, &right, depth, e) < 0)
		return -e->code;
	for (size_t i = 0; i < right.n && w->found < w->max; i++)
		w->found += !tree_find(&left, right.entries[i].name);
	return 0;
}

int checkout_distance(struct objects *o, const struct object_id *a, const struct object_id *b,
		      uint32_t max, uint32_t *out, struct err *e)
{
	struct walk w = { .objects = o, .max = max };

	if (memcmp(a, b, sizeof(*a)) != 0 && compare(&w, a, b, DEPTH_MAX, e) < 0)
		return -e->code;
	*out = w.found;
	return 0;
}
