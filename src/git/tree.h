/* SPDX-License-Identifier: MIT */
/* tree.h - git's tree objects, entry by entry, with the names no work tree may have refused. */
#pragma once

#include <stdbool.h>

#include "git/objects.h"

enum {
	TREE_MODE_DIR = 0040000,
	TREE_MODE_FILE = 0100644,
	TREE_MODE_EXEC = 0100755,
	TREE_MODE_LINK = 0120000,
	TREE_MODE_SUBMODULE = 0160000
};

struct tree_entry {
	unsigned mode;	  /* one of TREE_MODE_* */
	const char *name; /* NUL-terminated, lies in the tree object */
	size_t len;
	struct object_id id;
};

struct tree {
	struct object object;
	struct tree_entry *entries; /* in git's order */
	size_t n;
	bool attributes; /* holds a .gitattributes */
};

/* Read and check a whole tree. -EINVAL names the entry that cannot be. */
must_check int tree_read(struct objects *o, const struct object_id *id, struct tree *out,
			 struct err *e);
void tree_clear(struct tree *t);
#define autotree __attribute__((cleanup(tree_clear)))

/* Sort a tree's entries by name alone, and find one. */
void tree_sort(struct tree *t);
const struct tree_entry *tree_find(const struct tree *sorted, const char *name);

/* Would git refuse this name in a work tree? ".", "..", ".git" in any spelling that some file
 * system takes for it, and what holds a slash. */
bool tree_name_ok(const char *name, size_t len);
