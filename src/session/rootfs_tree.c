/* SPDX-License-Identifier: MIT */
/* rootfs_tree.c - what a session needs on top of a tree that was named as its root.
 *
 * The tree is foreign: an image from anywhere, with links to anywhere. Whatever is looked at in it is
 * resolved as if the tree were "/", on its own file system alone, and looked at before it is opened:
 * a device or a fifo is never opened. What the skeleton has covers what the tree has of that name,
 * but for directories, which are merged; so each is put where the tree's own links lead to. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "sandbox/ids.h"
#include "session/rootfs_parts.h"

#define PATH_BYTES 4096
#define TEXT_BYTES_MAX ((size_t)1 << 20)

/* Where steps of the plan mount: directories, whatever the tree has there, also a link. */
static const struct dir_row mount_points[] = {
	{ "dev", 0755 },  { "proc", 0555 },	 { "run", 0755 }, { "sys", 0555 },
	{ "tmp", 01777 }, { "workspace", 0755 }, { NULL, 0 },
};

/* Made where the tree lacks them. */
static const struct dir_row needed[] = {
	{ "etc", 0755 },	   { "home", 0755 },	 { "root", 0711 }, { "usr/bin", 0755 },
	{ "usr/local/bin", 0755 }, { "var/tmp", 01777 }, { NULL, 0 },
};

/* O_PATH, or -1 where there is no such thing on the tree's own file system. */
static int look_at(const struct skeleton *k, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_PATH | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, k->host, path, &how, sizeof(how));
}

/* The path below the tree of what was found in it; NULL where the tree was moved meanwhile. */
static char *name_in_tree(const struct skeleton *k, int fd, struct err *e)
{
	autofree char *path = fs_path_of(fd, e);
	autofree char *top = path ? fs_path_of(k->host, e) : NULL;
	size_t n = top ? strlen(top) : 0;

	if (!top)
		return NULL;
	if (!fs_is_beneath(top, path)) {
		(void)err_code(e, ESTALE, "'%s' was moved", top);
		return NULL;
	}
	return str_dup(path[n] ? path + n + 1 : ".", e);
}

/* Where a directory called `path` is, or would be made, when the tree's links are followed. The caller
 * frees it. What stands there and is no directory is covered. */
static char *place_of(const struct skeleton *k, const char *path, struct err *e)
{
	autofree char *head = str_dup(path, e);
	autofree char *real = NULL;
	char *slash = NULL;

	while (head) {
		autoclose int fd = look_at(k, head, O_DIRECTORY);

		if (fd >= 0) {
			real = name_in_tree(k, fd, e);
			return real ? str_fmt(e, "%s%s", real, path + strlen(head)) : NULL;
		}
		slash = strrchr(head, '/');
		if (!slash)
			return str_dup(path, e);
		*slash = '\0';
	}
	return NULL;
}

