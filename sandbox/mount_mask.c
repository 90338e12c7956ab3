/* SPDX-License-Identifier: MIT */
/* mount_mask.c - take away: names that are covered, trees that cannot be written; see mount.h. */
#include "sandbox/mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MASK_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Two names of a file system of our own, not /dev/null: there is no node here that anybody could
 * have replaced beforehand. */
static int empties_make(const struct tree *t, struct err *e)
{
	struct mount_attr attr = { .attr_set = MASK_ATTRS };
	autoclose int fs = fsctx_open("tmpfs", e);
	autoclose int mount = -1;

	if (fs < 0 || fsctx_set(fs, "mode", "0555", e) < 0 ||
	    fsctx_set(fs, "nr_inodes", "4", e) < 0)
		return -e->code;
	mount = fsctx_mount(fs, MOUNT_ATTR_NOSUID, e);
	if (mount < 0 || mount_stage(t, mount, e) < 0)
		return -e->code;
	if (mkdirat(mount, "dir", 0555) < 0 || mknodat(mount, "file", S_IFREG | 0444, 0) < 0)
		return err_errno(e, "make something empty");
	if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(e, "make it read-only");
	return take_fd(&mount);
}

/* A detached mount of one of them: each can be attached once. */
static int cover_ready(struct tree *t, unsigned kind, struct err *e)
{
	static const char *const names[] = { "file", "dir" };

	if (t->empty < 0)
		t->empty = empties_make(t, e);
	if (t->empty < 0)
		return t->empty;
	if (t->covers[kind] < 0)
		t->covers[kind] =
			open_tree(t->empty, names[kind], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return t->covers[kind] < 0 ? err_errno(e, "clone something empty") : 0;
}

int mount_mask(struct tree *t, const struct mount_step *s, struct err *e)
{
	const char *name;
	int parent = mount_parent(t, s->target, false, &name, e);

	if (parent < 0)
		return parent == -ENOENT ? 0 : parent;
	/* The kernel refuses one that is not of the target's kind. */
	for (unsigned kind = 0; kind < ARRAY_LEN(t->covers); kind++) {
		if (cover_ready(t, kind, e) < 0)
			return -e->code;
		if (mount_move(t, t->covers[kind], parent, name, s->target) == 0) {
			drop_fd(&t->covers[kind]);
			return 0;
		}
		if (errno == ENOENT)
			return 0; /* not on this kernel */
	}
	return err_errno(e, "cover it");
}

int mount_readonly(struct tree *t, const struct mount_step *s, struct err *e)
{
	struct mount_attr attr = { .attr_set = mount_attrs(s) | MOUNT_ATTR_RDONLY };
	const char *name;
	int parent = mount_parent(t, s->target, false, &name, e);
	autoclose int mount = -1;

	if (parent < 0)
		return parent == -ENOENT ? 0 : parent;
	if (mount_setattr(parent, name, AT_SYMLINK_NOFOLLOW, &attr, sizeof(attr)) == 0 ||
	    errno == ENOENT)
		return 0;
	if (errno != EINVAL)
		return err_errno(e, "make it read-only");
	/* No mount of its own: it gets one. */
	mount = open_tree(parent, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (mount < 0)
		return err_errno(e, "clone it");
	if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(e, "make the clone read-only");
	if (mount_move(t, mount, parent, name, s->target) < 0)
		return err_errno(e, "cover it with the read-only clone");
	return 0;
}
