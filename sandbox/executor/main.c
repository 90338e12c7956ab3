/* SPDX-License-Identifier: MIT */
/* main.c - ohsandbox-executor: PID 1 of a session. See ohsandbox-executor(8).
 *
 * It is started by the host, by descriptor, and takes no arguments: all it needs to know comes
 * with the boot message. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sandbox/executor/init.h"
#include "sandbox/inside.h"

/* Nobody may look into this process, and it holds nothing of who started it. */
static int shut_off(struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), n = OHS_SANITIZED ? 2 : 3;

	if (null < 0)
		return err_errno(e, "open /dev/null");
	for (int fd = 0; fd < n; fd++)
		if (null != fd && dup2(null, fd) < 0)
			return err_errno(e, "descriptor %d", fd);
	if (null > 2)
		(void)close(null);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(e, "dumpable");
	return 0;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int keep_to_ourselves(int fd, struct err *e)
{
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_errno(e, "descriptor %d", fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct init_fds fds = { .ctl = INSIDE_FD_CTL,
				.listener = INSIDE_FD_LISTEN,
				.userns = INSIDE_FD_USERNS };
	struct err e = { 0 };

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		(void)puts("ohsandbox-executor " PACKAGE_VERSION);
		return 0;
	}
	if (!is_socket(fds.ctl)) {
		(void)fputs("ohsandbox-executor: is started by ohsandbox, inside a session\n",
			    stderr);
		return 125;
	}
	if (!is_socket(fds.listener))
		fds.listener = -1;
	if (keep_to_ourselves(fds.ctl, &e) < 0 || keep_to_ourselves(fds.userns, &e) < 0 ||
	    (fds.listener >= 0 && keep_to_ourselves(fds.listener, &e) < 0) || shut_off(&e) < 0)
		return 125;
	if (init_run(&fds, &e) < 0) {
		/* Of a session that outlives its host nobody hears otherwise. */
		if (OHS_SANITIZED)
			(void)fprintf(stderr, "ohsandbox-executor: %s\n", e.text);
		return 125;
	}
	return 0;
}
