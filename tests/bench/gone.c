/* SPDX-License-Identifier: MIT */
/* gone.c - how long a command takes to answer, and how long until all that it takes away is gone.
 *
 *	gone PATH... -- COMMAND [ARG...]
 *
 * Starts the command, and looks for the paths until none of them exists any more. Prints two numbers,
 * milliseconds from the start to the command's end, and to the end of the last path. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/times.h"

#define PATIENCE_MS 10000

extern char **environ;

/* A name that is there is asked about again; what has gone stays gone. */
static bool all_gone(char **paths)
{
	for (; *paths; paths++)
		if (faccessat(AT_FDCWD, *paths, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	double start, answered = 0, gone = 0;
	posix_spawn_file_actions_t quiet;
	int split = 1, status = 0, r;
	pid_t pid;

	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	if (split + 1 >= argc) {
		fprintf(stderr, "usage: gone PATH... -- COMMAND [ARG...]\n");
		return 2;
	}
	argv[split] = NULL;
	(void)posix_spawn_file_actions_init(&quiet);
	(void)posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	start = now_ms();
	r = posix_spawnp(&pid, argv[split + 1], &quiet, NULL, argv + split + 1, environ);
	if (r) {
		fprintf(stderr, "bench: start '%s': %s\n", argv[split + 1], strerror(r));
		return 1;
	}
	while (!gone || !answered) {
		if (!answered && waitpid(pid, &status, WNOHANG) == pid)
			answered = now_ms() - start;
		if (!gone && all_gone(argv + 1))
			gone = now_ms() - start;
		if (now_ms() - start > PATIENCE_MS) {
			fprintf(stderr, "bench: '%s' and the like is still there\n", argv[1]);
			return 1;
		}
		(void)usleep(50);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "bench: the command failed with wait status %#x\n",
			(unsigned)status);
		return 1;
	}
	printf("%.3f %.3f\n", answered, gone > answered ? gone : answered);
	return 0;
}
