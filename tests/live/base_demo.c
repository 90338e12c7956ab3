/* SPDX-License-Identifier: MIT */
/* base_demo.c - find or make the base of a repository's revision, and say what it is made of.
 *
 *	base_demo [--state DIR] [--repo DIR] [--rev REV] [--reachable] [--trust] [--find N]
 *		  [--dirty UPPER] [--evict BYTES] [--differs]
 *
 * Prints "found" or "made", then a line each: commit, owner, layer, objects. With --find it looks
 * N times and prints the median time in microseconds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "session/worktree.h"

struct demo {
	const char *state, *dirty, *evict;
	bool differs;
	uint64_t find;
	struct request request;
	struct policy policy;
	struct host host;
	struct plan plan;
};

static int parse(struct demo *d, char **argv, struct err *e)
{
	for (; *argv; argv++) {
		const char *value = argv[1];

		if (str_eq(*argv, "--reachable"))
			d->plan.reachable_objects = true;
		else if (str_eq(*argv, "--trust"))
			d->request.trust_repo = true;
		else if (str_eq(*argv, "--differs"))
			d->differs = true;
		else if (!value)
			return err_code(e, EINVAL, "unknown word '%s'", *argv);
		else if (argv++, str_eq(argv[-1], "--state"))
			d->state = value;
		else if (str_eq(argv[-1], "--repo"))
			d->request.path = argv[0];
		else if (str_eq(argv[-1], "--rev"))
			d->request.rev = argv[0];
		else if (str_eq(argv[-1], "--dirty"))
			d->dirty = value;
		else if (str_eq(argv[-1], "--evict"))
			d->evict = value;
		else if (!str_eq(argv[-1], "--find") || str_u64(value, 1, 100000, &d->find, e) < 0)
			return err_code(e, EINVAL, "unknown word '%s'", argv[-1]);
	}
	return 0;
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int measure(const struct demo *d, int state, struct err *e)
{
	autofree double *times = calloc(d->find, sizeof(*times));
	struct base b = BASE_NONE;

	if (!times)
		return err_code(e, ENOMEM, "out of memory");
	for (uint64_t i = 0; i < d->find; i++) {
		double start = now_us();
		int n = worktree_find(&d->plan, state, &b, e);

		times[i] = now_us() - start;
		if (n <= 0)
			return n < 0 ? n : err_code(e, ENOENT, "not found");
		base_clear(&b);
	}
	qsort(times, d->find, sizeof(*times), by_value);
	printf("find %.1f us\n", times[d->find / 2]);
	return 0;
}

static void show(const struct base *b)
{
	printf("repo %s\ncommit %s\nowner %u:%u\n", b->repo_id, b->commit, b->owner, b->group);
	for (unsigned i = 0; i < b->n_layers; i++)
		printf("layer %s\n", b->layers[i]);
	for (unsigned i = 0; i < b->n_objects; i++)
		printf("objects %s\n", b->objects[i]);
}

static int carry(const struct demo *d, const struct base *b, struct err *e)
{
	autoclose int upper = open(d->dirty, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int n;

	if (upper < 0)
		return err_errno(e, "open '%s'", d->dirty);
	n = worktree_dirty(&d->plan, b, upper, b->owner, b->group, e);
	if (n >= 0)
		printf("carried %d\n", n);
	return n;
}

static int look(const struct demo *d, int state, struct err *e)
{
	struct base b = BASE_NONE;
	double start = now_us();
	int n = worktree_find(&d->plan, state, &b, e);
	const char *what = n > 0 ? "found" : "made";

	if (n == 0)
		n = worktree_make(&d->plan, state, &b, e);
	if (n < 0)
		return n;
	printf("%s %.1f ms\n", what, (now_us() - start) / 1e3);
	show(&b);
	n = d->dirty ? carry(d, &b, e) : 0;
	base_clear(&b);
	return n;
}

static int run(struct demo *d, struct err *e)
{
	autoclose int state = open(d->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t cap;
	int n;

	if (state < 0)
		return err_errno(e, "open '%s'", d->state);
	if (d->evict) {
		if (str_u64(d->evict, 0, UINT64_MAX, &cap, e) < 0)
			return -e->code;
		n = worktree_evict(state, cap, e);
		if (n >= 0)
			printf("evicted %d\n", n);
		return n;
	}
	if (d->differs) {
		n = worktree_differs(&d->plan, 10000, e);
		if (n >= 0)
			printf("differs %d\n", n);
		return n;
	}
	return d->find ? measure(d, state, e) : look(d, state, e);
}

int main(int argc, char **argv)
{
	struct demo d = { .state = "state" };
	struct err e = { 0 };

	(void)argc;
	d.host.git_name = (char *)"Host User";
	d.host.git_email = (char *)"host@example.org";
	d.plan.request = &d.request;
	d.plan.policy = &d.policy;
	d.plan.host = &d.host;
	d.request.path = (char *)".";
	if (parse(&d, argv + 1, &e) < 0 || run(&d, &e) < 0) {
		log_error("%s", e.text);
		return 1;
	}
	return 0;
}
