/* SPDX-License-Identifier: MIT */
/* host_fs.c - the directories a session's root is made of, and what their file systems can. */
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "plan/host_parts.h"

/* In the order they are mounted: what stands in another comes after it. */
static const struct host_dir dirs[] = {
	{ "/usr", "usr" },	     { "/bin", "bin" },
	{ "/sbin", "sbin" },	     { "/lib", "lib" },
	{ "/lib32", "lib32" },	     { "/lib64", "lib64" },
	{ "/libx32", "libx32" },     { "/opt", "opt" },
	{ "/var/lib/dpkg", "dpkg" }, { "/var/lib/apt/lists", "apt" },
};

#ifndef EROFS_SUPER_MAGIC_V1
#define EROFS_SUPER_MAGIC_V1 0xE0F5E1E2
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1

/* Since which kernel a file system can be mounted with other ids. To try it would take a user
 * namespace, hence a process, at every start. Overlays, NFS and 9p cannot to this day. */
static const struct {
	uint32_t magic;
	unsigned major, minor;
} idmappable[] = {
	{ EXT4_SUPER_MAGIC, 5, 12 }, { XFS_SUPER_MAGIC, 5, 12 },      { BTRFS_SUPER_MAGIC, 5, 15 },
	{ F2FS_SUPER_MAGIC, 5, 18 }, { EROFS_SUPER_MAGIC_V1, 5, 19 }, { SQUASHFS_MAGIC, 6, 2 },
	{ TMPFS_MAGIC, 6, 3 },	     { ZFS_SUPER_MAGIC, 6, 2 },
};

const struct host_dir *host_dir(unsigned i)
{
	return i < ARRAY_LEN(dirs) ? &dirs[i] : NULL;
}

bool host_can_idmap(const struct host *h, int dir)
{
	struct statfs fs;

	if (!h->privileged || fstatfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(idmappable); i++)
		if ((uint32_t)fs.f_type == idmappable[i].magic)
			return h->kernel_major > idmappable[i].major ||
			       (h->kernel_major == idmappable[i].major &&
				h->kernel_minor >= idmappable[i].minor);
	return false;
}

/* The state directory may be still to be made: what it will stand on counts. */
static int open_nearest(const struct host_source *s)
{
	char path[4096];
	size_t len = strlen(s->state_dir + strspn(s->state_dir, "/"));

	if (len >= sizeof(path))
		return -1;
	memcpy(path, s->state_dir + strspn(s->state_dir, "/"), len + 1);
	while (*path) {
		int fd = openat(s->root, path, O_PATH | O_CLOEXEC);
		char *slash = strrchr(path, '/');

		if (fd >= 0)
			return fd;
		*(slash ? slash : path) = '\0';
	}
	return openat(s->root, ".", O_PATH | O_CLOEXEC);
}

/* Is something of this type at `path` of the host, where a mount can be put on it? */
static bool is_there(int root, const char *path, mode_t type)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };
	autoclose int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

void host_read_dirs(const struct host_source *s, struct host *h)
{
	autoclose int state = open_nearest(s);

	h->idmapped_mounts = host_can_idmap(h, state);
	for (unsigned i = 0; i < ARRAY_LEN(dirs); i++) {
		/* A link, as /bin is since usr was merged, becomes the same link inside. */
		autoclose int fd = openat(s->root, dirs[i].path + 1,
					  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		h->dirs |= 1u << i;
		h->idmapped_mounts = h->idmapped_mounts && host_can_idmap(h, fd);
	}
	h->local_bin = is_there(s->root, "usr/local/bin", S_IFDIR);
	h->sudo = is_there(s->root, "usr/bin/sudo", S_IFREG);
}
