/* SPDX-License-Identifier: MIT */
/* worktree.h - the shared, immutable lower layers of /workspace: one base for a commit.
 *
 *	STATE/base/REPO/lock			held while a base of this repository is made
 *	STATE/base/REPO/COMMIT/			locked (shared) by who uses it, (exclusive) by who evicts it
 *	STATE/base/REPO/COMMIT/tree/		the files, owned by the repository's owner
 *	STATE/base/REPO/COMMIT/index		git's index of the whole commit, with the files' stat data
 *	STATE/base/REPO/COMMIT/ready		which trees make up the base; written last, by rename
 *	STATE/base/REPO/COMMIT/objects/		the pack of the revision's history, for "reachable"
 *	STATE/base/REPO/COMMIT/git-DIGEST/	a private git directory; see gitdir.h
 *
 * A tree may be a delta over the trees of other bases of the repository: changed files and
 * whiteouts. A base whose "ready" is missing was never finished and is made again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/inside.h"
#include "session/session.h"

#define BASE_OBJECTS_MAX 16

struct base {
	char repo_id[17];
	char commit[65];
	char *layers
		[MOUNT_LOWERS_MAX]; /* absolute, uppermost first; the git directory's is the first */
	unsigned n_layers;
	uid_t owner; /* of the files, and of the repository */
	gid_t group;
	char *objects[BASE_OBJECTS_MAX]; /* mounted read-only at /run/ohsandbox/objects/N */
	int object_fds
		[BASE_OBJECTS_MAX]; /* the same, opened as the owner: mount these, not the paths */
	unsigned n_objects;
	int lock; /* shared, against eviction: keep it until the record names the layers */
};

#define BASE_NONE ((struct base) { .lock = -1 })

/* Find the base of plan->request's repository and revision. 1: found, and nothing but a few small
 * files was read; 0: it must be made (*out holds nothing). `state` is STATE. */
must_check int worktree_find(const struct plan *p, int state, struct base *out, struct err *e);

/* Make what is missing, with ohsandbox-git. Shows its progress on a terminal after two seconds. */
must_check int worktree_make(const struct plan *p, int state, struct base *out, struct err *e);
void base_clear(struct base *b);

/* The base that a session was started on, by its record: that of its plan's repository, whatever has
 * become of the revision since. */
must_check int worktree_again(const struct plan *p, int state, const struct record *r,
			      struct base *out, struct err *e);

/* Which repository is around the directory `start` (absolute, canonical)? *top is its work tree's
 * top or the bare repository, *subdir where `start` is below it ("" for the top); the caller frees
 * both. -ENOENT where there is none. */
must_check int worktree_discover(const char *start, char **top, char **subdir, struct err *e);

/* Carry what `git status` would report (modified, added, untracked, deleted) over into the upper
 * layer, by content, owned by uid and gid. Returns how many paths. */
must_check int worktree_dirty(const struct plan *p, const struct base *b, int upper, uid_t uid,
			      gid_t gid, struct err *e);

/* Does the user's work tree hold tracked files that differ from the index? Looks for at most
 * `budget_us` and never longer: 1 when one was seen, 0 when none was or the time was over. */
must_check int worktree_differs(const struct plan *p, unsigned budget_us, struct err *e);

/* Remove bases that no session's record names, the least recently used first, until all of them
 * together take at most `cap_bytes`; none used within the last minutes, unless the cap is 0. What
 * was never finished goes too. Returns how many went. */
must_check int worktree_evict(int state, uint64_t cap_bytes, struct err *e);
