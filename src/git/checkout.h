/* SPDX-License-Identifier: MIT */
/* checkout.h - a commit's files into an empty directory: all of them, or what differs from
 * another commit as an overlay's layer (changed files, and whiteouts for what is gone).
 *
 * Everything is made relative to descriptors of directories that were just made, and nothing is
 * ever followed or replaced, so no tree can make anything appear outside. */
#pragma once

#include "git/answer.h"
#include "git/index.h"
#include "git/objects.h"

struct checkout {
	struct objects *objects;
	struct answer *answer;
	struct object_id commit;
	struct commit head;
	bool promisor;		/* objects may be missing, their files are left out */
	struct index_in *below; /* of the base this one lies over; NULL for a whole checkout */
	struct object_id below_tree;
	struct index_out index;
	uint32_t mtime; /* of every file */
	uint64_t entries, bytes, expected;
	uint64_t submodules, missing;
	char first_submodule[256];
	char path[4096]; /* of the entry at hand */
	size_t path_len;
};

/* Fill the directory `out`. The index is in c->index afterwards. */
must_check int checkout_fill(struct checkout *c, int out, struct err *e);

/* How many entries differ between two trees; stops counting at `max`. */
must_check int checkout_distance(struct objects *o, const struct object_id *a,
				 const struct object_id *b, uint32_t max, uint32_t *out,
				 struct err *e);
