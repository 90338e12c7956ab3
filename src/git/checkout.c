/* SPDX-License-Identifier: MIT */
/* checkout.c - see checkout.h. */
#include "git/checkout.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "git/tree.h"

#define DEPTH_MAX 256
#define ENTRIES_MAX 5000000u
#define BYTES_MAX ((uint64_t)256 << 30)
/* git takes a file for changed where its time is not before the index's, so all files are made
 * a little older than they are. */
#define OLDER_S 10

/* One directory on its way out. */
struct level {
	int dir; /* to write into */
	const struct object_id
		*below;	 /* the tree at the same place of the base below; NULL: none */
	bool attributes; /* some .gitattributes applies */
	bool anew;	 /* write everything, also what seems the same: line ends may differ */
	unsigned depth;
};

static int write_level(struct checkout *c, const struct level *l, const struct object_id *id,
		       struct buf *trees, const char *name, struct err *e);

static int push(struct checkout *c, const struct tree_entry *entry, size_t *old, struct err *e)
{
	*old = c->path_len;
	if (c->path_len + entry->len + 2 > sizeof(c->path))
		return err_code(e, ENAMETOOLONG, "'%.100s...' is too long a path", c->path);
	if (c->path_len)
		c->path[c->path_len++] = '/';
	memcpy(c->path + c->path_len, entry->name, entry->len + 1);
	c->path_len += entry->len;
	return 0;
}

static void pop(struct checkout *c, size_t old)
{
	c->path_len = old;
	c->path[old] = '\0';
}

static void add_index(struct checkout *c, const struct tree_entry *entry, uint64_t size, bool skip)
{
	const struct index_entry x = {
		.path = c->path,
		.mode = entry->mode,
		.id = entry->id,
		.mtime = entry->mode == TREE_MODE_SUBMODULE || skip ? 0 : c->mtime,
		.size = (uint32_t)size,
		.skip = skip,
	};

	index_add(&c->index, &x);
	c->entries++;
	c->bytes += (size + 4095) & ~(uint64_t)4095;
	answer_progress(c->answer, c->entries, c->expected);
}

static int write_regular(struct checkout *c, int dir, const struct tree_entry *entry,
			 const void *data, size_t size, struct err *e)
{
	const struct timespec times[2] = { { .tv_sec = c->mtime }, { .tv_sec = c->mtime } };
	autoclose int fd = openat(dir, entry->name,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  entry->mode == TREE_MODE_EXEC ? 0755 : 0644);

	if (fd < 0)
		return err_errno(e, "create '%s'", c->path);
	if (io_write_all(fd, data, size, e) < 0)
		return err_wrap(e, "'%s'", c->path);
	return futimens(fd, times) < 0 ? err_errno(e, "set the time of '%s'", c->path) : 0;
}

