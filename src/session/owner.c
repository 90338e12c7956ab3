/* SPDX-License-Identifier: MIT */
/* owner.c - see owner.h. */
#include "session/owner.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

#define NOGROUP 65534

static bool keep_groups(struct owner_saved *saved)
{
	saved->n_groups = getgroups(0, NULL);
	if (saved->n_groups <= 0)
		return saved->n_groups == 0;
	saved->groups = calloc((size_t)saved->n_groups, sizeof(gid_t));
	return saved->groups && getgroups(saved->n_groups, saved->groups) == saved->n_groups;
}

int owner_enter(uid_t uid, struct owner_saved *saved, struct err *e)
{
	*saved = (struct owner_saved) { 0 };
	if (uid == 0 || geteuid() != 0)
		return 0;
	if (!keep_groups(saved)) {
		(void)err_errno(e, "read the list of groups");
		free(saved->groups);
		return -e->code;
	}
	if (setgroups(0, NULL) < 0) {
		(void)err_errno(e, "put the groups away");
		free(saved->groups);
		return -e->code;
	}
	saved->switched = true;
	/* The uid last: with it the kernel takes the capabilities over files away. These two calls
	 * report no error; asking with an impossible id tells what is in effect. */
	(void)setfsgid(NOGROUP);
	(void)setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == NOGROUP)
		return 0;
	owner_leave(saved);
	return err_code(e, EPERM, "cannot act as uid %u: it does not exist in this user namespace",
			uid);
}

void owner_leave(struct owner_saved *saved)
{
	if (!saved->switched)
		return;
	saved->switched = false;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	if ((uid_t)setfsuid((uid_t)-1) != geteuid() || (gid_t)setfsgid((gid_t)-1) != getegid() ||
	    setgroups((size_t)saved->n_groups, saved->groups) < 0) {
		log_error("the kernel does not give the caller's ids back");
		_exit(125);
	}
	free(saved->groups);
	saved->groups = NULL;
}

/* The name and the first group of `uid`. 0 where there is no such entry. */
static int find_user(uid_t uid, char **name, gid_t *gid, struct err *e)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;
	int found = 0;

	if (!f)
		return errno == ENOENT ? 0 : err_errno(e, "open '/etc/passwd'");
	/* fgetpwent and not getpwuid: no module of the name service may be loaded by us. */
	while (!found && (pw = fgetpwent(f))) {
		if (pw->pw_uid != uid)
			continue;
		*gid = pw->pw_gid;
		*name = str_dup(pw->pw_name, e);
		found = *name ? 1 : -ENOMEM;
	}
	(void)fclose(f);
	return found;
}

static bool is_member(const struct group *gr, const char *name)
{
	for (char **m = gr->gr_mem; *m; m++)
		if (str_eq(*m, name))
			return true;
	return false;
}

static int find_groups(const char *name, struct owner_ids *out, struct err *e)
{
	FILE *f = fopen("/etc/group", "re");
	const struct group *gr;
	int r = 0;

	if (!f)
		return errno == ENOENT ? 0 : err_errno(e, "open '/etc/group'");
	while (r == 0 && (gr = fgetgrent(f))) {
		gid_t *grown;

		if (gr->gr_gid == out->gid || !is_member(gr, name))
			continue;
		grown = reallocarray(out->groups, out->n_groups + 1, sizeof(*grown));
		if (!grown) {
			r = err_code(e, ENOMEM, "out of memory");
			continue;
		}
		out->groups = grown;
		out->groups[out->n_groups++] = gr->gr_gid;
	}
	(void)fclose(f);
	return r;
}

int owner_lookup(uid_t uid, struct owner_ids *out, struct err *e)
{
	struct owner_ids ids = { .uid = uid, .gid = NOGROUP };
	autofree char *name = NULL;
	int r = find_user(uid, &name, &ids.gid, e);

	if (r > 0)
		r = find_groups(name, &ids, e);
	if (r < 0) {
		owner_ids_clear(&ids);
		return r;
	}
	*out = ids;
	return 0;
}

void owner_ids_clear(struct owner_ids *ids)
{
	free(ids->groups);
	*ids = (struct owner_ids) { 0 };
}
