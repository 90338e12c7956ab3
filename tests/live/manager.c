/* SPDX-License-Identifier: MIT */
/* manager.c - start a daemon as a service manager does: with a listener of its own, and somebody who
 * hears how it is.
 *
 *	manager WATCHDOG_MS COMMAND [ARG...]
 *
 * Says on standard output, a line each: "port N", "pid N", what it is told, "status N". */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENER 3 /* where sd_listen_fds(3) begins */

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		die("listen");
	printf("port %u\n", ntohs(a.sin_port));
	return fd;
}

/* An abstract name, so that nothing is left behind and any identity reaches it. */
static int hearer(char name[64])
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = snprintf(name, 64, "@ohsandbox-test/%d", (int)getpid());

	memcpy(a.sun_path + 1, name + 1, (size_t)n - 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)) < 0)
		die("notify");
	return fd;
}

static void become(int fd, const char *name, const char *watchdog_ms, char **argv)
{
	char pid[16], usec[32];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(usec, sizeof(usec), "%s000", watchdog_ms);
	if (setenv("LISTEN_FDS", "1", 1) < 0 || setenv("LISTEN_PID", pid, 1) < 0 ||
	    setenv("NOTIFY_SOCKET", name, 1) < 0 || setenv("WATCHDOG_USEC", usec, 1) < 0 ||
	    setenv("WATCHDOG_PID", pid, 1) < 0 || prctl(PR_SET_PDEATHSIG, 15) < 0)
		die("environment");
	if (fd == LISTENER ? fcntl(fd, F_SETFD, 0) < 0 : dup2(fd, LISTENER) < 0)
		die("descriptor");
	(void)execv(argv[0], argv);
	die(argv[0]);
}

static void hear(int fd)
{
	char text[512];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n > 0)
		printf("%.*s\n", (int)n, text);
}

int main(int argc, char **argv)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	char name[64];
	int status, fd;
	pid_t pid;

	if (argc < 3)
		return 2;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	fd = listener();
	p[0].fd = hearer(name);
	pid = fork();
	if (pid == 0)
		become(fd, name, argv[1], argv + 2);
	(void)close(fd);
	p[1].fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (p[1].fd < 0)
		die("child");
	printf("pid %d\n", (int)pid);
	while (!p[1].revents)
		if (poll(p, 2, -1) > 0 && p[0].revents)
			hear(p[0].fd);
	hear(p[0].fd); /* its last word */
	if (waitpid(pid, &status, 0) < 0)
		die("wait");
	printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
