/* SPDX-License-Identifier: MIT */
/* rootfs_make.c - fill a new skeleton: directories, links, generated files, copies, homes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/rootfs_parts.h"

#define APT_PARTIAL "var/cache/apt/archives/partial"

int skeleton_write(struct skeleton *k, const char *path, const void *bytes, size_t len, mode_t mode,
		   struct err *e)
{
	autofree char *parent = str_dup(path, e);
	autoclose int dir = -1, fd = -1;
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	char *slash = parent ? strrchr(parent, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	if (!parent)
		return -e->code;
	if (slash)
		*slash = '\0';
	/* Links that were copied from the host must not lead the writing out to it. */
	dir = fs_mkdir_path(k->root, slash ? parent : "", 0755, e);
	if (dir < 0)
		return err_wrap(e, "write '%s'", path);
	fd = openat(dir, name, flags, mode);
	if (fd < 0 && errno == EEXIST && unlinkat(dir, name, 0) == 0)
		fd = openat(dir, name, flags, mode);
	if (fd < 0)
		return err_errno(e, "write '%s'", path);
	return io_write_all(fd, bytes, len, e) < 0 ? err_wrap(e, "write '%s'", path) : 0;
}

static int make_dirs(struct skeleton *k, struct err *e)
{
	for (const struct dir_row *row = rootfs_dirs; row->path; row++)
		if (mkdirat(k->root, row->path, row->mode) < 0)
			return err_errno(e, "make directory '%s'", row->path);
	for (const struct link_row *row = rootfs_links; row->path; row++)
		if (symlinkat(row->text, k->root, row->path) < 0)
			return err_errno(e, "make link '%s'", row->path);
	return 0;
}

/* /bin and the like: a directory to mount on, or the host's link into /usr. */
static int make_top(struct skeleton *k, const char *name, struct err *e)
{
	struct stat st;
	char text[64];
	ssize_t n;

	index_add(k->index, k->host, name);
	if (fstatat(k->host, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return mkdirat(k->root, name, 0755) < 0 ? err_errno(e, "make directory '%s'", name)
							: 0;
	n = S_ISLNK(st.st_mode) ? readlinkat(k->host, name, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return 0;
	text[n] = '\0';
	if (!str_starts(text, "usr/") && !str_starts(text, "/usr/"))
		return 0; /* where it leads to is not inside */
	return symlinkat(text, k->root, name) < 0 ? err_errno(e, "make link '%s'", name) : 0;
}

static int make_tops(struct skeleton *k, struct err *e)
{
	for (unsigned i = 0; host_dir(i); i++) {
		const char *name = host_dir(i)->path + 1;

		if (!strchr(name, '/') && !str_eq(name, "usr") && !str_eq(name, "opt") &&
		    make_top(k, name, e) < 0)
			return -e->code;
	}
	return 0;
}

/* What the host gives to new users, for the owner of a home. */
static int furnish_home(struct skeleton *k, const char *home, struct err *e)
{
	static const char *const files[] = { ".bashrc", ".profile", ".bash_logout" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char from[64];
		autofree char *to = str_fmt(e, "%s/%s", home, files[i]);

		(void)snprintf(from, sizeof(from), "etc/skel/%s", files[i]);
		if (!to || skeleton_copy_file(k, from, to, false, e) < 0)
			return -e->code;
	}
	return 0;
}

/* Only what this very function wrote changes hands. */
static int give_home(const struct skeleton *k, int home, struct err *e)
{
	static const char *const names[] = { "", ".bashrc", ".profile", ".bash_logout" };
	const struct policy_user *u = k->spec->user;

	if (!k->spec->inside_owners)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (fchownat(home, names[i], u->uid, u->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) <
			    0 &&
		    errno != ENOENT)
			return err_errno(e, "give '%s/%s' to uid %u", u->home, names[i], u->uid);
	return 0;
}

static int make_homes(struct skeleton *k, struct err *e)
{
	const char *path = k->spec->user->home + strspn(k->spec->user->home, "/");
	autoclose int home = -1;

	if (furnish_home(k, "root", e) < 0)
		return -e->code;
	if (!*path || str_eq(path, "root"))
		return 0;
	home = fs_mkdir_path(k->root, path, 0755, e);
	if (home < 0 || furnish_home(k, path, e) < 0)
		return err_wrap(e, "home of '%s'", k->spec->user->name);
	return give_home(k, home, e);
}

/* apt downloads as its own user. */
static int give_apt(const struct skeleton *k, struct err *e)
{
	autobuf struct buf users = { 0 };
	const char *line;
	unsigned uid;

	if (!k->spec->inside_owners)
		return 0;
	if (io_read_file(k->root, "etc/passwd", 1 << 20, &users, e) < 0)
		return -e->code;
	line = strstr(buf_str(&users), "\n_apt:x:");
	if (!line || sscanf(line, "\n_apt:x:%u:", &uid) != 1)
		return 0;
	return fchownat(k->root, APT_PARTIAL, uid, 0, AT_SYMLINK_NOFOLLOW) < 0
		       ? err_errno(e, "give '" APT_PARTIAL "' to uid %u", uid)
		       : 0;
}

int skeleton_make(struct skeleton *k, struct err *e)
{
	if (k->spec->tree)
		return skeleton_make_over(k, e) < 0 ? err_wrap(e, "--rootfs") : 0;
	if (make_dirs(k, e) < 0 || make_tops(k, e) < 0 || skeleton_copy(k, e) < 0 ||
	    skeleton_texts(k, e) < 0 || make_homes(k, e) < 0 || give_apt(k, e) < 0 ||
	    skeleton_programs(k, e) < 0)
		return err_wrap(e, "root file system skeleton");
	return 0;
}
