/* SPDX-License-Identifier: MIT */
/* mount.c - walk the plan's mounts; see mount.h. */
#include "sandbox/mount.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

static int (*const makers[])(struct tree *, const struct mount_step *, struct err *) = {
	[MOUNT_OVERLAY] = mount_overlay, [MOUNT_BIND] = mount_bind,
	[MOUNT_TMPFS] = mount_tmpfs,	 [MOUNT_PROC] = mount_proc,
	[MOUNT_DEVPTS] = mount_devpts,	 [MOUNT_MQUEUE] = mount_mqueue,
	[MOUNT_MASK] = mount_mask,	 [MOUNT_READONLY] = mount_readonly,
	[MOUNT_SYMLINK] = mount_symlink, [MOUNT_DIR] = mount_dir,
};

uint64_t mount_attrs(const struct mount_step *s)
{
	return MOUNT_ATTR_NOSUID | (s->flags & MOUNT_DEV ? 0 : MOUNT_ATTR_NODEV) |
	       (s->flags & MOUNT_NOEXEC ? MOUNT_ATTR_NOEXEC : 0) |
	       (s->flags & MOUNT_RO ? MOUNT_ATTR_RDONLY : 0);
}

static int move_onto(int mount, int target, struct err *e)
{
	if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
	    0)
		return err_errno(e, "attach it");
	return 0;
}

int mount_stage(const struct tree *t, int mount, struct err *e)
{
	return move_onto(mount, t->proc, e);
}

const char *mount_below_root(const char *target)
{
	while (*target == '/')
		target++;
	return *target ? target : ".";
}

/* -ENOENT, and no text, where it is not there: the caller knows what that means. */
static int open_target(const struct tree *t, const char *target, struct err *e)
{
	/* A session that is entered again may have left links anywhere. */
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, t->root, mount_below_root(target), &how, sizeof(how));

	if (fd < 0 && errno == ENOENT)
		return -(e->code = ENOENT);
	return fd < 0 ? err_errno(e, "open '%s'", target) : fd;
}

