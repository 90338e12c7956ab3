/* SPDX-License-Identifier: MIT */
/* subreaper.c - run a command; what it leaves running becomes our child, not init's, so that a test
 * finds it in /proc/PID/task/PID/children of its parent. Its status is ours.
 *
 *	subreaper COMMAND [ARG...] */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whatever the command left behind was reported by the test; it must not outlive us. */
static void end_the_rest(void)
{
	char path[64], line[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		for (char *p = strtok(line, " \n"); p; p = strtok(NULL, " \n"))
			(void)kill((pid_t)atoi(p), SIGKILL);
	if (f)
		(void)fclose(f);
}

static void stay(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	/* Who interrupts the run ends the command, and its rest with it: we stay until then. */
	struct sigaction term = { .sa_handler = stay };
	int status, result = 126;
	pid_t command, ended;

	if (argc < 2)
		return 126;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		perror("subreaper");
		return 126;
	}
	(void)sigaction(SIGTERM, &term, NULL); /* cannot fail with these arguments */
	command = fork();
	if (command < 0) {
		perror("subreaper: fork");
		return 126;
	}
	if (command == 0) {
		(void)execvp(argv[1], argv + 1);
		(void)fprintf(stderr, "subreaper: %s: %s\n", argv[1], strerror(errno));
		_exit(127);
	}
	/* Orphans that end are reaped here too. */
	while ((ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (ended != command)
			continue;
		result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		end_the_rest();
	}
	return result;
}
