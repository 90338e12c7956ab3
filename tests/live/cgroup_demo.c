/* SPDX-License-Identifier: MIT */
/* cgroup_demo.c - a session's groups without a session: what bounds it, what says so, what ends it.
 *
 *	cgroup_demo TEST | cgroup_demo (lists them)
 *
 * On whatever hierarchies this host has. 77: it has not what the test needs. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/host.h"
#include "session/cgroup.h"

#define MIB ((uint64_t)1 << 20)

static void die(const char *fmt, ...) printf_like(1, 2);

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("# ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	_exit(1);
}

#define OK(call)                                              \
	do {                                                  \
		struct err e = { 0 };                         \
                                                              \
		if ((call) < 0)                               \
			die("line %d: %s", __LINE__, e.text); \
	} while (0)
#define CHECK(truth)                                                  \
	do {                                                          \
		if (!(truth))                                         \
			die("line %d: not so: %s", __LINE__, #truth); \
	} while (0)

struct demo {
	struct host *host;
	struct plan plan;
	struct record record;
	struct cgroup group;
};

static void need(const struct demo *d, enum controller c)
{
	if (d->host->controller[c].usable)
		return;
	(void)puts("no such controller here");
	exit(77);
}

static void up(struct demo *d)
{
	d->plan.host = d->host;
	d->plan.ids = d->host->ids;
	(void)strcpy(d->record.id, "0123456789ab");
	OK(cgroup_names(&d->plan, d->record.id, d->record.group, &d->record.n_groups, &e));
	OK(cgroup_up(&d->plan, &d->record, geteuid(), &d->group, &e));
}

static void down(struct demo *d)
{
	cgroup_clear(&d->group);
	OK(cgroup_down(&d->record, &e));
	OK(cgroup_down(&d->record, &e)); /* twice is once */
	while (d->record.n_groups) {
		char *name = d->record.group[--d->record.n_groups];

		CHECK(access(name, F_OK) < 0 && errno == ENOENT);
		free(name);
	}
}

/* A child in the executor's groups, or in the workload's, as the two sides do it. */
static pid_t start(const struct demo *d, bool work, void (*run)(void))
{
	const int *tasks = work ? d->group.work_tasks : d->group.tasks;
	unsigned n = work ? d->group.n_work_tasks : d->group.n_tasks;
	int dir = work ? d->group.work_dir : d->group.dir;
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid;

	if (dir >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)dir;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	CHECK(pid >= 0);
	if (pid > 0)
		return pid;
	for (unsigned i = 0; i < n; i++)
		CHECK(write(tasks[i], "0", 1) == 1);
	run();
	_exit(0);
}

static int end_of(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static struct usage usage_of(const struct demo *d)
{
	struct usage u;

	OK(cgroup_usage(&d->record, &u, &e));
	return u;
}

static void eat_memory(void)
{
	for (unsigned i = 0; i < 256; i++) {
		char *piece =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(piece != MAP_FAILED);
		memset(piece, 1, MIB);
	}
}

static void wait_for_signal(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	for (;;)
		(void)pause();
}

static void workload_out_of_memory_ends_and_the_executor_does_not(struct demo *d)
{
	struct usage u;
	pid_t executor;

	need(d, CONTROLLER_MEMORY);
	d->plan.limits.memory_bytes = 32 * MIB;
	d->plan.limits.swap_bytes = d->host->controller[CONTROLLER_MEMORY].swap ? 0 : LIMIT_NONE;
	up(d);
	executor = start(d, false, wait_for_signal);
	CHECK(!usage_of(d).hit_memory);
	CHECK(WTERMSIG(end_of(start(d, true, eat_memory))) == SIGKILL);
	u = usage_of(d);
	CHECK(u.hit_memory && !u.hit_pids);
	CHECK(u.peak_memory_bytes >= 30 * MIB && u.peak_memory_bytes <= 64 * MIB);
	CHECK(waitpid(executor, NULL, WNOHANG) == 0);
	CHECK(kill(executor, SIGKILL) == 0);
	(void)end_of(executor);
	down(d);
}

static void fork_until_refused(void)
{
	for (unsigned i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0)
			wait_for_signal();
		if (pid < 0)
			_exit(errno == EAGAIN && i > 10 && i < 30 ? 7 : 8);
	}
	_exit(9);
}

static void forks_stop_at_the_limit_and_their_processes_go_with_the_groups(struct demo *d)
{
	need(d, CONTROLLER_PIDS);
	d->plan.limits.pids = 20;
	up(d);
	CHECK(WEXITSTATUS(end_of(start(d, true, fork_until_refused))) == 7);
	CHECK(usage_of(d).hit_pids);
	/* The executor has its reserve. */
	CHECK(WIFEXITED(end_of(start(d, false, sync))));
	down(d);
}

static void spin(void)
{
	struct timespec t;

	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 60000000);
}

static void too_much_cpu_is_said(struct demo *d)
{
	need(d, CONTROLLER_CPU);
	d->plan.limits.cpu_milli = 100;
	up(d);
	CHECK(!usage_of(d).hit_cpu);
	CHECK(end_of(start(d, true, spin)) == 0);
	CHECK(usage_of(d).hit_cpu);
	down(d);
}

static void breed(void)
{
	/* Always two processes, each new: whoever kills one by one comes late. */
	for (;;) {
		pid_t pid = fork();

		if (pid > 0)
			_exit(0);
	}
}

static void processes_that_breed_go_with_the_groups(struct demo *d)
{
	need(d, CONTROLLER_PIDS);
	d->plan.limits.pids = 20;
	up(d);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)start(d, true, breed);
	OK(cgroup_kill(&d->record, &e));
	down(d);
}

static void start_over_the_remains_of_another_takes_them_over(struct demo *d)
{
	need(d, CONTROLLER_PIDS);
	d->plan.limits.pids = 20;
	up(d);
	cgroup_clear(&d->group);
	while (d->record.n_groups)
		free(d->record.group[--d->record.n_groups]);
	d->plan.limits.pids = 30;
	up(d);
	CHECK(end_of(start(d, true, sync)) == 0);
	down(d);
}

static const struct {
	const char *name;
	void (*run)(struct demo *d);
} tests[] = {
#define TEST(f)       \
	{             \
#f, f \
	}
	TEST(workload_out_of_memory_ends_and_the_executor_does_not),
	TEST(forks_stop_at_the_limit_and_their_processes_go_with_the_groups),
	TEST(too_much_cpu_is_said),
	TEST(processes_that_breed_go_with_the_groups),
	TEST(start_over_the_remains_of_another_takes_them_over),
};

int main(int argc, char **argv)
{
	struct demo d = { .plan.limits = { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, 0, 0, 0,
					   0 } };

	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(tests); i++) {
		if (strcmp(argv[1], tests[i].name) != 0)
			continue;
		OK(host_probe("/tmp", &d.host, &e));
		tests[i].run(&d);
		host_free(d.host);
		return 0;
	}
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(tests); i++)
		(void)puts(tests[i].name);
	return argc == 1 ? 0 : 2;
}
