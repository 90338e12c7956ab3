/* SPDX-License-Identifier: MIT */
/* layer.c - see layer.h. */
#include "git/layer.h"

#include <fcntl.h>
#include <git2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "git/gitlib.h"
#include "git/reflist.h"
#include "session/worktree.h"

#define EXCLUDE_MAX ((size_t)256 << 10)
#define SHALLOW_MAX ((size_t)64 << 20)

static int write_file(int dir, const char *path, const void *bytes, size_t len, struct err *e)
{
	autoclose int fd =
		openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_errno(e, "create '.git/%s'", path);
	return io_write_all(fd, bytes, len, e);
}

static int make_dir(int dir, const char *path, struct err *e)
{
	return mkdirat(dir, path, 0755) < 0 && errno != EEXIST
		       ? err_errno(e, "create '.git/%s'", path)
		       : 0;
}

static int copy_file(const struct layer *l, int git, const char *path, size_t max, struct err *e)
{
	autobuf struct buf text = { .limit = max + 1 };

	if (io_read_file(l->repo->common, path, max, &text, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	return write_file(git, path, buf_str(&text), text.len, e);
}

/* Where a directory borrows from others, git would follow its list to paths of the host's that
 * are not there inside, and complain each time. So it is not shown whole, but by links to its parts. */
static int write_farm(int git, int number, struct err *e)
{
	char path[64], target[96];

	(void)snprintf(path, sizeof(path), "borrowed/%d", number);
	if (make_dir(git, "borrowed", e) < 0 || make_dir(git, path, e) < 0)
		return -e->code;
	for (int i = -1; i < 256; i++) {
		(void)snprintf(path, sizeof(path), i < 0 ? "borrowed/%d/pack" : "borrowed/%d/%02x",
			       number, i);
		(void)snprintf(target, sizeof(target), "/run/ohsandbox/objects/%s",
			       path + strlen("borrowed/"));
		if (symlinkat(target, git, path) < 0)
			return err_errno(e, "create '.git/%s'", path);
	}
	return 0;
}

static int add_alternate(int git, int objects, int number, struct buf *text, struct err *e)
{
	if (objects < 0 || faccessat(objects, "info/alternates", F_OK, 0) < 0) {
		buf_printf(text, "/run/ohsandbox/objects/%d\n", number);
		return 0;
	}
	buf_printf(text, "../borrowed/%d\n", number);
	return write_farm(git, number, e);
}

static int write_alternates(const struct layer *l, int git, struct err *e)
{
	autobuf struct buf text = { 0 };
	int fds[BASE_OBJECTS_MAX], n, r = 0;

	if (l->pack >= 0) {
		r = add_alternate(git, -1, 0, &text, e);
	} else {
		n = repo_objects(l->repo, fds, ARRAY_LEN(fds), e);
		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			if (r == 0)
				r = add_alternate(git, fds[i], i, &text, e);
			(void)close(fds[i]);
		}
	}
	if (r < 0 || buf_check(&text, e) < 0)
		return -e->code;
	return write_file(git, "objects/info/alternates", buf_str(&text), text.len, e);
}

/* The objects of a "reachable" session, to leave out references to others. */
static int open_pack(const struct layer *l, git_odb **out, struct err *e)
{
	char path[32];
	int n;

	*out = NULL;
	if (l->pack < 0 || l->format->sha256)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", l->pack);
	n = git_odb_open(out, path);
	return n < 0 ? err_git(e, n, "open the pack of the revision's history") : 0;
}

static bool is_visible(const struct layer *l, git_odb *pack, const char *id)
{
	git_oid oid;

	if (l->pack < 0 || str_eq(id, l->commit))
		return true;
	return pack && git_oid_fromstr(&oid, id) == 0 && git_odb_exists(pack, &oid);
}

static int write_symbolic(int git, const struct ref *ref, struct err *e)
{
	autofree char *text = str_fmt(e, "ref: %s\n", ref->symbolic);
	autofree char *parent = text ? str_dup(ref->name, e) : NULL;
	autoclose int dir = -1;

	if (!parent)
		return -e->code;
	*strrchr(parent, '/') = '\0';
	dir = fs_mkdir_path(git, parent, 0755, e);
	if (dir < 0)
		return dir;
	return write_file(git, ref->name, text, strlen(text), e);
}

static void add_packed(struct buf *out, const char *id, const char *name, const char *peeled)
{
	buf_printf(out, "%s %s\n", id, name);
	if (peeled[0])
		buf_printf(out, "^%s\n", peeled);
}

/* The branch HEAD is on points to the base's commit, whatever it does by now. */
static int write_refs(const struct layer *l, int git, const struct reflist *list, git_odb *pack,
		      struct err *e)
{
	autobuf struct buf text = { .limit = (size_t)512 << 20 };
	bool own = !l->ref[0] || str_eq(l->commit, GIT_UNBORN);

	buf_puts(&text, "# pack-refs with: peeled fully-peeled sorted \n");
	for (size_t i = 0; i < list->n; i++) {
		const struct ref *ref = &list->refs[i];

		if (!own && strcmp(ref->name, l->ref) >= 0) {
			add_packed(&text, l->commit, l->ref, "");
			own = true;
		}
		if (str_eq(ref->name, l->ref))
			continue;
		if (ref->symbolic && write_symbolic(git, ref, e) < 0)
			return -e->code;
		if (!ref->symbolic && is_visible(l, pack, ref->id))
			add_packed(&text, ref->id, ref->name, ref->peeled);
	}
	if (!own)
		add_packed(&text, l->commit, l->ref, "");
	if (buf_check(&text, e) < 0)
		return err_wrap(e, "references");
	return write_file(git, "packed-refs", buf_str(&text), text.len, e);
}

static int write_all_refs(const struct layer *l, int git, struct err *e)
{
	struct reflist list = { 0 };
	git_odb *pack = NULL;
	bool cut = false;
	int n = reflist_read(l->repo, l->format, l->objects, &list, &cut, e);

	if (n == 0)
		n = open_pack(l, &pack, e);
	if (n == 0 && cut)
		answer_warn(l->answer, "the session sees the first %d references alone",
			    REFLIST_MAX);
	if (n == 0)
		n = write_refs(l, git, &list, pack, e);
	git_odb_free(pack);
	reflist_clear(&list);
	return n;
}

static int write_head(const struct layer *l, int git, struct err *e)
{
	autofree char *text = l->ref[0] ? str_fmt(e, "ref: %s\n", l->ref)
					: str_fmt(e, "%s\n", l->commit);

	return text ? write_file(git, "HEAD", text, strlen(text), e) : -e->code;
}

/* The base's own file where it can be: it is large and the same for all. */
static int link_index(const struct layer *l, int git, struct err *e)
{
	autobuf struct buf text = { .limit = (size_t)2 << 30 };
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", l->index);
	if (linkat(AT_FDCWD, path, git, "index", AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (lseek(l->index, 0, SEEK_SET) < 0 || io_read_all(l->index, text.limit, &text, e) < 0)
		return err_wrap(e, "read the base's index");
	return write_file(git, "index", buf_str(&text), text.len, e);
}

int layer_write(const struct layer *l, int dir, struct err *e)
{
	static const char *const dirs[] = { "hooks",	    "info", "objects",	  "objects/info",
					    "objects/pack", "refs", "refs/heads", "refs/tags" };
	autobuf struct buf config = { 0 };
	autoclose int git = fs_mkdir_open(dir, ".git", 0755, e);

	if (git < 0)
		return git;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (make_dir(git, dirs[i], e) < 0)
			return -e->code;
	if (layer_config(l, &config, e) < 0 ||
	    write_file(git, "config", buf_str(&config), config.len, e) < 0 ||
	    write_head(l, git, e) < 0 || write_alternates(l, git, e) < 0 ||
	    write_all_refs(l, git, e) < 0 ||
	    copy_file(l, git, "info/exclude", EXCLUDE_MAX, e) < 0 ||
	    copy_file(l, git, "shallow", SHALLOW_MAX, e) < 0 || link_index(l, git, e) < 0)
		return err_wrap(e, "private git directory");
	return 0;
}