/* A directory of the skeleton stands before the tree's of the same name: it looks the same. */
static int look_alike(const struct skeleton *k, const char *path, struct err *e)
{
	autoclose int fd = look_at(k, path, O_DIRECTORY | O_NOFOLLOW);
	bool owners = k->spec->inside_owners;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0; /* the tree has none: root's, 0755 */
	if (owners && st.st_uid < IDS_WORKLOAD && st.st_gid < IDS_WORKLOAD &&
	    fchownat(k->root, path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, "give '%s' to uid %u", path, st.st_uid);
	/* An ordinary user has to write into it himself. */
	if (fchmodat(k->root, path, (st.st_mode & 07777) | (owners ? 0 : 0700), 0) < 0)
		return err_errno(e, "set the mode of '%s'", path);
	return 0;
}

/* Make the directory and those above it, all as in the tree. 1 where it is new. */
static int make_dir(const struct skeleton *k, const char *path, struct err *e)
{
	autofree char *part = str_dup(path, e);
	int made = 0;

	for (char *end = part; part && end;) {
		end = strchr(end, '/');
		if (end)
			*end = '\0';
		made = mkdirat(k->root, part, 0755) == 0;
		if (!made && errno != EEXIST)
			return err_errno(e, "make directory '%s'", part);
		if (made && look_alike(k, part, e) < 0)
			return -e->code;
		if (end)
			*end++ = '/';
	}
	return part ? made : -e->code;
}

/* Note how a name of the tree looks, those above it first: a link among them would lead a look at what
 * is below it out of the tree. */
static void note_name(const struct skeleton *k, const char *path)
{
	const char *end = path;
	char part[PATH_BYTES];
	struct stat st;

	do {
		end = strchrnul(end, '/');
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		index_add(k->index, k->host, part);
		if (fstatat(k->host, part, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			return;
	} while (*end++);
}

/* The same of what was found, or not, and of where the tree's links lead to. */
static int note(const struct skeleton *k, const char *path, int fd, struct err *e)
{
	autofree char *real = fd < 0 ? NULL : name_in_tree(k, fd, e);

	note_name(k, path);
	if (fd >= 0 && !real)
		return -e->code;
	if (real)
		note_name(k, real);
	return 0;
}

static int make_mount_points(const struct skeleton *k, struct err *e)
{
	for (const struct dir_row *row = mount_points; row->path; row++)
		if (mkdirat(k->root, row->path, row->mode) < 0)
			return err_errno(e, "make directory '%s'", row->path);
	return 0;
}

static int make_needed(const struct skeleton *k, struct err *e)
{
	for (const struct dir_row *row = needed; row->path; row++) {
		autoclose int fd = look_at(k, row->path, O_DIRECTORY);
		autofree char *place = fd < 0 ? place_of(k, row->path, e) : NULL;

		if (note(k, row->path, fd, e) < 0)
			return -e->code;
		if (fd >= 0)
			continue;
		if (!place || make_dir(k, place, e) < 0)
			return -e->code;
		if (fchmodat(k->root, place, row->mode, 0) < 0)
			return err_errno(e, "set the mode of '%s'", place);
	}
	return 0;
}

/* A text of the tree's that everybody inside may read; empty where it has no such. */
static int read_text(const struct skeleton *k, const char *path, struct buf *out, struct err *e)
{
	autoclose int found = look_at(k, path, 0), fd = -1;
	struct stat st;
	char self[40];

	if (note(k, path, found, e) < 0)
		return -e->code;
	if (found < 0 || fstat(found, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return 0;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* not for us, though for everybody */
	if (io_read_all(fd, TEXT_BYTES_MAX, out, e) < 0)
		return err_wrap(e, "'/%s' of the tree", path);
	/* What holds a NUL is no text, and would be cut there. */
	if (out->len && memchr(out->data, '\0', out->len))
		buf_reset(out);
	return 0;
}

static int put(struct skeleton *k, const char *dir, const char *name, const struct buf *b,
	       struct err *e)
{
	autofree char *path = str_fmt(e, "%s/%s", dir, name);

	if (!path || buf_check(b, e) < 0)
		return -e->code;
	return skeleton_write(k, path, buf_str(b), b->len, 0644, e);
}

static int put_users(struct skeleton *k, const char *etc, struct err *e)
{
	autobuf struct buf users = { 0 }, groups = { 0 }, passwd = { 0 }, group = { 0 };

	if (read_text(k, "etc/passwd", &users, e) < 0 || read_text(k, "etc/group", &groups, e) < 0)
		return -e->code;
	rootfs_merge_passwd(buf_str(&users), k->spec->user, &passwd);
	rootfs_merge_group(buf_str(&groups), k->spec->user, &group);
	if (put(k, etc, "passwd", &passwd, e) < 0)
		return -e->code;
	return put(k, etc, "group", &group, e);
}

static int put_etc(struct skeleton *k, struct err *e)
{
	autofree char *etc = place_of(k, "etc", e);
	autobuf struct buf own = { 0 }, ours = { 0 };

	if (!etc || make_dir(k, etc, e) < 0 || put_users(k, etc, e) < 0 ||
	    skeleton_names(k, etc, e) < 0 || read_text(k, "etc/nsswitch.conf", &own, e) < 0)
		return -e->code;
	if (own.len)
		return 0;
	buf_puts(&ours, rootfs_nsswitch);
	return put(k, etc, "nsswitch.conf", &ours, e);
}

/* What the tree gives to new users. */
static int furnish(struct skeleton *k, const char *home, struct err *e)
{
	static const char *const files[] = { ".bashrc", ".profile", ".bash_logout" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		autofree char *from = str_fmt(e, "etc/skel/%s", files[i]);
		autobuf struct buf text = { 0 };

		if (!from || read_text(k, from, &text, e) < 0)
			return -e->code;
		if (text.len && put(k, home, files[i], &text, e) < 0)
			return -e->code;
	}
	return 0;
}

/* Only what is ours here, and made just now, changes hands. */
static int give(const struct skeleton *k, const char *home, struct err *e)
{
	static const char *const names[] = { "", "/.bashrc", "/.profile", "/.bash_logout" };
	const struct policy_user *u = k->spec->user;

	for (size_t i = 0; k->spec->inside_owners && i < ARRAY_LEN(names); i++) {
		autofree char *path = str_fmt(e, "%s%s", home, names[i]);

		if (!path)
			return -e->code;
		if (fchownat(k->root, path, u->uid, u->gid, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno != ENOENT)
			return err_errno(e, "give '%s' to uid %u", path, u->uid);
	}
	return 0;
}

/* The user's home; what the tree has there stays, and the directory itself becomes his. */
static int put_home(struct skeleton *k, struct err *e)
{
	const char *path = k->spec->user->home + strspn(k->spec->user->home, "/");
	autoclose int own = look_at(k, path, O_DIRECTORY);
	autofree char *home = NULL;

	if (!*path || str_eq(path, "root"))
		return 0;
	home = place_of(k, path, e);
	if (!home || note(k, path, own, e) < 0 || make_dir(k, home, e) < 0 ||
	    (own < 0 && furnish(k, home, e) < 0))
		return err_wrap(e, "home of '%s'", k->spec->user->name);
	return give(k, home, e);
}

/* Where the host has its own, which the tree's index cannot hold: the key does. */
static int put_certificate(struct skeleton *k, const char *from, struct err *e)
{
	autofree char *to = rootfs_certificate_path(from, e);
	autofree char *place = NULL, *path = NULL;
	autobuf struct buf index = { 0 };
	autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct skeleton host = { .spec = k->spec, .host = root, .root = k->root, .index = &index };
	char *name = to ? strrchr(to, '/') : NULL;

	if (root < 0)
		return err_errno(e, "open '/'");
	if (!name)
		return -e->code;
	*name++ = '\0';
	place = place_of(k, to, e);
	path = place ? str_fmt(e, "%s/%s", place, name) : NULL;
	if (!path || make_dir(k, place, e) < 0)
		return -e->code;
	return skeleton_copy_file(&host, from + strspn(from, "/"), path, true, e);
}

static int put_certificates(struct skeleton *k, struct err *e)
{
	for (char *const *c = k->spec->certificates; c && *c; c++)
		if (put_certificate(k, *c, e) < 0)
			return err_wrap(e, "certificates of the policy");
	return 0;
}

/* The first that PATH finds, and the one that scripts name: the tree's own has no power here. */
static int put_sudo(struct skeleton *k, struct err *e)
{
	static const char *const dirs[] = { "usr/local/bin", "usr/bin" };

	for (size_t i = 0; k->spec->sudo >= 0 && i < ARRAY_LEN(dirs); i++) {
		autofree char *dir = place_of(k, dirs[i], e);
		autofree char *path = dir ? str_fmt(e, "%s/sudo", dir) : NULL;

		if (!path || make_dir(k, dir, e) < 0)
			return -e->code;
		if (i == 0 && skeleton_sudo(k, path, e) < 0)
			return -e->code;
		/* One directory may be the other. */
		if (i > 0 && symlinkat("/usr/local/bin/sudo", k->root, path) < 0 && errno != EEXIST)
			return err_errno(e, "make link '%s'", path);
	}
	return 0;
}

int skeleton_make_over(struct skeleton *k, struct err *e)
{
	index_add(k->index, k->host, ".");
	if (make_mount_points(k, e) < 0 || make_needed(k, e) < 0 || put_etc(k, e) < 0 ||
	    put_home(k, e) < 0 || put_certificates(k, e) < 0)
		return -e->code;
	return put_sudo(k, e);
}
