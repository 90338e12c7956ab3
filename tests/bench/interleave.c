/* SPDX-License-Identifier: MIT */
/* interleave.c - time whole commands against each other, in turn, so that the machine's drift
 * falls on all of them alike.
 *
 *	interleave [-n RUNS] [-i IDLE_MS] [-w WARMUP] NAME COMMAND [ARG...] [--- NAME COMMAND ...]
 *
 * Each round starts every command once, in an order that rotates. Printed a line each: name,
 * median, 99th percentile, minimum, in milliseconds, and the median of the ratios to the first
 * command, round by round. A command that fails ends the whole with its name. */
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

#define CONTENDERS_MAX 16

extern char **environ;

struct contender {
	const char *name;
	char **argv;
	double *ms;
};

static double percentile(const double *sorted, size_t n, double p)
{
	size_t i = (size_t)((double)n * p);

	return sorted[i < n ? i : n - 1];
}

/* One run from the decision to start it to its end being known. */
static double run_once(const struct contender *c, const posix_spawn_file_actions_t *quiet)
{
	double start = now_ms();
	int status = 0, r;
	pid_t pid;

	r = posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ);
	if (r) {
		fprintf(stderr, "bench: %s: start '%s': %s\n", c->name, c->argv[0], strerror(r));
		exit(1);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "bench: %s: failed with wait status 0x%x\n", c->name,
			(unsigned)status);
		exit(1);
	}
	return now_ms() - start;
}

static size_t parse(int argc, char **argv, int at, struct contender *out)
{
	size_t n = 0;

	while (at + 1 < argc && n < CONTENDERS_MAX) {
		out[n].name = argv[at];
		out[n].argv = &argv[at + 1];
		n++;
		while (at < argc && strcmp(argv[at], "---") != 0)
			at++;
		if (at < argc)
			argv[at++] = NULL;
	}
	return n;
}

static void report(struct contender *c, const double *first, size_t runs)
{
	double *ratio = calloc(runs, sizeof(*ratio)), *sorted = calloc(runs, sizeof(*sorted));

	if (!ratio || !sorted)
		exit(1);
	for (size_t i = 0; i < runs; i++) {
		ratio[i] = c->ms[i] / first[i];
		sorted[i] = c->ms[i];
	}
	qsort(ratio, runs, sizeof(*ratio), ascending);
	qsort(sorted, runs, sizeof(*sorted), ascending);
	printf("  %-34s p50 %8.2f ms  p99 %8.2f ms  min %8.2f ms  ratio %5.2f\n", c->name,
	       percentile(sorted, runs, .5), percentile(sorted, runs, .99), sorted[0],
	       percentile(ratio, runs, .5));
	free(ratio);
	free(sorted);
}

int main(int argc, char **argv)
{
	size_t runs = 100, warmup = 3, n;
	struct contender c[CONTENDERS_MAX];
	posix_spawn_file_actions_t quiet;
	unsigned idle_ms = 0;
	int option;

	while ((option = getopt(argc, argv, "+n:i:w:")) != -1) {
		if (option == 'n')
			runs = strtoul(optarg, NULL, 10);
		else if (option == 'i')
			idle_ms = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'w')
			warmup = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	n = parse(argc, argv, optind, c);
	if (!n || !runs) {
		fprintf(stderr,
			"usage: interleave [-n RUNS] [-i IDLE_MS] NAME COMMAND... [--- NAME COMMAND...]\n");
		return 2;
	}
	(void)posix_spawn_file_actions_init(&quiet);
	(void)posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (size_t k = 0; k < n; k++) {
		c[k].ms = calloc(runs, sizeof(double));
		if (!c[k].ms)
			return 1;
		for (size_t i = 0; i < warmup; i++)
			(void)run_once(&c[k], &quiet);
	}
	for (size_t i = 0; i < runs; i++) {
		for (size_t k = 0; k < n; k++) {
			struct contender *next = &c[(i + k) % n];

			if (idle_ms)
				(void)usleep(idle_ms * 1000);
			next->ms[i] = run_once(next, &quiet);
		}
	}
	for (size_t k = 0; k < n; k++)
		report(&c[k], c[0].ms, runs);
	return 0;
}
