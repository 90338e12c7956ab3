/* SPDX-License-Identifier: MIT */
/* dirty.c - carry uncommitted changes into the session's upper layer; see worktree.h.
 *
 * ohsandbox-git lists the paths. Each is opened below the work tree with its owner's rights and
 * through no link, and written below the upper layer with ours: no one process has both sides
 * under a foreigner's control. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "session/gitrun.h"
#include "session/head.h"
#include "session/owner.h"
#include "session/worktree.h"

#define LIST_MAX ((size_t)256 << 20)

struct carrying {
	const struct repo *repo;
	int upper;
	uid_t uid;
	gid_t gid;
	unsigned carried, skipped;
};

/* The directory to write into and the name in it. What is in the way as a mark of something gone
 * makes room. Returns an fd. */
static int open_parent(struct carrying *c, const char *path, const char **name, struct err *e)
{
	autoclose int at = openat(c->upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char part[256];
	struct stat st;
	size_t n;

	if (at < 0)
		return err_errno(e, "open the upper layer");
	for (; (n = strcspn(path, "/")) < strlen(path); path += n + 1) {
		int next;

		if (!n || n >= sizeof(part))
			return err_code(e, EINVAL, "'%.100s' is no path", path);
		memcpy(part, path, n);
		part[n] = '\0';
		if (str_eq(part, ".") || str_eq(part, ".."))
			return err_code(e, EINVAL, "'%.100s' is no path", path);
		if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
		    unlinkat(at, part, 0) < 0)
			return err_errno(e, "make room for '%s'", part);
		if (mkdirat(at, part, 0755) == 0) {
			if (fchownat(at, part, c->uid, c->gid, AT_SYMLINK_NOFOLLOW) < 0)
				return err_errno(e, "give '%s' to the session", part);
		} else if (errno != EEXIST) {
			return err_errno(e, "create '%s'", part);
		}
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return err_errno(e, "open '%s'", part);
		(void)close(at);
		at = next;
	}
	if (!*path || str_eq(path, ".") || str_eq(path, "..") || strlen(path) > 255)
		return err_code(e, EINVAL, "'%.100s' is no file's name", path);
	*name = path;
	return take_fd(&at);
}

/* With the owner's rights: the file, and what it is. Sockets and the like give -1 too. */
static int open_source(struct carrying *c, const char *path, struct stat *st, char *link,
		       size_t size, struct err *e)
{
	autoclose int fd =
		fs_open_beneath(c->repo->top, path, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS, e);
	ssize_t n;

	/* RESOLVE_NO_SYMLINKS refuses a link at the end too, unless it is opened as one. */
	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		return err_errno(e, "stat '%s'", path);
	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(fd, "", link, size - 1);
		if (n < 0)
			return err_errno(e, "read link '%s'", path);
		link[n] = '\0';
		return take_fd(&fd);
	}
	if (!S_ISREG(st->st_mode))
		return err_code(e, EINVAL, "'%s' is no file", path);
	return fs_open_beneath(c->repo->top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
			       RESOLVE_NO_SYMLINKS, e);
}

static int copy_bytes(int from, int to, struct err *e)
{
	char chunk[65536];

	for (;;) {
		ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);

		if (n > 0)
			continue;
		if (n == 0)
			break;
		if (errno == EINTR)
			continue;
		if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
			return err_errno(e, "copy");
		break;
	}
	/* Some file systems copy nothing and say so with 0: what is left is read and written. */
	for (;;) {
		ssize_t n = io_read_full(from, chunk, sizeof(chunk), e);

		if (n <= 0)
			return (int)n;
		if (io_write_all(to, chunk, (size_t)n, e) < 0)
			return -e->code;
	}
}

static int write_file(struct carrying *c, int dir, const char *name, int from, mode_t mode,
		      struct err *e)
{
	autoclose int to =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to < 0)
		return err_errno(e, "create '%s'", name);
	if (copy_bytes(from, to, e) < 0)
		return err_wrap(e, "'%s'", name);
	/* No set-id bit of the owner's means anything inside. The owner before the mode. */
	if (fchown(to, c->uid, c->gid) < 0 || fchmod(to, mode & 0777) < 0)
		return err_errno(e, "give '%s' to the session", name);
	return 0;
}

static int carry_there(struct carrying *c, const char *path, int dir, const char *name,
		       struct err *e)
{
	struct owner_saved saved;
	autoclose int from = -1;
	struct stat st = { 0 };
	char link[4096];

