/* SPDX-License-Identifier: MIT */
/* discover.c - which repository is around a directory? See worktree.h.
 *
 * Only names are looked for here; whose the repository is and whether it may be used is decided
 * where it is opened. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "session/worktree.h"

/* Has it a ".git", or the parts of a bare repository? */
static bool is_top(const char *path)
{
	autoclose int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return false;
	if (fstatat(dir, ".git", &st, 0) == 0)
		return S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	return fstatat(dir, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	       fstatat(dir, "objects", &st, 0) == 0 && S_ISDIR(st.st_mode) &&
	       fstatat(dir, "refs", &st, 0) == 0 && S_ISDIR(st.st_mode);
}

int worktree_discover(const char *start, char **top, char **subdir, struct err *e)
{
	autofree char *path = str_dup(start, e), *rest = NULL;
	char *slash;
	size_t n;

	if (!path)
		return -e->code;
	while (!is_top(path)) {
		slash = strrchr(path, '/');
		if (!slash || str_eq(path, "/"))
			return err_code(
				e, ENOENT,
				"'%s' is in no git repository: name one with --repo, or a plain directory "
				"with --dir",
				start);
		slash[slash == path] = '\0';
	}
	n = strlen(path);
	rest = str_dup(start + n + (n > 1 && start[n] == '/'), e);
	if (!rest)
		return -e->code;
	*top = take_ptr(&path);
	*subdir = take_ptr(&rest);
	return 0;
}
