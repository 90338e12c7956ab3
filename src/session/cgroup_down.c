/* SPDX-License-Identifier: MIT */
/* cgroup_down.c - what groups have counted, and how they are emptied and removed; see cgroup.h.
 *
 * Works from the record's names alone. A name that is not there any more is no error. */
#include "session/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "session/cgroup_tree.h"

#define FILE_MAX ((size_t)1 << 20)
#define EMPTY_MS 5000 /* what was killed dies within this, or the group stays and says so */
#define LOOK_MS 2

/* Only names of the form that cgroup_names gives are touched, whatever a record says. */
static int check_name(const struct record *r, const char *path, struct err *e)
{
	const char *tail = strstr(path, "/" CGROUP_SHARED "/");
	size_t len = strlen(r->id);

	if (tail)
		tail += sizeof("/" CGROUP_SHARED "/") - 1;
	if (path[0] == '/' && tail && len && strncmp(tail, r->id, len) == 0 &&
	    (str_eq(tail + len, "") || str_eq(tail + len, "/" CGROUP_WORK) ||
	     str_eq(tail + len, "/" CGROUP_EXECUTOR)))
		return 0;
	return err_code(e, EINVAL, "'%s' is not a group of session %s", path, r->id);
}

static bool is_top(const struct record *r, const char *path)
{
	return str_ends(path, r->id);
}

int cgroup_open(const struct record *r, const char *path, struct err *e)
{
	int fd;

	if (check_name(r, path, e) < 0)
		return -e->code;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "open group '%s'", path) : fd;
}

/* Is `pid` on this list of the group's? */
static bool lists(const char *procs, long pid)
{
	while (*procs) {
		if (strtol(procs, NULL, 10) == pid)
			return true;
		procs += strcspn(procs, "\n");
		procs += *procs == '\n';
	}
	return false;
}

/* A number may have gone to another process since it was read. It is the group's when it is still
 * listed after we took hold of it. */
static int kill_one(int group, long pid, struct err *e)
{
	autobuf struct buf again = { 0 };
	autoclose int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (pidfd < 0)
		return errno == ESRCH ? 0 : err_errno(e, "open process %ld", pid);
	if (io_read_file(group, "cgroup.procs", FILE_MAX, &again, e) < 0)
		return e->code == ENOENT || e->code == ENODEV ? 0 : -e->code;
	if (!lists(buf_str(&again), pid))
		return 0;
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return err_errno(e, "kill process %ld", pid);
	return 0;
}

static int kill_listed(int group, struct err *e)
{
	autobuf struct buf procs = { 0 };
	const char *at;

	if (io_read_file(group, "cgroup.procs", FILE_MAX, &procs, e) < 0)
		return e->code == ENOENT || e->code == ENODEV ? 0 : -e->code;
	for (at = buf_str(&procs); *at; at += *at == '\n') {
		long pid = strtol(at, NULL, 10);

		/* 0: a process that our pid namespace does not show */
		if (pid > 0 && kill_one(group, pid, e) < 0)
			return -e->code;
		at += strcspn(at, "\n");
	}
	return 0;
}

static const char *leaf_name(unsigned i, char name[12])
{
	(void)snprintf(name, 12, "%u", i);
	return name;
}

