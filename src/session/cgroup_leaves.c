/* SPDX-License-Identifier: MIT */
/* cgroup_leaves.c - groups for one command each, below the workload's; see cgroup.h.
 *
 * Made once, at the start, and used again and again: to make and remove one costs what a command
 * costs, and leaves dying groups behind. Their limits are a little narrower than the workload's, so
 * that one which is full leaves room for the next command beside it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "session/cgroup.h"
#include "session/cgroup_tree.h"

#define RESERVE_BYTES ((uint64_t)64 << 20)
#define RESERVE_BYTES_MIN ((uint64_t)4 << 20)
#define RESERVE_PIDS 64u
#define RESERVE_PIDS_MIN 8u

/* A sixteenth within bounds, but never more than a quarter. */
static uint64_t narrower(uint64_t limit, uint64_t least, uint64_t most)
{
	uint64_t reserve = limit / 16;

	if (limit == LIMIT_NONE)
		return LIMIT_NONE;
	if (reserve < least)
		reserve = least;
	if (reserve > most)
		reserve = most;
	if (reserve > limit / 4)
		reserve = limit / 4;
	return limit - reserve;
}

uint64_t cgroup_leaf_memory(const struct limits *l)
{
	return narrower(l->memory_bytes, RESERVE_BYTES_MIN, RESERVE_BYTES);
}

uint64_t cgroup_leaf_pids(const struct limits *l)
{
	return narrower(l->pids, RESERVE_PIDS_MIN, RESERVE_PIDS);
}

enum { V1 = 1, V2 = 2, LEAF = 4, ABOVE = 8 };

/* Where each count is. */
static const struct counter {
	enum ctl_counter kind;
	enum controller controller; /* CONTROLLER_COUNT: there without any */
	unsigned where;
	const char *file;
} counters[] = {
	{ CTL_COUNT_CPU, CONTROLLER_CPUACCT, V1 | LEAF, "cpuacct.usage" },
	{ CTL_COUNT_CPU, CONTROLLER_COUNT, V2 | LEAF, "cpu.stat" },
	{ CTL_COUNT_CPU_LIMIT, CONTROLLER_CPU, V1 | V2 | ABOVE, "cpu.stat" },
	{ CTL_COUNT_MEMORY_PEAK, CONTROLLER_MEMORY, V1 | LEAF, "memory.max_usage_in_bytes" },
	{ CTL_COUNT_MEMORY_PEAK, CONTROLLER_MEMORY, V2 | LEAF, "memory.peak" },
	{ CTL_COUNT_MEMORY_EVENTS, CONTROLLER_MEMORY, V1 | LEAF | ABOVE, "memory.oom_control" },
	{ CTL_COUNT_MEMORY_EVENTS, CONTROLLER_MEMORY, V2 | LEAF | ABOVE, "memory.events" },
	{ CTL_COUNT_PIDS, CONTROLLER_PIDS, V1 | V2 | LEAF, "pids.current" },
	{ CTL_COUNT_PIDS_EVENTS, CONTROLLER_PIDS, V1 | V2 | LEAF | ABOVE, "pids.events" },
};

static void open_counters(const struct cgroup_tree *t, int group, unsigned where,
			  int counter[CTL_COUNTERS])
{
	unsigned wanted = where | (t->v2 ? V2 : V1);

	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		const struct counter *c = &counters[i];

		if ((c->where & wanted) != wanted ||
		    (c->controller != CONTROLLER_COUNT && !t->has[c->controller]))
			continue;
		/* A peak that can be written to can be set back. A file that is not there is not
		 * counted by this kernel: an action then says so. */
		if (c->kind == CTL_COUNT_MEMORY_PEAK)
			counter[c->kind] = openat(group, c->file, O_RDWR | O_CLOEXEC);
		if (counter[c->kind] < 0)
			counter[c->kind] = openat(group, c->file, O_RDONLY | O_CLOEXEC);
	}
}

static int open_file(int group, const char *file, int flags, struct err *e)
{
	int fd = openat(group, file, flags | O_CLOEXEC);

	return fd < 0 ? err_errno(e, "open '%s'", file) : fd;
}