static int write_link(struct checkout *c, int dir, const struct tree_entry *entry,
		      const struct object *blob, struct err *e)
{
	const struct timespec times[2] = { { .tv_sec = c->mtime }, { .tv_sec = c->mtime } };

	if (strlen((const char *)blob->data) != blob->size)
		return err_code(e, EINVAL, "symbolic link '%s' has a NUL in its text", c->path);
	if (symlinkat((const char *)blob->data, dir, entry->name) < 0)
		return err_errno(e, "create symbolic link '%s'", c->path);
	if (utimensat(dir, entry->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, "set the time of '%s'", c->path);
	return 0;
}

static int write_blob(struct checkout *c, const struct level *l, const struct tree_entry *entry,
		      struct err *e)
{
	autoobject struct object blob = { 0 };
	autofree char *text = NULL;
	size_t size;
	int r = object_read(c->objects, &entry->id, &blob, e);

	if (r == -ENOENT && c->promisor) {
		c->missing++;
		add_index(c, entry, 0, true);
		return 0;
	}
	if (r < 0)
		return err_wrap(e, "'%s'", c->path);
	if (blob.kind != OBJECT_BLOB)
		return err_code(e, EINVAL, "'%s' is no file in the repository's objects", c->path);
	size = blob.size;
	if (entry->mode == TREE_MODE_LINK) {
		r = write_link(c, l->dir, entry, &blob, e);
	} else {
		if (l->attributes)
			r = objects_smudge(c->objects, &c->commit, c->path, &blob, &text, &size, e);
		if (r == 0)
			r = write_regular(c, l->dir, entry, text ? (void *)text : blob.data, size,
					  e);
	}
	if (r == 0)
		add_index(c, entry, size, false);
	return r;
}

/* mknod of this device needs no privilege: it is how overlayfs marks what is gone. */
static int write_whiteout(struct checkout *c, int dir, const char *name, struct err *e)
{
	if (mknodat(dir, name, S_IFCHR, 0) < 0)
		return err_errno(e, "mark '%s' as gone below '%s'", name, c->path);
	return 0;
}

/* Hide what the base below has in this directory and the new tree has not. */
static int write_whiteouts(struct checkout *c, int dir, const struct tree *below,
			   const struct tree *sorted, struct err *e)
{
	for (size_t i = 0; i < below->n; i++)
		if (!(sorted && tree_find(sorted, below->entries[i].name)) &&
		    write_whiteout(c, dir, below->entries[i].name, e) < 0)
			return -e->code;
	return 0;
}

/* A submodule's place is an empty directory. Over a directory it must be emptied name by name. */
static int write_submodule(struct checkout *c, const struct level *l,
			   const struct tree_entry *entry, const struct tree_entry *old,
			   struct err *e)
{
	autotree struct tree below = { 0 };
	autoclose int dir = -1;

	if (mkdirat(l->dir, entry->name, 0755) < 0)
		return err_errno(e, "create directory '%s'", c->path);
	if (!c->submodules++)
		(void)snprintf(c->first_submodule, sizeof(c->first_submodule), "%.200s", c->path);
	add_index(c, entry, 0, false);
	if (!old || old->mode != TREE_MODE_DIR)
		return 0;
	dir = openat(l->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_errno(e, "open directory '%s'", c->path);
	if (tree_read(c->objects, &old->id, &below, e) < 0)
		return err_wrap(e, "'%s'", c->path);
	return write_whiteouts(c, dir, &below, NULL, e);
}

static int write_directory(struct checkout *c, const struct level *l,
			   const struct tree_entry *entry, const struct tree_entry *old,
			   struct buf *trees, struct err *e)
{
	struct level next = *l;
	autoclose int dir = -1;

	if (l->depth == DEPTH_MAX)
		return err_code(e, ELOOP, "'%.200s...' lies more than %d directories deep", c->path,
				DEPTH_MAX);
	if (mkdirat(l->dir, entry->name, 0755) < 0)
		return err_errno(e, "create directory '%s'", c->path);
	dir = openat(l->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_errno(e, "open directory '%s'", c->path);
	next.dir = dir;
	next.depth++;
	next.below = old && old->mode == TREE_MODE_DIR ? &old->id : NULL;
	return write_level(c, &next, &entry->id, trees, entry->name, e);
}

/* Take over what the base below has at this place. */
static int keep(struct checkout *c, const struct tree_entry *entry, struct buf *trees,
		struct err *e)
{
	uint32_t before = c->index.count;
	int r;

	if (entry->mode == TREE_MODE_DIR)
		r = index_keep_dir(c->below, c->path, entry->name, &c->index, trees, e);
	else
		r = index_keep_file(c->below, c->path, &c->index, e);
	c->entries += c->index.count - before;
	return r < 0 ? r : 0;
}

static int write_entry(struct checkout *c, const struct level *l, const struct tree_entry *entry,
		       const struct tree *below, struct buf *trees, struct err *e)
{
	const struct tree_entry *old = below ? tree_find(below, entry->name) : NULL;

	if (c->entries > ENTRIES_MAX || c->bytes > BYTES_MAX)
		return err_code(e, EFBIG, "the commit has more than %u files or %llu GiB",
				ENTRIES_MAX, (unsigned long long)(BYTES_MAX >> 30));
	if (old && !l->anew && old->mode == entry->mode &&
	    memcmp(&old->id, &entry->id, sizeof(old->id)) == 0)
		return keep(c, entry, trees, e);
	if (entry->mode == TREE_MODE_DIR)
		return write_directory(c, l, entry, old, trees, e);
	if (entry->mode == TREE_MODE_SUBMODULE)
		return write_submodule(c, l, entry, old, e);
	return write_blob(c, l, entry, e);
}

/* Do the line-end rules of this very directory differ from those below? */
static bool attributes_differ(const struct tree *tree, const struct tree *below)
{
	const struct tree_entry *a = tree_find(tree, ".gitattributes"),
				*b = tree_find(below, ".gitattributes");

	return !a != !b || (a && memcmp(&a->id, &b->id, sizeof(a->id)) != 0);
}

/* The base below: sorted by name, and what is gone marked. */
static int look_below(struct checkout *c, struct level *l, const struct tree *tree,
		      struct tree *below, struct err *e)
{
	autotree struct tree sorted = { 0 };
	int r;

	if (tree_read(c->objects, l->below, below, e) < 0)
		return err_wrap(e, "'%s' of the base below", c->path);
	tree_sort(below);
	/* Another order of the same entries; it borrows their names. */
	sorted.n = tree->n;
	sorted.entries = reallocarray(NULL, tree->n + 1, sizeof(*sorted.entries));
	if (!sorted.entries)
		return err_code(e, ENOMEM, "out of memory");
	if (tree->n)
		memcpy(sorted.entries, tree->entries, tree->n * sizeof(*sorted.entries));
	tree_sort(&sorted);
	l->anew |= attributes_differ(&sorted, below);
	r = write_whiteouts(c, l->dir, below, &sorted, e);
	return r;
}

static int write_level(struct checkout *c, const struct level *at, const struct object_id *id,
		       struct buf *trees, const char *name, struct err *e)
{
	autobuf struct buf children = { .limit = (size_t)1 << 30 };
	autotree struct tree tree = { 0 }, below = { 0 };
	uint32_t before = c->index.count, n_children = 0;
	struct level l = *at;
	size_t old;

	if (tree_read(c->objects, id, &tree, e) < 0)
		return c->path_len ? err_wrap(e, "'%s'", c->path) : -e->code;
	l.attributes |= tree.attributes;
	if (l.below && look_below(c, &l, &tree, &below, e) < 0)
		return -e->code;
	for (size_t i = 0; i < tree.n; i++) {
		const struct tree_entry *entry = &tree.entries[i];

		n_children += entry->mode == TREE_MODE_DIR;
		if (push(c, entry, &old, e) < 0 ||
		    write_entry(c, &l, entry, l.below ? &below : NULL, &children, e) < 0)
			return -e->code;
		pop(c, old);
	}
	index_tree(trees, &c->index, name, c->index.count - before, n_children, id, &children);
	return children.failed ? err_code(e, ENOMEM, "out of memory") : 0;
}

int checkout_fill(struct checkout *c, int out, struct err *e)
{
	int64_t latest = (int64_t)time(NULL) - OLDER_S, mtime = c->head.time;
	const struct level top = { .dir = out, .below = c->below ? &c->below_tree : NULL };

	if (mtime > latest || mtime <= 0)
		mtime = latest;
	c->mtime = (uint32_t)mtime;
	c->path_len = 0;
	c->path[0] = '\0';
	return write_level(c, &top, &c->head.tree, &c->index.trees, "", e);
}
