/* SPDX-License-Identifier: MIT */
/* program.c - see program.h. */
#include "session/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The directory our own program lies in. */
static int own_directory(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return -ENOENT;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

static int open_in(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/ohsandbox-%s", dir, name) >= sizeof(path))
		return -1;
	return open(path, O_PATH | O_CLOEXEC);
}

int program_open(const char *name, struct err *e)
{
	char dir[PATH_MAX];
	int fd = -1;

	if (own_directory(dir) == 0)
		fd = open_in(dir, name);
	else
		dir[0] = '\0';
	if (fd < 0)
		fd = open_in(OHS_LIBEXECDIR, name);
	if (fd < 0)
		return err_code(e, ENOENT,
				"the program ohsandbox-%s is neither in '%s' nor in '%s'", name,
				dir, OHS_LIBEXECDIR);
	return fd;
}