static int limit_leaf(const struct plan *p, const struct cgroup_tree *t, int group, struct err *e)
{
	struct limits l = p->limits;

	l.memory_bytes = cgroup_leaf_memory(&p->limits);
	l.pids = cgroup_leaf_pids(&p->limits);
	if (t->has[CONTROLLER_MEMORY] && cgroup_limit_memory(&l, p->host, t, group, e) < 0)
		return -e->code;
	return t->has[CONTROLLER_PIDS] ? cgroup_write_number(group, "pids.max", l.pids, e) : 0;
}

static int open_ways_in(const struct cgroup_tree *t, int group, struct ctl_leaf *leaf,
			struct err *e)
{
	int *way = t->v2 ? &leaf->procs : &leaf->tasks[leaf->n_tasks];

	*way = open_file(group, t->v2 ? "cgroup.procs" : "tasks", O_WRONLY, e);
	if (*way < 0)
		return *way;
	leaf->n_tasks += !t->v2;
	if (leaf->list < 0)
		leaf->list = fcntl(group, F_DUPFD_CLOEXEC, 3);
	if (t->v2)
		leaf->dir = fcntl(group, F_DUPFD_CLOEXEC, 3);
	return leaf->list < 0 || (t->v2 && leaf->dir < 0) ? err_errno(e, "group") : 0;
}

static int leaf_in_tree(const struct plan *p, const struct cgroup_tree *t, int work, unsigned n,
			uid_t init_uid, struct ctl_leaf *leaf, struct err *e)
{
	char name[12];
	autoclose int group = -1;

	(void)snprintf(name, sizeof(name), "%u", n);
	group = cgroup_make_below(work, name, e);
	if (group < 0 || limit_leaf(p, t, group, e) < 0 || open_ways_in(t, group, leaf, e) < 0)
		return err_wrap(e, "leaf %u", n);
	if (t->v2 && cgroup_let_in(p, group, "cgroup.procs", init_uid, e) < 0)
		return err_wrap(e, "leaf %u", n);
	if (t->has[CONTROLLER_PIDS]) {
		leaf->pids_max = open_file(group, "pids.max", O_WRONLY, e);
		if (leaf->pids_max < 0)
			return leaf->pids_max;
	}
	open_counters(t, group, LEAF, leaf->counter);
	return 0;
}

/* v2: what the leaves shall have must be handed down, and a leaf that is full is no reason to end
 * what is in the others: nor is it when all together are. */
static int open_v2(const struct cgroup_tree *t, int work, struct err *e)
{
	const char *text = "+memory";

	if (t->has[CONTROLLER_PIDS])
		text = t->has[CONTROLLER_MEMORY] ? "+memory +pids" : "+pids";
	else if (!t->has[CONTROLLER_MEMORY])
		return 0;
	if (io_write_text(work, "cgroup.subtree_control", text, e) < 0)
		return -e->code;
	return t->has[CONTROLLER_MEMORY] ? io_write_text(work, "memory.oom.group", "0", e) : 0;
}

static int leaves_in_tree(const struct plan *p, const struct cgroup_tree *t, const char *id,
			  uid_t init_uid, struct cgroup *out, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/" CGROUP_SHARED "/%s%s", t->parent, id,
				      cgroup_tree_is_flat(t) ? "" : "/" CGROUP_WORK);
	autoclose int work = -1;

	if (!path)
		return -e->code;
	work = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (work < 0)
		return err_errno(e, "open group '%s'", path);
	open_counters(t, work, ABOVE, out->above);
	if (!cgroup_tree_has_leaves(p, t))
		return 0;
	if (t->v2 && open_v2(t, work, e) < 0)
		return err_wrap(e, "group '%s'", path);
	for (unsigned i = 0; i < p->leaves; i++)
		if (leaf_in_tree(p, t, work, i, init_uid, &out->leaves[i], e) < 0)
			return err_wrap(e, "group '%s'", path);
	return 0;
}

int cgroup_leaves_up(const struct plan *p, const struct record *r, uid_t init_uid,
		     struct cgroup *out, struct err *e)
{
	struct cgroup_tree tree[CONTROLLER_COUNT];
	unsigned trees = cgroup_trees(p, tree);

	if (!p->leaves)
		return 0;
	for (unsigned i = 0; i < trees; i++)
		if (leaves_in_tree(p, &tree[i], r->id, init_uid, out, e) < 0)
			return -e->code;
	out->n_leaves = p->leaves;
	return 0;
}
