/* SPDX-License-Identifier: MIT */
/* owner.h - read what belongs to a repository's owner with the owner's rights.
 *
 * As root, a path inside somebody's repository may lead anywhere its owner likes (a link, a
 * gitfile, alternates), and may change while it is read. So nothing in it is opened with the rights of root. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct owner_saved {
	bool switched;
	gid_t *groups;
	int n_groups;
};

/* Take the file-system ids of `uid` and no group at all: nothing is looked up, so it costs about
 * a microsecond. Does nothing unless the caller is root and `uid` is not. */
must_check int owner_enter(uid_t uid, struct owner_saved *saved, struct err *e);

/* Take back what owner_enter() put away. Ends the process when the kernel does not give it back:
 * going on with ids that are not known would be worse. */
void owner_leave(struct owner_saved *saved);

/* The whole identity, for a process that acts as the owner. */
struct owner_ids {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* heap; without gid */
	size_t n_groups;
};

/* Read passwd and group. An owner without an entry gets the group "nogroup" alone: the group a
 * file happens to have proves nothing about its owner. */
must_check int owner_lookup(uid_t uid, struct owner_ids *out, struct err *e);
void owner_ids_clear(struct owner_ids *ids);
