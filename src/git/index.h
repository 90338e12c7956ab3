/* SPDX-License-Identifier: MIT */
/* index.h - git's index, written so that git inside need not look at any file again.
 *
 * Versions 2 and 3, with the cached trees ("TREE") that make `git status` and `git commit` fast.
 * Entries come in the order of a walk through the trees, which is the index's own. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "git/objects.h"

struct index_entry {
	const char *path; /* relative to the top */
	unsigned mode;
	struct object_id id;
	uint32_t mtime, size; /* as they are on disk */
	bool skip;	      /* not in the work tree, and that is right */
};

struct index_out {
	size_t id_bytes;
	uint32_t count;
	bool extended; /* some entry needs version 3 */
	struct buf entries;
	struct buf trees; /* of the top alone, once the walk is over */
};

void index_out_init(struct index_out *x, size_t id_bytes);
void index_out_clear(struct index_out *x);
void index_add(struct index_out *x, const struct index_entry *entry);

/* Write the whole file into `fd`, which is empty. */
must_check int index_write(struct index_out *x, int fd, struct err *e);

/* One cached tree behind its children's bytes: "name\0count children\nid", then the children. */
void index_tree(struct buf *out, const struct index_out *x, const char *name, uint32_t count,
		uint32_t children, const struct object_id *id, const struct buf *children_bytes);

/* An index written by us, to take unchanged entries over from. It may have been meddled with by
 * the repository's owner, to whom it belongs. */
struct index_in;

must_check int index_read(int fd, size_t id_bytes, struct index_in **out, struct err *e);
void index_in_free(struct index_in *in);

/* Copy the entry of a file. Paths must be asked for in the index's order. -ENOENT if it is not there. */
must_check int index_keep_file(struct index_in *in, const char *path, struct index_out *x,
			       struct err *e);

/* Copy all entries below a directory and append its cached tree to `trees`, named `name`. Returns
 * how many entries. */
must_check int index_keep_dir(struct index_in *in, const char *path, const char *name,
			      struct index_out *x, struct buf *trees, struct err *e);
uint32_t index_in_count(const struct index_in *in);
