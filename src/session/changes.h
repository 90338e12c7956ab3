/* SPDX-License-Identifier: MIT */
/* changes.h - what a session changed in its workspace, read from the upper layer: O(changes).
 *
 * Counted are files: a directory that was renamed is each file beneath the old name deleted and
 * each beneath the new one added; an empty directory and a directory's mode are no change, nor is
 * a file that was touched but reads as before. The private .git is left out. All of it is foreign:
 * names may hold any byte but NUL and slash. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "session/session.h"

enum change_kind { CHANGE_ADDED = 'A', CHANGE_MODIFIED = 'M', CHANGE_DELETED = 'D' };

struct change {
	char kind;	  /* enum change_kind */
	const char *path; /* relative to the workspace; good during the call alone */
	mode_t mode; /* after the change; of a deleted file, before it. A directory's only where the
			   * tree is deeper than CHANGES_PATH_MAX and was not looked into further */
	uint64_t size; /* of a regular file, after the change; before it where it was deleted */
	/* Only with CHANGES_FILES: both versions opened for reading, -1 where there is none or it is
	 * no regular file. Close on return is the caller's of `each`: they are not its own. */
	int before, after;
	const char *link_before, *link_after; /* text of a symbolic link, else NULL */
	mode_t mode_before;		      /* 0: not there */
};

#define CHANGES_PATH_MAX 16384 /* bytes of a path that is looked at */

enum { CHANGES_FILES = 1 << 0 };

/* Call `each` for every change, sorted by path in bytes; a negative answer ends the walk and is
 * returned. */
must_check int changes_read(struct session *s, unsigned flags,
			    int (*each)(const struct change *c, void *arg), void *arg,
			    struct err *e);

struct change_counts {
	uint64_t added, changed, deleted;
};

must_check int changes_count(struct session *s, struct change_counts *out, struct err *e);
