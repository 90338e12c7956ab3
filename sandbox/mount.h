/* SPDX-License-Identifier: MIT */
/* mount.h - the session's tree of mounts, put together out of sight and entered by pivot_root.
 *
 * All happens in the child's private mount namespace. The new root is attached over "/", where it
 * shadows nothing, since the process keeps the old one; layers are staged over /proc, which is used
 * by its descriptor alone. So when the new root has been pivoted to, one umount of the old one takes
 * away all the rest.
 *
 * In mounts_make the working directory is /proc/self/fd: a layer's path is then its descriptor's
 * number, short enough for sixty of them in the 255 bytes that fsconfig(2) takes, and telling
 * nothing of the host in /proc/mounts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/inside.h"

struct tree {
	const struct inside *in;
	int proc;      /* of the host */
	int host_root; /* while mounts_make runs */
	int root;      /* the session's "/"; -1 until it is there */
	int scratch;   /* a tmpfs for upper layers that nobody will read; -1 until needed */
	int empty;     /* an empty file and an empty directory to mask with; -1 until needed */
	int covers[2]; /* a detached mount of each, for the next mask; -1 until needed */
	/* The directory that the step before stood in: many follow each other in one. -1: none. */
	int dir;
	const char
		*dir_path; /* below "/"; the plan's text, of which it is the first dir_len bytes */
	size_t dir_len;
};

/* A value without a descriptor. */
#define TREE_NONE                                                                    \
	{                                                                            \
		.proc = -1, .host_root = -1, .root = -1, .scratch = -1, .empty = -1, \
		.covers = { -1, -1 }, .dir = -1                                      \
	}

/* Walk in->mounts. Needs CAP_SYS_ADMIN over the mount namespace. On failure what was made goes with
 * the child's namespace. */
must_check int mounts_make(struct tree *t, struct err *e);

/* Make the tree the root, and drop every mount that is not below it. */
must_check int mounts_enter(struct tree *t, struct err *e);

/* The rest is between the files of this module. */

/* One maker a kind. */
must_check int mount_overlay(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_bind(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_tmpfs(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_proc(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_devpts(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_mqueue(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_mask(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_readonly(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_symlink(struct tree *t, const struct mount_step *s, struct err *e);
must_check int mount_dir(struct tree *t, const struct mount_step *s, struct err *e);

/* A path below "/" as one below a descriptor of it: "." for "/" itself. */
const char *mount_below_root(const char *path);

/* MOUNT_ATTR_ bits of a step: nosuid always. */
uint64_t mount_attrs(const struct mount_step *s);

/* Attach a detached mount out of sight, so that it belongs to our namespace: 6.1 takes nothing else
 * as a layer or as something to clone. */
must_check int mount_stage(const struct tree *t, int mount, struct err *e);

/* Attach it at the step's target, making a missing directory (or file) for it. */
must_check int mount_attach(struct tree *t, int mount, const struct mount_step *s, bool is_dir,
			    struct err *e);

/* Attach it at `name` of a directory, where nothing is followed. 0 or -1 with errno: what is missing
 * there the caller knows what to do about. `target` is the whole of its path. */
int mount_move(struct tree *t, int mount, int dir, const char *name, const char *target);

/* A tmpfs of the session's out of sight. */
must_check int mount_scratch(const struct tree *t, struct err *e);

/* The directory a target stands in, reached through no link; *name is the target's last part. O_PATH, the
 * tree's own, good until the next step. -ENOENT, and no text, where it is missing, unless `make`. */
must_check int mount_parent(struct tree *t, const char *target, bool make, const char **name,
			    struct err *e);

/* Give something made for the session to its root. */
must_check int mount_chown(const struct tree *t, int dir, const char *name, struct err *e);

/* A file system being configured: fsopen, fsconfig, fsmount, with the kernel's own words in errors. */
must_check int fsctx_open(const char *type, struct err *e);
must_check int fsctx_set(int fs, const char *key, const char *value,
			 struct err *e); /* NULL: a flag */
must_check int fsctx_set_number(int fs, const char *key, uint64_t value, const char *fmt,
				struct err *e);
must_check int fsctx_mount(int fs, uint64_t attrs, struct err *e);