int mount_chown(const struct tree *t, int dir, const char *name, struct err *e)
{
	uid_t uid = ids_owner(&t->in->session_uids);
	gid_t gid = ids_owner(&t->in->session_gids);

	if (fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return err_errno(e, "give '%s' to %u:%u", name, uid, gid);
	return 0;
}

/* Make `name` a directory of the session's, if nothing has that name. */
static int dir_ensure(const struct tree *t, int parent, const char *name, mode_t mode,
		      struct err *e)
{
	if (mkdirat(parent, name, mode) == 0)
		return mount_chown(t, parent, name, e);
	return errno == EEXIST ? 0 : err_errno(e, "make directory '%s'", name);
}

/* The first part of a path, in `part`; returns what follows it, NULL where it is not a name. */
static const char *next_part(const char *path, char part[NAME_MAX + 1])
{
	size_t n = strcspn(path, "/");

	if (n > NAME_MAX)
		return NULL;
	memcpy(part, path, n);
	part[n] = '\0';
	return str_eq(part, "..") ? NULL : path + n + strspn(path + n, "/");
}

/* Walk down `path`, making what is missing, through no link. */
static int dirs_ensure(const struct tree *t, const char *path, struct err *e)
{
	autoclose int at = fcntl(t->root, F_DUPFD_CLOEXEC, 0);
	char part[NAME_MAX + 1];

	if (at < 0)
		return err_errno(e, "begin at the root");
	while (*path) {
		int next;

		path = next_part(path, part);
		if (!path)
			return err_code(e, EINVAL, "'%.60s' is no name for a directory", part);
		if (dir_ensure(t, at, part, 0755, e) < 0)
			return -e->code;
		next = fs_open_beneath(at, part, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS, e);
		if (next < 0)
			return next;
		(void)close(at);
		at = next;
	}
	return take_fd(&at);
}

static int open_parent(const struct tree *t, const char *path, size_t len, bool make, struct err *e)
{
	char dir[PATH_MAX];
	int fd;

	if (len >= sizeof(dir))
		return err_code(e, ENAMETOOLONG, "'%.60s...' is too long", path);
	memcpy(dir, path, len);
	dir[len] = '\0';
	fd = open_target(t, dir, e);
	return fd == -ENOENT && make ? dirs_ensure(t, dir, e) : fd;
}

int mount_parent(struct tree *t, const char *target, bool make, const char **name, struct err *e)
{
	const char *rest = mount_below_root(target), *slash = strrchr(rest, '/');
	size_t len = slash ? (size_t)(slash - rest) : 0;
	int fd;

	*name = slash ? slash + 1 : rest;
	if (!len)
		return t->root;
	if (t->dir >= 0 && t->dir_len == len && memcmp(t->dir_path, rest, len) == 0)
		return t->dir;
	fd = open_parent(t, rest, len, make, e);
	if (fd < 0)
		return fd;
	drop_fd(&t->dir);
	t->dir = fd;
	t->dir_path = rest;
	t->dir_len = len;
	return fd;
}

int mount_move(struct tree *t, int mount, int dir, const char *name, const char *target)
{
	const char *rest = mount_below_root(target);
	size_t n = strlen(rest);

	if (move_mount(mount, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	/* What stood there is covered from now on, and all below it. */
	if (t->dir_len >= n && memcmp(t->dir_path, rest, n) == 0)
		drop_fd(&t->dir);
	return 0;
}

/* The place to mount on, made where the plan's other steps have not. */
static int place_make(const struct tree *t, int parent, const char *name, bool is_dir,
		      struct err *e)
{
	if (is_dir)
		return dir_ensure(t, parent, name, 0755, e);
	if (mknodat(parent, name, S_IFREG | 0444, 0) < 0 && errno != EEXIST)
		return err_errno(e, "make file '%s'", name);
	return 0;
}

/* Was it for a link, which is told as such? */
static int not_attached(const struct tree *t, const char *target, struct err *e)
{
	int code = errno;
	autoclose int fd = open_target(t, target, e);

	if (fd < 0 && fd != -ENOENT)
		return fd;
	errno = code;
	return err_errno(e, "attach it");
}

static int root_attach(struct tree *t, int mount, const struct mount_step *s, struct err *e)
{
	if (!str_eq(s->target, "/"))
		return err_code(e, EINVAL, "there is no '/' yet to mount on");
	if (move_onto(mount, t->host_root, e) < 0)
		return -e->code;
	t->root = fcntl(mount, F_DUPFD_CLOEXEC, 0);
	return t->root < 0 ? err_errno(e, "keep the root") : 0;
}

int mount_attach(struct tree *t, int mount, const struct mount_step *s, bool is_dir, struct err *e)
{
	const char *name;
	int parent;

	if (t->root < 0)
		return root_attach(t, mount, s, e);
	parent = mount_parent(t, s->target, true, &name, e);
	if (parent < 0)
		return parent;
	if (mount_move(t, mount, parent, name, s->target) == 0)
		return 0;
	if (errno != ENOENT)
		return not_attached(t, s->target, e);
	if (place_make(t, parent, name, is_dir, e) < 0)
		return -e->code;
	return mount_move(t, mount, parent, name, s->target) < 0 ? not_attached(t, s->target, e)
								 : 0;
}

int mount_symlink(struct tree *t, const struct mount_step *s, struct err *e)
{
	const char *name;
	int parent = mount_parent(t, s->target, true, &name, e);

	if (parent < 0)
		return parent;
	if (symlinkat(s->source, parent, name) < 0)
		return err_errno(e, "link to '%s'", s->source);
	return mount_chown(t, parent, name, e);
}

int mount_dir(struct tree *t, const struct mount_step *s, struct err *e)
{
	const char *name;
	int parent = mount_parent(t, s->target, true, &name, e);

	if (parent < 0)
		return parent;
	return dir_ensure(t, parent, name, s->mode, e);
}

/* Nothing made here may reach the host's namespace, and nothing from there may come in. */
static int make_private(struct err *e)
{
	struct mount_attr attr = { .propagation = MS_PRIVATE };

	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_errno(e, "make the mounts private");
	return 0;
}

static int stand_among_fds(int proc, struct err *e)
{
	autoclose int fds = openat(proc, "self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fds < 0 || fchdir(fds) < 0)
		return err_errno(e, "enter /proc/self/fd");
	return 0;
}

int mounts_make(struct tree *t, struct err *e)
{
	autoclose int host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (host_root < 0)
		return err_errno(e, "open '/'");
	if (make_private(e) < 0 || stand_among_fds(t->proc, e) < 0)
		return -e->code;
	t->host_root = host_root;
	for (unsigned i = 0; i < t->in->n_mounts; i++) {
		const struct mount_step *s = &t->in->mounts[i];

		if (makers[s->kind](t, s, e) < 0)
			return err_wrap(e, "mount '%s'", s->target);
	}
	drop_fd(&t->dir);
	if (t->root < 0)
		return err_code(e, EINVAL, "no mount for '/'");
	return 0;
}

/* From "/" a walk upwards ends on top of whatever is mounted over it. */
static int check_nothing_above(struct err *e)
{
	struct stat root, above;

	if (stat("/", &root) < 0 || stat("/..", &above) < 0)
		return err_errno(e, "look at '/'");
	if (root.st_dev != above.st_dev || root.st_ino != above.st_ino)
		return err_code(e, EPROTO, "something of the host is still mounted over '/'");
	return 0;
}

int mounts_enter(struct tree *t, struct err *e)
{
	if (fchdir(t->root) < 0)
		return err_errno(e, "enter the new root");
	/* Puts the old root on top of the new one, and "." then means the old one: gone with all
	 * that was staged on it. */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(e, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_errno(e, "drop the old root");
	if (chdir("/") < 0)
		return err_errno(e, "enter '/'");
	return check_nothing_above(e);
}
