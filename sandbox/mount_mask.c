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

int mount_mask(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int target = mount_target(t, s->target, e), mount = -1;
	struct stat st;

	if (target == -ENOENT)
		return 0; /* not on this kernel */
	if (target < 0)
		return target;
	if (fstat(target, &st) < 0)
		return err_errno(e, "look at it");
	if (t->empty < 0)
		t->empty = empties_make(t, e);
	if (t->empty < 0)
		return t->empty;
	mount = open_tree(t->empty, S_ISDIR(st.st_mode) ? "dir" : "file",
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mount < 0)
		return err_errno(e, "clone something empty");
	if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
	    0)
		return err_errno(e, "cover it");
	return 0;
}

int mount_readonly(struct tree *t, const struct mount_step *s, struct err *e)
{
	struct mount_attr attr = { .attr_set = mount_attrs(s) | MOUNT_ATTR_RDONLY };
	autoclose int target = mount_target(t, s->target, e), mount = -1;

	if (target == -ENOENT)
		return 0;
	if (target < 0)
		return target;
	if (mount_setattr(target, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		return 0;
	if (errno != EINVAL)
		return err_errno(e, "make it read-only");
	/* No mount of its own: it gets one. */
	mount = open_tree(target, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (mount < 0)
		return err_errno(e, "clone it");
	if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(e, "make the clone read-only");
	if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
	    0)
		return err_errno(e, "cover it with the read-only clone");
	return 0;
}
