/* SPDX-License-Identifier: MIT */
/* reflist.h - the branches, tags and remote branches of a repository, sorted, tags peeled. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "git/objects.h"

struct ref {
	char *name;
	char id[GIT_ID_MAX + 1], peeled[GIT_ID_MAX + 1]; /* peeled: "" where it is the same */
	char *symbolic; /* the reference it points to, instead of an id */
};

struct reflist {
	struct ref *refs;
	size_t n, room;
};

/* Beyond REFLIST_MAX the rest is left out; `cut` says so. */
#define REFLIST_MAX 500000

must_check int reflist_read(const struct repo *r, const struct repo_format *format,
			    struct objects *o, struct reflist *out, bool *cut, struct err *e);
void reflist_clear(struct reflist *l);
