/* SPDX-License-Identifier: MIT */
/* mount_fsctx.c - a new file system, set up key by key; see mount.h. */
#include "sandbox/mount.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

int fsctx_open(const char *type, struct err *e)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC);

	return fs < 0 ? err_errno(e, "new %s", type) : fs;
}

/* The kernel tells in words what it refused, on the descriptor itself: "e overlay: ...". */
static int fsctx_errno(int fs, const char *what, struct err *e)
{
	int code = errno;
	char text[200];
	ssize_t n = read(fs, text, sizeof(text) - 1);

	errno = code;
	if (n <= 2)
		return err_errno(e, "%s", what);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return err_errno(e, "%s (%s)", what, text + 2);
}

int fsctx_set(int fs, const char *key, const char *value, struct err *e)
{
	unsigned command = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

	if (fsconfig(fs, command, key, value, 0) < 0)
		return fsctx_errno(fs, key, e);
	return 0;
}

int fsctx_set_number(int fs, const char *key, uint64_t value, const char *fmt, struct err *e)
{
	char text[32];

	(void)snprintf(text, sizeof(text), fmt, value);
	return fsctx_set(fs, key, text, e);
}

int fsctx_mount(int fs, uint64_t attrs, struct err *e)
{
	int mount;

	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fsctx_errno(fs, "create it", e);
	mount = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attrs);
	return mount < 0 ? fsctx_errno(fs, "fsmount", e) : mount;
}
