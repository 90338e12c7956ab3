/* SPDX-License-Identifier: MIT */
/* register.c - see register.h. Written by hand: `git worktree add` and its like in libgit2 make a
 * branch, run hooks or check files out. */
#include "git/register.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"

#define PREFIX "ohsandbox-"
#define REASON "in use by ohsandbox, which takes it away by itself\n"

static const char *const parts[] = { "locked", "commondir", "HEAD", "gitdir" };

static bool is_read_only(int code)
{
	return code == EACCES || code == EPERM || code == EROFS;
}

static int write_part(int dir, const char *name, const char *text, struct err *e)
{
	autoclose int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_errno(e, "create '%s'", name);
	return io_write_all(fd, text, strlen(text), e);
}

/* The lock comes first: a prune at any moment finds it. */
static int write_parts(int dir, const char *tree_path, const char *commit, struct err *e)
{
	autofree char *head = str_fmt(e, "%s\n", commit);
	autofree char *gitdir = str_fmt(e, "%s/.git\n", tree_path);
	const char *const texts[] = { REASON, "../..\n", head, gitdir };

	if (!head || !gitdir)
		return -e->code;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (write_part(dir, parts[i], texts[i], e) < 0)
			return -e->code;
	return 0;
}

/* The registration's directory, made new. 1, or 0 where it cannot be. */
static int make_entry(const struct repo *r, const char *commit, char *name, size_t size, int *dir,
		      struct err *e)
{
	autoclose int worktrees = -1;
	char random[9];

	worktrees = fs_mkdir_open(r->common, "worktrees", 0755, e);
	if (worktrees < 0)
		return is_read_only(e->code) ? 0 : worktrees;
	if (fs_random_hex(random, 4, e) < 0)
		return -e->code;
	(void)snprintf(name, size, PREFIX "%.12s-%s", commit, random);
	if (mkdirat(worktrees, name, 0755) < 0)
		return is_read_only(errno) ? 0 : err_errno(e, "create '%s'", name);
	*dir = openat(worktrees, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *dir < 0 ? err_errno(e, "open '%s'", name) : 1;
}

int register_add(const struct repo *r, int tree, const char *tree_path, const char *commit,
		 struct err *e)
{
	autofree char *link = NULL;
	autoclose int dir = -1;
	char name[64];
	int n;

	/* One that a start which died has left. */
	if (register_remove(r, tree_path, e) < 0 && !is_read_only(e->code))
		return -e->code;
	n = make_entry(r, commit, name, sizeof(name), &dir, e);
	if (n <= 0)
		return n < 0 ? err_wrap(e, "register the base in '%s/worktrees'", r->common_path)
			     : 0;
	if (write_parts(dir, tree_path, commit, e) < 0)
		return err_wrap(e, "register the base in '%s/worktrees/%s'", r->common_path, name);
	link = str_fmt(e, "gitdir: %s/worktrees/%s\n", r->common_path, name);
	if (!link || write_part(tree, ".git", link, e) < 0)
		return -e->code;
	return 1;
}

static bool points_to(int worktrees, const char *name, const char *tree_path)
{
	char path[320], text[4300];
	int n;

	if ((size_t)snprintf(path, sizeof(path), "%s/gitdir", name) >= sizeof(path))
		return false;
	n = git_read_small(worktrees, path, text, sizeof(text));
	if (n < 5 || strcmp(text + n - 5, "/.git") != 0)
		return false;
	text[n - 5] = '\0';
	return str_eq(text, tree_path);
}

/* The files we wrote and nothing else: should there be more, the directory stays. */
static int remove_entry(int worktrees, const char *name, struct err *e)
{
	autoclose int dir =
		openat(worktrees, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return err_errno(e, "open '%s'", name);
	for (size_t i = ARRAY_LEN(parts); i-- > 0;)
		if (unlinkat(dir, parts[i], 0) < 0 && errno != ENOENT)
			return err_errno(e, "remove '%s/%s'", name, parts[i]);
	return unlinkat(worktrees, name, AT_REMOVEDIR) < 0 ? err_errno(e, "remove '%s'", name) : 0;
}

int register_remove(const struct repo *r, const char *tree_path, struct err *e)
{
	int fd = openat(r->common, "worktrees", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct err first = { 0 };
	struct dirent *d;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open '%s/worktrees'", r->common_path);
	if (!list) {
		(void)close(fd);
		return err_errno(e, "read '%s/worktrees'", r->common_path);
	}
	while ((d = readdir(list)))
		if (str_starts(d->d_name, PREFIX) && points_to(fd, d->d_name, tree_path) &&
		    remove_entry(fd, d->d_name, e) < 0)
			err_keep(&first, e);
	/* git leaves no empty directory there either. With other work trees in it this fails. */
	(void)unlinkat(r->common, "worktrees", AT_REMOVEDIR);
	if (!first.code)
		return 0;
	*e = first;
	return err_wrap(e, "repository '%s'", r->path);
}
