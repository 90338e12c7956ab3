/* SPDX-License-Identifier: MIT */
/* state.c - the state directory: found, made and checked; see session.h.
 *
 * An upper layer on the host's disk may hold set-uid files and device nodes that were harmless
 * inside: nobody but the owner may reach below this directory. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/str.h"
#include "session/session.h"

/* Out of the passwd file itself: a static program has no name service. */
static char *home_of(uid_t uid, struct err *e)
{
	FILE *passwd = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;
	char *home = NULL;

	while (passwd && (entry = fgetpwent(passwd)) && entry->pw_uid != uid)
		;
	if (entry && entry->pw_dir[0] == '/')
		home = str_dup(entry->pw_dir, e);
	else
		(void)err_code(e, ENOENT, "no home directory is known: set HOME or OHS_STATE_DIR");
	if (passwd)
		(void)fclose(passwd); /* it was only read */
	return home;
}

int state_default_path(char **path, struct err *e)
{
	const char *given = getenv("OHS_STATE_DIR"), *xdg = getenv("XDG_STATE_HOME"),
		   *env = getenv("HOME");
	autofree char *home = NULL;
	char *made;

	if (given && *given) {
		made = str_dup(given, e);
	} else if (geteuid() == 0) {
		made = str_dup("/var/lib/ohsandbox", e);
	} else if (xdg && xdg[0] == '/') {
		made = str_fmt(e, "%s/ohsandbox", xdg);
	} else {
		home = env && env[0] == '/' ? str_dup(env, e) : home_of(geteuid(), e);
		made = home ? str_fmt(e, "%s/.local/state/ohsandbox", home) : NULL;
	}
	if (!made)
		return -e->code;
	*path = made;
	return 0;
}

/* Make what is missing above the last part; what is there is followed as it is. */
static int make_parents(const char *path, struct err *e)
{
	autofree char *part = str_dup(path, e);

	if (!part)
		return -ENOMEM;
	for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "state directory '%s': create '%s'", path, part);
		*slash = '/';
	}
	return 0;
}

static int check(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, "state directory '%s'", path);
	if (st.st_uid != geteuid())
		return err_code(
			e, EPERM,
			"state directory '%s' belongs to uid %u, not to you (uid %u): name another by OHS_STATE_DIR",
			path, st.st_uid, geteuid());
	if ((st.st_mode & 07777) != 0700)
		return err_code(
			e, EPERM,
			"state directory '%s' has mode %04o, others may enter: chmod 700 '%s'",
			path, st.st_mode & 07777, path);
	return 0;
}

static int make(const char *path, struct err *e)
{
	mode_t old;
	int made;

	if (make_parents(path, e) < 0)
		return -e->code;
	/* Born with its mode: no moment at which others could enter. */
	old = umask(0);
	made = mkdir(path, 0700);
	(void)umask(old); /* cannot fail */
	if (made < 0 && errno != EEXIST)
		return err_errno(e, "create state directory '%s'", path);
	return 0;
}

int state_open(const char *path, struct err *e)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	autofree char *found = NULL;
	autoclose int fd = -1;

	if (!path) {
		if (state_default_path(&found, e) < 0)
			return -e->code;
		path = found;
	}
	if (!path)
		return err_code(e, ENOMEM, "out of memory");
	fd = open(path, flags);
	if (fd < 0 && errno == ENOENT) {
		if (make(path, e) < 0)
			return -e->code;
		fd = open(path, flags);
	}
	if (fd < 0)
		return err_errno(e, "open state directory '%s'", path);
	if (check(fd, path, e) < 0)
		return -e->code;
	return take_fd(&fd);
}
