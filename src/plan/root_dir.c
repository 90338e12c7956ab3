/* SPDX-License-Identifier: MIT */
/* root_dir.c - see root_dir.h. */
#include "plan/root_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

#define SHELL_OF_ALL "/bin/sh"

static int open_dir(const char *path, struct stat *st, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) < 0)
		return err_errno(e, "--rootfs %s", path);
	if (faccessat(fd, ".", X_OK, AT_EACCESS) < 0)
		return err_errno(e, "--rootfs %s: enter it", path);
	return take_fd(&fd);
}

/* As root a tree of root's is read as the host's own directories are: its root is the session's. One
 * of another user's is not: he may have put into it, by other names, what root keeps from him. */
static void choose_ids(struct request *r, const struct host *h, const struct stat *st, int dir)
{
	r->rootfs_mapped = h->ids == IDS_ROOT && st->st_uid == 0 && host_can_idmap(h, dir);
	r->rootfs_fixed = h->ids == IDS_ROOT ? !r->rootfs_mapped : st->st_uid != h->uid;
}

int root_dir_resolve(struct request *r, const struct host *h, const struct homes *homes,
		     struct err *e)
{
	autofree char *canonical = realpath(r->rootfs, NULL);
	autoclose int dir = -1;
	struct stat st;

	if (!canonical)
		return err_errno(e, "--rootfs %s", r->rootfs);
	if (refuse_root(canonical, h->state_dir, homes, e) < 0)
		return -e->code;
	dir = open_dir(canonical, &st, e);
	if (dir < 0)
		return dir;
	choose_ids(r, h, &st, dir);
	free(r->rootfs);
	r->rootfs = take_ptr(&canonical);
	return 0;
}

int root_dir_shell(struct request *r, const char *shell, struct err *e)
{
	autoclose int dir = open(r->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = -1;
	struct err missing = { 0 };

	if (dir < 0)
		return err_errno(e, "--rootfs %s", r->rootfs);
	fd = fs_open_in_root(dir, shell, O_PATH, 0, &missing);
	if (fd >= 0)
		return 0;
	r->rootfs_shell = str_dup(SHELL_OF_ALL, e);
	return r->rootfs_shell ? 0 : -e->code;
}
