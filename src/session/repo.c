/* SPDX-License-Identifier: MIT */
/* repo.c - open a repository as git lays it out; see head.h.
 *
 * The one thing looked at with the caller's rights is who owns ".git". From then on the owner
 * may exchange whatever he likes: it is opened with no more than his rights. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "base/str.h"
#include "session/head.h"
#include "session/owner.h"

#define GITFILE_MAX 4200
#define ALTERNATES_MAX (64 * 1024)

/* ".git" as a file: "gitdir: PATH". */
static int open_gitfile(struct repo *r, struct err *e)
{
	char text[GITFILE_MAX];
	int n = git_read_small(r->top, ".git", text, sizeof(text));

	if (n < 0 || !str_starts(text, "gitdir: "))
		return err_code(e, EINVAL, "'.git' is a file without a line 'gitdir: PATH'");
	r->git = openat(r->top, text + 8, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->git < 0)
		return err_errno(e, "open its git directory '%s'", text + 8);
	return 0;
}

static int open_common(struct repo *r, struct err *e)
{
	char text[GITFILE_MAX];
	int n = git_read_small(r->git, "commondir", text, sizeof(text));

	if (n == -ENOENT)
		r->common = fcntl(r->git, F_DUPFD_CLOEXEC, 0);
	else if (n < 0)
		return err_code(e, -n, "read 'commondir' in its git directory: %s", strerror(-n));
	else
		r->common = openat(r->git, text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return r->common < 0 ? err_errno(e, "open its common git directory") : 0;
}

/* With the owner's rights. */
static int open_parts(struct repo *r, mode_t dotgit, const char *path, struct err *e)
{
	int n = 0;

	if (r->bare)
		r->git = fcntl(r->top, F_DUPFD_CLOEXEC, 0);
	else if (S_ISREG(dotgit))
		n = open_gitfile(r, e);
	else
		r->git = openat(r->top, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (n == 0 && r->git < 0)
		n = err_errno(e, "open its git directory");
	if (n == 0)
		n = open_common(r, e);
	if (n < 0)
		return err_wrap(e, "repository '%s'", path);
	if (faccessat(r->git, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW | AT_EACCESS) < 0 ||
	    faccessat(r->common, "objects", F_OK, AT_EACCESS) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return err_code(
				e, ENOENT,
				"'%s' is not a git repository: name one with --repo, or a plain "
				"directory with --dir",
				path);
		return err_errno(e, "look into the git directory of '%s'", path);
	}
	return 0;
}

static int check_owner(const struct repo *r, bool trust, const char *path, struct err *e)
{
	uid_t me = geteuid();

	if (me == 0 || r->owner == me || trust)
		return 0;
	return err_code(
		e, EPERM,
		"repository '%s' belongs to uid %u, not to you: if you trust it, add --trust-repo",
		path, r->owner);
}

/* Who made it and where: another repository at the same place must not find this one's bases. */
static int name_repo(struct repo *r, struct err *e)
{
	char hex[SHA256_HEX_BYTES];
	struct sha256 s;
	struct stat st;

	r->git_path = fs_path_of(r->git, e);
	r->common_path = r->git_path ? fs_path_of(r->common, e) : NULL;
	if (!r->common_path)
		return -e->code;
	if (fstat(r->common, &st) < 0)
		return err_errno(e, "stat '%s'", r->common_path);
	sha256_init(&s);
	sha256_add(&s, &st.st_dev, sizeof(st.st_dev));
	sha256_add(&s, &st.st_ino, sizeof(st.st_ino));
	sha256_add(&s, &r->owner, sizeof(r->owner));
	sha256_add(&s, r->common_path, strlen(r->common_path));
	sha256_end_hex(&s, hex);
	memcpy(r->id, hex, sizeof(r->id) - 1);
	r->id[sizeof(r->id) - 1] = '\0';
	return 0;
}

static int open_top(const char *path, struct repo *r, mode_t *dotgit, struct err *e)
{
	struct stat st;

	r->path = str_dup(path, e);
	if (!r->path)
		return -e->code;
	r->top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->top < 0)
		return err_errno(e, "open the repository '%s'", path);
	if (fstatat(r->top, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return err_errno(e, "look for '.git' in '%s'", path);
		r->bare = true;
		if (fstat(r->top, &st) < 0)
			return err_errno(e, "stat '%s'", path);
	}
	r->owner = st.st_uid;
	*dotgit = st.st_mode;
	return 0;
}

int repo_open(const char *path, bool trust, struct repo *out, struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	struct owner_saved saved;
	mode_t dotgit = 0;
	int n;

	if (open_top(path, &r, &dotgit, e) < 0)
		return -e->code;
	if (owner_enter(r.owner, &saved, e) < 0)
		return err_wrap(e, "repository '%s'", path);
	n = open_parts(&r, dotgit, path, e);
	owner_leave(&saved);
	if (n < 0)
		return n;
	if (check_owner(&r, trust, path, e) < 0 || name_repo(&r, e) < 0)
		return -e->code;
	*out = r;
	r = REPO_CLOSED;
	return 0;
}

void repo_close(struct repo *r)
{
	auto_close(&r->top);
	auto_close(&r->git);
	auto_close(&r->common);
	free(r->path);
	free(r->git_path);
	free(r->common_path);
	*r = REPO_CLOSED;
}

static bool is_known(const int *fds, int n, int fd)
{
	struct stat a, b;

	if (fstat(fd, &a) < 0)
		return true;
	for (int i = 0; i < n; i++)
		if (fstat(fds[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	return false;
}

/* The session sees such a directory whole, and whoever packed this repository may have named any, or
 * led "objects" anywhere. Git gives those it makes no other name. */
static int check_objects(int fd, struct err *e)
{
	autofree char *path = fs_path_of(fd, e);

	if (!path)
		return -e->code;
	if (str_ends(path, "/objects"))
		return 0;
	return err_code(e, EPERM,
			"objects in '%s': a session is given no directory that is not "
			"called 'objects'",
			path);
}

/* Open what objects/info/alternates of fds[i] names. One that is missing is passed over, as git
 * does. Returns the new count. */
static int add_alternates(int *fds, int i, int n, int max, struct err *e)
{
	autofree char *text = malloc(ALTERNATES_MAX);
	char *line, *rest = text;
	int len;

	if (!text)
		return err_code(e, ENOMEM, "out of memory");
	len = git_read_small(fds[i], "info/alternates", text, ALTERNATES_MAX);
	if (len == -ENOENT)
		return n;
	if (len < 0)
		return err_code(e, -len, "read the list of borrowed objects 'info/alternates': %s",
				strerror(-len));
	while ((line = strsep(&rest, "\n"))) {
		autoclose int fd = -1;

		if (!line[0] || line[0] == '#')
			continue;
		fd = openat(fds[i], line, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || is_known(fds, n, fd))
			continue;
		if (n == max)
			return err_code(e, E2BIG,
					"objects are borrowed from more than %d directories",
					max - 1);
		if (check_objects(fd, e) < 0)
			return -e->code;
		fds[n++] = take_fd(&fd);
	}
	return n;
}

static int open_objects(const struct repo *r, int *fds, int max, struct err *e)
{
	int n = 1, more;

	fds[0] = openat(r->common, "objects", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds[0] < 0)
		return err_errno(e, "open the objects of '%s'", r->path);
	for (int i = 0; i < n; i++) {
		more = i || check_objects(fds[0], e) == 0 ? add_alternates(fds, i, n, max, e)
							  : -e->code;
		if (more < 0) {
			while (n)
				(void)close(fds[--n]);
			return err_wrap(e, "repository '%s'", r->path);
		}
		n = more;
	}
	return n;
}

int repo_objects(const struct repo *r, int *fds, size_t max, struct err *e)
{
	struct owner_saved saved;
	int n;

	if (owner_enter(r->owner, &saved, e) < 0)
		return -e->code;
	n = open_objects(r, fds, (int)max, e);
	owner_leave(&saved);
	return n;
}
