/* SPDX-License-Identifier: MIT */
/* storm.c - what is done for a long time, or very often, inside a session. Each ends when it is killed.
 *
 *	storm orphans N [stay]		processes whose parent ends before them; then it ends
 *	storm processor|calls|forks N	so many processes that compute, make calls that the filter
 *					refuses, or leave orphans
 *	storm impostor ADDRESS PORT	answers for somebody else
 *
 * It says when it is there. Static, so that it runs in any root file system. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static const char *arg(char **argv, int i, const char *fallback)
{
	for (int at = 0; at <= i; at++)
		if (!argv[at])
			return fallback;
	return argv[i];
}

/* Without the kernel's copy of a whole process: 100,000 of them take seconds, not minutes. Each of
 * the last few has a stack of its own, which it hardly uses. */
enum { ORPHAN_STACKS = 512, ORPHAN_STACK_BYTES = 4096 };

static char orphan_stacks[ORPHAN_STACKS][ORPHAN_STACK_BYTES] __attribute__((aligned(16)));

static int end_at_once(void *none)
{
	(void)none;
	_exit(0);
}

static int leave_orphan(void *stack)
{
	_exit(clone(end_at_once, stack, CLONE_VM | SIGCHLD, NULL) < 0);
}

static int double_fork(int number)
{
	char *parents = orphan_stacks[2 * number % ORPHAN_STACKS] + ORPHAN_STACK_BYTES;
	char *orphans = orphan_stacks[(2 * number + 1) % ORPHAN_STACKS] + ORPHAN_STACK_BYTES;
	pid_t pid = clone(leave_orphan, parents, CLONE_VM | SIGCHLD, orphans);
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status ? -1 : 0;
}

/* Processes whose parent ends before them. With "stay": to us they come, who does not look. */
static int orphans(char **argv)
{
	int n = atoi(arg(argv, 0, "100000")), refused = 0;
	bool stay = strcmp(arg(argv, 1, ""), "stay") == 0;

	if (stay && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return failed("subreaper");
	for (int i = 0; i < n; i++)
		while (double_fork(i) < 0)
			if (++refused == n)
				return failed("orphans");
	printf("orphans: %d made, %d refused\n", n, refused);
	(void)fflush(stdout);
	if (stay)
		(void)pause();
	return 0;
}

static void storm_orphans(int number)
{
	(void)double_fork(number);
}

static void storm_calls(int number)
{
	(void)mount(NULL, "/", NULL, (unsigned long)number, NULL);
	(void)syscall(SYS_setns, -1, 0);
}

static void storm_processor(int number)
{
	(void)number;
}

static int storm_of(char **argv, void (*turn)(int number))
{
	for (int n = atoi(arg(argv, 0, "8")); n > 0; n--)
		if (fork() == 0)
			for (int i = 0;; i = (i + 1) & 0xffff)
				turn(i);
	printf("storm: there\n");
	(void)fflush(stdout);
	(void)pause();
	return 0;
}

static int forks(char **argv)
{
	return storm_of(argv, storm_orphans);
}

static int calls(char **argv)
{
	return storm_of(argv, storm_calls);
}

static int processor(char **argv)
{
	return storm_of(argv, storm_processor);
}

/* Answers for somebody else at a port, until it is killed. */
static int impostor(char **argv)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nimpostor";
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	a.sin_port = htons((uint16_t)atoi(arg(argv, 1, "8000")));
	if (fd < 0 || inet_pton(AF_INET, arg(argv, 0, "0.0.0.0"), &a.sin_addr) != 1)
		return failed("socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 5) < 0)
		return failed("impostor");
	printf("impostor: there\n");
	(void)fflush(stdout);
	for (;;) {
		int c = accept(fd, NULL, NULL);
		char request[4096];

		(void)!read(c, request, sizeof(request));
		(void)!write(c, text, sizeof(text) - 1);
		(void)close(c);
	}
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} storms[] = {
	{ "orphans", orphans },	    { "forks", forks },	      { "calls", calls },
	{ "processor", processor }, { "impostor", impostor },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(storms) / sizeof(storms[0]); i++)
		if (strcmp(storms[i].name, argv[1]) == 0)
			return storms[i].run(argv + 2);
	fprintf(stderr, "storm: unknown storm '%s'\n", argc > 1 ? argv[1] : "");
	return 2;
}
