/* SPDX-License-Identifier: MIT */
/* head.c - see head.h. Which commit a revision is. */
#include "session/head.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "session/owner.h"

/* HEAD itself: a branch with or without a commit, or a commit. */
static int read_head(const struct repo *r, struct head *out)
{
	char text[GIT_REF_MAX + 16];
	int n = git_read_small(r->git, "HEAD", text, sizeof(text));

	if (n < 0)
		return 0;
	if (git_id_ok(text)) {
		memcpy(out->commit, text, (size_t)n + 1);
		return 1;
	}
	/* Other storages of references leave "refs/heads/.invalid" here for the likes of us. */
	if (!str_starts(text, "ref: refs/heads/") || !git_ref_ok(text + 5))
		return 0;
	memcpy(out->ref, text + 5, (size_t)n - 4);
	n = git_ref_find(r->git, r->common, out->ref, out->commit);
	if (n < 0)
		return 0;
	if (n == 0)
		memcpy(out->commit, GIT_UNBORN, sizeof(GIT_UNBORN));
	return 1;
}

/* Would git take `name` for something else before it looks at branches? */
static bool is_shadowed(const struct repo *r, const char *name)
{
	static const char *const before[] = { "", "refs/", "refs/tags/" };
	char ref[GIT_REF_MAX], id[GIT_ID_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		if ((size_t)snprintf(ref, sizeof(ref), "%s%s", before[i], name) >= sizeof(ref))
			return true;
		if (git_ref_find(r->git, r->common, ref, id) != 0)
			return true;
	}
	return false;
}

static int read_name(const struct repo *r, const char *rev, struct head *out)
{
	char ref[GIT_REF_MAX];

	if (!git_ref_ok(rev))
		return 0;
	if (str_starts(rev, "refs/heads/") || str_starts(rev, "refs/remotes/"))
		return git_ref_find(r->git, r->common, rev, out->commit) > 0;
	/* Names in capitals are HEAD's brothers: MERGE_HEAD, FETCH_HEAD. */
	if (strspn(rev, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(rev) || is_shadowed(r, rev))
		return 0;
	if ((size_t)snprintf(ref, sizeof(ref), "refs/heads/%s", rev) >= sizeof(ref))
		return 0;
	return git_ref_find(r->git, r->common, ref, out->commit) > 0;
}

int head_read(const struct repo *r, const char *rev, struct head *out, struct err *e)
{
	struct head found = { 0 };
	struct owner_saved saved;
	int n;

	if (rev && git_id_ok(rev)) {
		memcpy(found.commit, rev, strlen(rev) + 1);
		*out = found;
		return 1;
	}
	if (owner_enter(r->owner, &saved, e) < 0)
		return -e->code;
	if (!rev || str_eq(rev, "HEAD") || str_eq(rev, "@"))
		n = read_head(r, &found);
	else
		n = read_name(r, rev, &found);
	owner_leave(&saved);
	if (n > 0)
		*out = found;
	return n;
}