static int kill_leaves(int group, struct err *e)
{
	char name[12];

	for (unsigned i = 0; i < CTL_LEAVES; i++) {
		autoclose int leaf = openat(group, leaf_name(i, name),
					    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (leaf >= 0 && kill_listed(leaf, e) < 0)
			return -e->code;
	}
	return 0;
}

static int kill_group(int group, struct err *e)
{
	/* v2 since 5.14: all at once, forks and groups below included. */
	if (io_write_text(group, "cgroup.kill", "1", e) == 0)
		return 0;
	return kill_leaves(group, e) < 0 ? -e->code : kill_listed(group, e);
}

int cgroup_kill(const struct record *r, struct err *e)
{
	struct err first = { 0 };

	for (unsigned i = 0; i < r->n_groups; i++) {
		struct err next = { 0 };
		autoclose int group = cgroup_open(r, r->group[i], &next);

		if (group < 0 ? next.code != ENOENT : kill_group(group, &next) < 0)
			err_keep(&first, &next);
	}
	if (!first.code)
		return 0;
	*e = first;
	return -e->code;
}

bool cgroup_workload_ended(const struct record *r)
{
	bool told = false;

	for (unsigned i = 0; i < r->n_groups; i++) {
		autobuf struct buf procs = { 0 };
		autoclose int group = -1;
		struct err e;

		if (!str_ends(r->group[i], "/" CGROUP_WORK))
			continue;
		group = cgroup_open(r, r->group[i], &e);
		/* Who is not listed any more has let go of all its files. */
		if (group < 0 || io_read_file(group, "cgroup.procs", FILE_MAX, &procs, &e) < 0 ||
		    procs.len)
			return false;
		told = true;
	}
	return told;
}

void cgroup_shed(const struct record *r)
{
	struct err ignored;

	for (unsigned i = 0; i < r->n_groups; i++)
		if (str_ends(r->group[i], "/" CGROUP_WORK) &&
		    check_name(r, r->group[i], &ignored) == 0)
			(void)rmdir(r->group[i]); /* cgroup_down() says what stays */
}

/* v2 says when the last process is gone; v1 is looked at again. */
static void wait_a_little(int group)
{
	autoclose int events = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd p = { .fd = events, .events = POLLPRI };

	/* Whether it was the event or the time, the caller tries again. */
	(void)poll(&p, 1, LOOK_MS);
}

/* Leaves first: a group with groups below it is as busy as one with processes. Each of them is
 * tried: whoever did this before may have been killed in the middle. */
static int rmdir_whole(const struct record *r, const char *path)
{
	char leaf[4096 + 16], name[12];

	for (unsigned i = 0; r->stays && i < CTL_LEAVES; i++) {
		(void)snprintf(leaf, sizeof(leaf), "%.4096s/%s", path, leaf_name(i, name));
		(void)rmdir(leaf); /* one that is still there keeps the group above, below */
	}
	return rmdir(path);
}

static int remove_group(const struct record *r, const char *path, struct err *e)
{
	uint64_t deadline = 0;

	/* As a rule all processes are gone by now, and nothing else is needed. */
	while (rmdir_whole(r, path) < 0) {
		autoclose int group = -1;

		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return err_errno(e, "remove group '%s'", path);
		if (!deadline)
			deadline = clock_ms() + EMPTY_MS;
		else if (clock_ms() > deadline)
			return err_code(e, EBUSY, "remove group '%s': its processes do not die",
					path);
		group = cgroup_open(r, path, e);
		if (group < 0 && e->code == ENOENT)
			return 0;
		if (group < 0 || kill_group(group, e) < 0)
			return -e->code;
		wait_a_little(group);
	}
	return 0;
}

int cgroup_down(const struct record *r, struct err *e)
{
	struct err first = { 0 };

	for (unsigned i = r->n_groups; i-- > 0;) {
		const char *path = r->group[i];
		struct err next = { 0 };

		if (check_name(r, path, &next) < 0 || remove_group(r, path, &next) < 0)
			err_keep(&first, &next);
	}
	if (!first.code)
		return 0;
	*e = first;
	return -e->code;
}

/* The number behind `key` in a file of "key number" lines, or of a file that is one number (key
 * NULL). 0 where there is no such file or line: another hierarchy has it, or nobody. */
static int read_number(int group, const char *file, const char *key, uint64_t *value, struct err *e)
{
	autobuf struct buf text = { 0 };
	const char *at;

	*value = 0;
	if (io_read_file(group, file, FILE_MAX, &text, e) < 0)
		return e->code == ENOENT || e->code == ENODEV ? 0 : -e->code;
	for (at = buf_str(&text); key && *at; at += *at == '\n') {
		size_t len = strlen(key);

		if (strncmp(at, key, len) == 0 && at[len] == ' ') {
			at += len + 1;
			break;
		}
		at += strcspn(at, "\n");
	}
	*value = strtoull(at, NULL, 10);
	return 0;
}

enum usage_kind { PEAK, CPU, HIT_MEMORY, HIT_PIDS, HIT_CPU, USAGE_KINDS };
enum { TOP = 1, LEAF = 2 };

/* What counts is read from whichever hierarchy has it, v1 or v2: the files' names differ. The
 * session's own group has the sums; limits are hit on the leaf, of which cpu's on v1 is both. */
static const struct counter {
	const char *file, *key;
	unsigned per; /* units in one of ours */
	unsigned where;
	enum usage_kind kind;
} counters[] = {
	{ "memory.peak", NULL, 1, TOP, PEAK },
	{ "memory.max_usage_in_bytes", NULL, 1, TOP, PEAK },
	{ "cpu.stat", "usage_usec", 1000, TOP, CPU },
	{ "cpuacct.usage", NULL, 1000000, TOP, CPU },
	{ "memory.events", "oom_kill", 1, LEAF, HIT_MEMORY },
	{ "memory.oom_control", "oom_kill", 1, LEAF, HIT_MEMORY },
	{ "pids.events", "max", 1, LEAF, HIT_PIDS },
	{ "cpu.stat", "nr_throttled", 1, TOP | LEAF, HIT_CPU },
};

static int read_group(int group, unsigned where, uint64_t found[USAGE_KINDS], struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		const struct counter *c = &counters[i];
		uint64_t value;

		if (!(c->where & where))
			continue;
		if (read_number(group, c->file, c->key, &value, e) < 0)
			return -e->code;
		value /= c->per;
		if (value > found[c->kind])
			found[c->kind] = value;
	}
	return 0;
}

int cgroup_usage(const struct record *r, struct usage *u, struct err *e)
{
	uint64_t found[USAGE_KINDS] = { 0 };

	for (unsigned i = 0; i < r->n_groups; i++) {
		autoclose int group = cgroup_open(r, r->group[i], e);

		if (group < 0 && e->code == ENOENT)
			continue;
		if (group < 0 ||
		    read_group(group, is_top(r, r->group[i]) ? TOP : LEAF, found, e) < 0)
			return err_wrap(e, "usage");
	}
	*u = (struct usage) {
		.cpu_ms = found[CPU],
		.peak_memory_bytes = found[PEAK],
		.hit_memory = found[HIT_MEMORY],
		.hit_pids = found[HIT_PIDS],
		.hit_cpu = found[HIT_CPU],
	};
	return 0;
}