	if (owner_enter(c->repo->owner, &saved, e) < 0)
		return -e->code;
	from = open_source(c, path, &st, link, sizeof(link), e);
	owner_leave(&saved);
	if (from < 0) {
		/* Gone again, unreadable, or nothing a copy makes sense of (a repository in the
		 * repository, a socket): the session goes without it. */
		log_debug("not carried over: %s", e->text);
		c->skipped++;
		return 0;
	}
	if (fs_remove_tree(dir, name, e) < 0)
		return -e->code;
	if (S_ISREG(st.st_mode))
		return write_file(c, dir, name, from, st.st_mode, e);
	if (symlinkat(link, dir, name) < 0)
		return err_errno(e, "create link '%s'", name);
	if (fchownat(dir, name, c->uid, c->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, "give '%s' to the session", name);
	return 0;
}

static int carry_gone(int dir, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	/* How overlayfs marks what is gone; needs no privilege. */
	if (mknodat(dir, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(e, "mark '%s' as gone", name);
	return 0;
}

static int carry(struct carrying *c, char letter, const char *path, struct err *e)
{
	const char *name = NULL;
	autoclose int dir = -1;

	/* The private git directory is the session's own affair. */
	if (str_eq(path, ".git") || str_starts(path, ".git/"))
		return 0;
	if (letter == 'M' && str_ends(path, "/")) {
		log_debug("not carried over: '%s' is a repository of its own", path);
		c->skipped++;
		return 0;
	}
	dir = open_parent(c, path, &name, e);
	if (dir < 0)
		return err_wrap(e, "carry over '%s'", path);
	if ((letter == 'D' ? carry_gone(dir, name, e) : carry_there(c, path, dir, name, e)) < 0)
		return err_wrap(e, "carry over '%s'", path);
	c->carried++;
	return 0;
}

/* What is gone first: a file may have taken the place of a directory. */
static int carry_all(struct carrying *c, const struct buf *list, struct err *e)
{
	static const char order[] = { 'D', 'M' };

	for (size_t pass = 0; pass < sizeof(order); pass++)
		for (size_t at = 0; at + 1 < list->len; at += strlen(list->data + at) + 1)
			if (list->data[at] == order[pass] &&
			    carry(c, order[pass], list->data + at + 1, e) < 0)
				return -e->code;
	return 0;
}

static int read_list(const struct repo *r, struct buf *list, struct err *e)
{
	const char *const argv[] = { "dirty", "--repo", r->path, "--list", "3", NULL };
	struct git_run run = { .argv = argv,
			       .n_fds = 1,
			       .in = -1,
			       .out = -1,
			       .what = "looking for changes" };
	autojson struct json_doc *answer = NULL;
	autoclose int file = memfd_create("ohsandbox-changes", MFD_CLOEXEC);
	struct owner_ids ids = { 0 };
	int n = 0;

	if (file < 0)
		return err_errno(e, "make a memory file");
	run.fds[0] = file;
	if (geteuid() == 0) {
		n = owner_lookup(r->owner, &ids, e);
		run.ids = &ids;
	}
	if (n == 0)
		n = git_run(&run, &answer, e);
	owner_ids_clear(&ids);
	if (n < 0)
		return n;
	if (lseek(file, 0, SEEK_SET) < 0)
		return err_errno(e, "read the list of changes");
	return io_read_all(file, LIST_MAX, list, e);
}

int worktree_dirty(const struct plan *p, const struct base *b, int upper, uid_t uid, gid_t gid,
		   struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	autobuf struct buf list = { .limit = LIST_MAX + 1 };
	struct carrying c = { .repo = &r, .upper = upper, .uid = uid, .gid = gid };
	struct head h;

	if (repo_open(p->request->path, p->request->trust_repo, &r, e) < 0)
		return -e->code;
	if (head_read(&r, NULL, &h, e) > 0 && !str_eq(h.commit, b->commit))
		return err_code(
			e, EINVAL,
			"--dirty carries over what differs from HEAD (%.12s), not from %.12s: "
			"leave --rev out",
			h.commit, b->commit);
	if (read_list(&r, &list, e) < 0 || carry_all(&c, &list, e) < 0)
		return -e->code;
	if (c.skipped)
		log_warn(
			"%u changed or new paths of '%s' are not carried over (repositories in it, sockets, "
			"files that cannot be read)",
			c.skipped, r.path);
	return (int)c.carried;
}
