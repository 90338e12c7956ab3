/* SPDX-License-Identifier: MIT */
/* fs.c - see fs.h. */
#include "base/fs.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int openat2_retry(int dir, const char *path, const struct open_how *how)
{
	int fd;

	/* EAGAIN: a rename somewhere raced with the walk; the kernel asks for another try. */
	for (int tries = 0; tries < 100; tries++) {
		fd = (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd;
}

static int open_how(int dir, const char *path, int flags, mode_t mode, uint64_t resolve,
		    struct err *e)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = (flags & (O_CREAT | __O_TMPFILE)) ? mode : 0,
		.resolve = resolve,
	};
	int fd = openat2_retry(dir, path, &how);

	return fd < 0 ? err_errno(e, "open '%s'", path) : fd;
}

int fs_open_beneath(int dir, const char *path, int flags, mode_t mode, uint64_t resolve_extra,
		    struct err *e)
{
	return open_how(dir, path, flags, mode,
			RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve_extra, e);
}

int fs_open_in_root(int root, const char *path, int flags, mode_t mode, struct err *e)
{
	return open_how(root, path, flags, mode, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, e);
}

int fs_open_absolute(const char *path, int flags, struct err *e)
{
	return open_how(AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, e);
}

int fs_mkdir_path(int dir, const char *path, mode_t mode, struct err *e)
{
	autoclose int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char part[256];

	if (at < 0)
		return err_errno(e, "open the directory above '%s'", path);
	while (*path) {
		size_t n = strcspn(path, "/");
		int next;

		if (n >= sizeof(part))
			return err_code(e, ENAMETOOLONG, "'%.60s...' is too long a name", path);
		memcpy(part, path, n);
		part[n] = '\0';
		path += n + strspn(path + n, "/");
		if (!n || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0)
			return err_code(e, EINVAL, "'..' is not allowed in a path to create");
		if (mkdirat(at, part, mode) < 0 && errno != EEXIST)
			return err_errno(e, "create directory '%s'", part);
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return err_errno(e, "open directory '%s'", part);
		(void)close(at);
		at = next;
	}
	return take_fd(&at);
}

int fs_mkdir_open(int dir, const char *name, mode_t mode, struct err *e)
{
	int fd;

	if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return err_errno(e, "create directory '%s'", name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "open directory '%s'", name) : fd;
}

bool fs_is_beneath(const char *outer, const char *inner)
{
	size_t n = strlen(outer);

	if (n == 1 && outer[0] == '/')
		return true;
	return strncmp(outer, inner, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

char *fs_path_of(int fd, struct err *e)
{
	char link[40], path[4096];
	ssize_t n;
	char *copy;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0) {
		(void)err_errno(e, "read '%s'", link);
		return NULL;
	}
	path[n] = '\0';
	copy = strdup(path);
	if (!copy)
		(void)err_code(e, ENOMEM, "out of memory");
	return copy;
}

int fs_random_hex(char *out, size_t bytes, struct err *e)
{
	unsigned char raw[64];

	if (bytes > sizeof(raw))
		return err_code(e, EINVAL, "%zu random bytes at once are too many", bytes);
	if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
		return err_errno(e, "getrandom");
	for (size_t i = 0; i < bytes; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
	return 0;
}
