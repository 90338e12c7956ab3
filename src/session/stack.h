/* SPDX-License-Identifier: MIT */
/* stack.h - what an overlay of layers shows, read without mounting it.
 *
 * It follows the kernel's rules of a lookup: whiteouts, opaque directories, renamed (redirected)
 * directories, a file over a directory. The upper layer was written by a session: all of it is
 * foreign, and every path is walked beneath its layer and through no link. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sandbox/inside.h"

#define STACK_LAYERS_MAX (MOUNT_LOWERS_MAX + 1)

struct stack {
	int root[STACK_LAYERS_MAX]; /* fds, uppermost first */
	unsigned n;
	bool user_xattrs; /* the overlay's marks are user.overlay.*, not trusted.overlay.* */
};

/* A place in one layer. `path` is relative to its root, "" for the root itself. */
struct spot {
	unsigned layer;
	char *path;
};

/* The directories that are merged into one, uppermost first. */
struct view {
	struct spot *spot;
	unsigned n;
};

/* Descriptors of a view's directories, in its order. */
struct view_fds {
	int fd[STACK_LAYERS_MAX];
	unsigned n;
};

/* What a name stands for: nothing (mode 0), something that is no directory, or a directory. */
struct found {
	mode_t mode;
	struct stat st;	  /* of what is no directory */
	struct spot at;	  /* where that is */
	struct view view; /* of a directory */
};

/* The view of everything, beginning with layer `first`. */
must_check int stack_top(const struct stack *s, unsigned first, struct view *out, struct err *e);

/* Open what is at a spot, of any length of path. -ELOOP where a link stands in it. */
must_check int stack_open(const struct stack *s, const struct spot *at, int flags, struct err *e);

must_check int view_open(const struct stack *s, const struct view *v, struct view_fds *out,
			 struct err *e);
void view_close(struct view_fds *fds);
void view_clear(struct view *v);
bool view_equal(const struct view *a, const struct view *b);

/* Is `a` one directory over all of `b`? */
bool view_is_over(const struct view *a, const struct view *b);

/* Look a name up in a directory. */
must_check int stack_lookup(const struct stack *s, const struct view *dir,
			    const struct view_fds *fds, const char *name, struct found *out,
			    struct err *e);
void found_clear(struct found *f);
