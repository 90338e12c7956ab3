/* SPDX-License-Identifier: MIT */
/* cgroup_clean.c - see cgroup.h. The shared groups, wherever callers of ours stood: one lies below the
 * group of each login session, service or container that ever started a session of ours. */
#include <errno.h>
#include <ftw.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/str.h"
#include "session/cgroup.h"
#include "session/cgroup_tree.h"

#define DIRECTORIES_OPEN 16

static bool is_hierarchy(const char *path, dev_t device)
{
	struct statfs fs;
	struct stat st;

	return statfs(path, &fs) == 0 && stat(path, &st) == 0 && st.st_dev == device &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

/* Cut `path` to the uppermost group of its hierarchy. One that is none stays as it is. */
static void to_root(char *path)
{
	struct stat st;
	char *slash;

	if (stat(path, &st) < 0 || !is_hierarchy(path, st.st_dev))
		return;
	while ((slash = strrchr(path, '/')) && slash != path) {
		*slash = '\0';
		if (!is_hierarchy(path, st.st_dev)) {
			*slash = '/';
			return;
		}
	}
}

/* One that holds a session is busy, and stays; so does one of somebody else's. */
static int remove_shared(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (type != FTW_D || strcmp(path + at->base, CGROUP_SHARED) != 0)
		return FTW_CONTINUE;
	if (st->st_uid == geteuid())
		(void)rmdir(path);
	return FTW_SKIP_SUBTREE;
}

static int clean_hierarchy(const char *parent, struct err *e)
{
	autofree char *root = str_dup(parent, e);

	if (!root)
		return -e->code;
	to_root(root);
	if (nftw(root, remove_shared, DIRECTORIES_OPEN, FTW_PHYS | FTW_MOUNT | FTW_ACTIONRETVAL) <
		    0 &&
	    errno != ENOENT)
		return err_errno(e, "look for groups of ours in '%s'", root);
	return 0;
}

int cgroup_clean(const struct host *h, struct err *e)
{
	autofree char *freezer = NULL;

	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if (h->controller[c].parent && clean_hierarchy(h->controller[c].parent, e) < 0)
			return -e->code;
	if (host_freezer(&freezer, e) < 0)
		return -e->code;
	return freezer ? clean_hierarchy(freezer, e) : 0;
}
