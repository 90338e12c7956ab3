/* SPDX-License-Identifier: MIT */
/* rootfs_programs.c - the few programs of the skeleton: `sudo`, and `python` where the host has only
 * a python3. All others are the host's own. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "session/rootfs_parts.h"

#define PROGRAM_BYTES_MAX ((size_t)64 << 20) /* with sanitizers it is large */

static bool host_has(struct skeleton *k, const char *path)
{
	index_add(k->index, k->host, path);
	return faccessat(k->host, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directories exist from here on: layers are taken from them. */
static int make_dirs(struct skeleton *k, struct err *e)
{
	static const char *const dirs[] = { "usr/bin", "usr/local/bin" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		autoclose int dir = fs_mkdir_path(k->root, dirs[i], 0755, e);

		if (dir < 0)
			return err_wrap(e, "'%s'", dirs[i]);
	}
	return 0;
}

static int put_link(struct skeleton *k, const char *text, const char *path, struct err *e)
{
	return symlinkat(text, k->root, path) < 0 ? err_errno(e, "make link '%s'", path) : 0;
}

int skeleton_sudo(struct skeleton *k, const char *path, struct err *e)
{
	autobuf struct buf bytes = { .limit = PROGRAM_BYTES_MAX };
	char self[32];
	autoclose int fd = -1;

	/* It was opened to be named alone; the name may be another's by now. */
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", k->spec->sudo);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open '%s'", k->spec->sudo_path);
	if (io_read_all(fd, PROGRAM_BYTES_MAX, &bytes, e) < 0)
		return -e->code;
	return skeleton_write(k, path, bytes.data, bytes.len, 0755, e);
}

static int put_sudo(struct skeleton *k, struct err *e)
{
	if (k->spec->sudo < 0)
		return 0;
	index_add(k->index, k->host, k->spec->sudo_path + strspn(k->spec->sudo_path, "/"));
	if (skeleton_sudo(k, "usr/local/bin/sudo", e) < 0)
		return -e->code;
	return put_link(k, "../local/bin/sudo", "usr/bin/sudo", e);
}

static int put_python(struct skeleton *k, struct err *e)
{
	if (host_has(k, "usr/bin/python") || host_has(k, "usr/local/bin/python") ||
	    !host_has(k, "usr/bin/python3"))
		return 0;
	/* By its full name: a python3 beside the first one would not be what the host's packages are for. */
	if (put_link(k, "/usr/bin/python3", "usr/local/bin/python", e) < 0)
		return -e->code;
	return put_link(k, "python3", "usr/bin/python", e);
}

int skeleton_programs(struct skeleton *k, struct err *e)
{
	if (make_dirs(k, e) < 0 || put_sudo(k, e) < 0)
		return -e->code;
	return put_python(k, e);
}
