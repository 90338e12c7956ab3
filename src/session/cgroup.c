/* SPDX-License-Identifier: MIT */
/* cgroup.c - groups come into being; see cgroup.h, and cgroup_down.c for how they go. */
#include "session/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "session/cgroup_tree.h"

#define PERIOD_US 100000u
#define MAKE_TRIES 100

unsigned cgroup_trees(const struct plan *p, struct cgroup_tree tree[CONTROLLER_COUNT])
{
	unsigned n = 0;

	for (unsigned c = 0; c < CONTROLLER_COUNT; c++) {
		const struct host_controller *at = &p->host->controller[c];
		unsigned i = 0;

		/* Memory and processes are counted also where they are not limited, and the CPU where
		 * there are commands to count it for. */
		if (!at->usable || (c == CONTROLLER_CPU && p->limits.cpu_milli == LIMIT_NONE) ||
		    (c == CONTROLLER_CPUACCT && !p->leaves))
			continue;
		while (i < n && strcmp(tree[i].parent, at->parent) != 0)
			i++;
		if (i == n)
			tree[n++] = (struct cgroup_tree) { .parent = at->parent, .v2 = at->v2 };
		tree[i].has[c] = true;
	}
	return n;
}

bool cgroup_born_in(const struct plan *p)
{
	struct cgroup_tree tree[CONTROLLER_COUNT];
	unsigned trees = cgroup_trees(p, tree);

	for (unsigned i = 0; i < trees; i++)
		if (tree[i].v2)
			return true;
	return false;
}

bool cgroup_tree_is_flat(const struct cgroup_tree *t)
{
	return !t->v2 && !t->has[CONTROLLER_MEMORY] && !t->has[CONTROLLER_PIDS];
}

bool cgroup_tree_has_leaves(const struct plan *p, const struct cgroup_tree *t)
{
	return p->leaves && (!cgroup_tree_is_flat(t) || t->has[CONTROLLER_CPUACCT]);
}

static int add_name(char *group[8], unsigned *n, const struct cgroup_tree *t, const char *id,
		    const char *leaf, struct err *e)
{
	group[*n] =
		str_fmt(e, "%s/" CGROUP_SHARED "/%s%s%s", t->parent, id, *leaf ? "/" : "", leaf);
	if (!group[*n])
		return -e->code;
	(*n)++;
	return 0;
}

int cgroup_names(const struct plan *p, const char *id, char *group[8], unsigned *n, struct err *e)
{
	struct cgroup_tree tree[CONTROLLER_COUNT];
	unsigned trees = cgroup_trees(p, tree), made = 0;
	int r = 0;

	for (unsigned i = 0; i < trees && r == 0; i++) {
		r = add_name(group, &made, &tree[i], id, "", e);
		if (r == 0 && tree[i].v2)
			r = add_name(group, &made, &tree[i], id, CGROUP_EXECUTOR, e);
		if (r == 0 && !cgroup_tree_is_flat(&tree[i]))
			r = add_name(group, &made, &tree[i], id, CGROUP_WORK, e);
	}
	if (r < 0) {
		while (made)
			free(group[--made]);
		return r;
	}
	*n = made;
	return 0;
}

/* "+memory +pids", for cgroup.subtree_control. */
static void enable_text(const struct cgroup_tree *t, char text[64])
{
	static const char *const names[CONTROLLER_COUNT] = { "memory", "pids", "cpu", NULL };

	text[0] = '\0';
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if (t->has[c] && names[c])
			(void)sprintf(text + strlen(text), "%s+%s", *text ? " " : "", names[c]);
}

/* The session's own group in this hierarchy. `clean` may take the parent away again between our making
 * it and our using it. */
static int make_top(const struct cgroup_tree *t, const char *id, struct err *e)
{
	autofree char *shared = str_fmt(e, "%s/" CGROUP_SHARED, t->parent);
	autofree char *top = str_fmt(e, "%s/" CGROUP_SHARED "/%s", t->parent, id);
	int fd;

	if (!shared || !top)
		return -e->code;
	for (int tries = 0; tries < MAKE_TRIES; tries++) {
		/* A group of this name can only be ours, left by a start that died. */
		if (mkdir(top, 0755) == 0 || errno == EEXIST) {
			fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
			return fd < 0 ? err_errno(e, "open group '%s'", top) : fd;
		}
		if (errno != ENOENT || (mkdir(shared, 0755) < 0 && errno != EEXIST))
			break;
	}
	return err_errno(e, "make group '%s'", top);
}

int cgroup_make_below(int top, const char *name, struct err *e)
{
	int fd;

	if (mkdirat(top, name, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "make group '%s'", name);
	fd = openat(top, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "open group '%s'", name) : fd;
}

/* v2: hand the controllers down to the session's leaves. The groups above may not have them yet,
 * or no more since all sessions had gone. */
static int enable_controllers(const struct cgroup_tree *t, int top, struct err *e)
{
	char text[64];
	autoclose int parent = -1;

	enable_text(t, text);
	if (io_write_text(top, "cgroup.subtree_control", text, e) == 0)
		return 0;
	parent = open(t->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return err_errno(e, "open group '%s'", t->parent);
	if (io_write_text(parent, "cgroup.subtree_control", text, e) < 0 ||
	    io_write_text(parent, CGROUP_SHARED "/cgroup.subtree_control", text, e) < 0 ||
	    io_write_text(top, "cgroup.subtree_control", text, e) < 0)
		return err_wrap(e, "group '%s'", t->parent);
	return 0;
}

int cgroup_write_number(int group, const char *file, uint64_t value, struct err *e)
{
	char text[32];

	if (value == LIMIT_NONE)
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return io_write_text(group, file, text, e);
}

static uint64_t with_reserve(uint64_t limit, uint64_t reserve)
{
	return limit > INT64_MAX - reserve ? limit : limit + reserve;
}

/* v1 counts memory and swap as one sum, which may not be below the limit of memory alone. */
static int limit_swap_v1(const struct limits *l, int work, struct err *e)
{
	if (l->memory_bytes == LIMIT_NONE)
		return err_code(e, EOPNOTSUPP,
				"swap can be limited here only together with memory");
	return cgroup_write_number(work, "memory.memsw.limit_in_bytes",
				   with_reserve(l->memory_bytes, l->swap_bytes), e);
}

static const char *memory_file(const struct cgroup_tree *t)
{
	return t->v2 ? "memory.max" : "memory.limit_in_bytes";
}

int cgroup_limit_memory(const struct limits *l, const struct host *h, const struct cgroup_tree *t,
			int group, struct err *e)
{
	if (cgroup_write_number(group, memory_file(t), l->memory_bytes, e) < 0)
		return -e->code;
	if (l->swap_bytes == LIMIT_NONE || !h->controller[CONTROLLER_MEMORY].swap)
		return 0;
	return t->v2 ? cgroup_write_number(group, "memory.swap.max", l->swap_bytes, e)
		     : limit_swap_v1(l, group, e);
}

static int limit_memory(const struct plan *p, const struct cgroup_tree *t, int top, int work,
			struct err *e)
{
	uint64_t sum = with_reserve(p->limits.memory_bytes, CGROUP_RESERVE_BYTES);

	if (cgroup_write_number(top, memory_file(t), sum, e) < 0)
		return -e->code;
	/* A workload that lost one of its processes for want of memory is no workload any more; and it
	 * is told so at once instead of by what its parts then do. */
	if (t->v2 && io_write_text(work, "memory.oom.group", "1", e) < 0)
		return -e->code;
	return cgroup_limit_memory(&p->limits, p->host, t, work, e);
}

static int limit_cpu(const struct plan *p, const struct cgroup_tree *t, int work, struct err *e)
{
	uint64_t quota_us = p->limits.cpu_milli * PERIOD_US / 1000;
	char text[64];

	if (!t->v2)
		return cgroup_write_number(work, "cpu.cfs_quota_us", quota_us, e);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %u", quota_us, PERIOD_US);
	return io_write_text(work, "cpu.max", text, e);
}

static int write_limits(const struct plan *p, const struct cgroup_tree *t, int top, int work,
			struct err *e)
{
	uint64_t pids = p->limits.pids;

	if (t->has[CONTROLLER_MEMORY] && limit_memory(p, t, top, work, e) < 0)
		return -e->code;
	if (t->has[CONTROLLER_PIDS] &&
	    (cgroup_write_number(top, "pids.max", with_reserve(pids, CGROUP_RESERVE_PIDS), e) < 0 ||
	     cgroup_write_number(work, "pids.max", pids, e) < 0))
		return -e->code;
	return t->has[CONTROLLER_CPU] ? limit_cpu(p, t, work, e) : 0;
}

/* v1: a process enters by writing "0" to this descriptor. Writing pids into cgroup.procs instead
 * waits some ten milliseconds, after any idle gap, for a lock that all forks take. */
static int open_tasks(int group, int *tasks, unsigned *n, struct err *e)
{
	int fd = openat(group, "tasks", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "open 'tasks'");
	tasks[(*n)++] = fd;
	return 0;
}

/* v2: to clone into a group takes the right to write its cgroup.procs, and that of the group
 * above both. An ordinary user cannot give the files to init's id, which is not his: they are
 * opened to all, below a directory that nobody else may enter. */
int cgroup_let_in(const struct plan *p, int group, const char *file, uid_t init_uid, struct err *e)
{
	if (init_uid == geteuid())
		return 0;
	if (p->ids == IDS_ROOT ? fchownat(group, file, init_uid, (gid_t)-1, 0) < 0
			       : fchmodat(group, file, 0666, 0) < 0)
		return err_errno(e, "let init write '%s'", file);
	return 0;
}

static int let_init_in(const struct plan *p, int top, uid_t init_uid, struct err *e)
{
	static const char *const files[] = { "cgroup.procs", CGROUP_EXECUTOR "/cgroup.procs",
					     CGROUP_WORK "/cgroup.procs" };

	if (init_uid != geteuid() && p->ids != IDS_ROOT && fchmodat(top, ".", 0700, 0) < 0)
		return err_errno(e, "close the group to others");
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (cgroup_let_in(p, top, files[i], init_uid, e) < 0)
			return -e->code;
	return 0;
}

static int make_v2(const struct plan *p, const struct cgroup_tree *t, int top, uid_t init_uid,
		   struct cgroup *out, struct err *e)
{
	if (enable_controllers(t, top, e) < 0)
		return -e->code;
	out->dir = cgroup_make_below(top, CGROUP_EXECUTOR, e);
	if (out->dir < 0)
		return -e->code;
	out->work_dir = cgroup_make_below(top, CGROUP_WORK, e);
	if (out->work_dir < 0 || write_limits(p, t, top, out->work_dir, e) < 0)
		return -e->code;
	return let_init_in(p, top, init_uid, e);
}

static int make_v1(const struct plan *p, const struct cgroup_tree *t, int top, struct cgroup *out,
		   struct err *e)
{
	/* Where there are leaves, they are what is entered. */
	bool entered = !cgroup_tree_has_leaves(p, t);
	autoclose int work = -1;

	if (cgroup_tree_is_flat(t)) {
		if (write_limits(p, t, top, top, e) < 0)
			return -e->code;
		return entered ? open_tasks(top, out->work_tasks, &out->n_work_tasks, e) : 0;
	}
	work = cgroup_make_below(top, CGROUP_WORK, e);
	if (work < 0 || write_limits(p, t, top, work, e) < 0 ||
	    open_tasks(top, out->tasks, &out->n_tasks, e) < 0)
		return -e->code;
	return entered ? open_tasks(work, out->work_tasks, &out->n_work_tasks, e) : 0;
}

static int make_tree(const struct plan *p, const struct cgroup_tree *t, const char *id,
		     uid_t init_uid, struct cgroup *out, struct err *e)
{
	autoclose int top = make_top(t, id, e);

	if (top < 0)
		return top;
	if ((t->v2 ? make_v2(p, t, top, init_uid, out, e) : make_v1(p, t, top, out, e)) < 0)
		return err_wrap(e, "group '%s/" CGROUP_SHARED "/%s'", t->parent, id);
	return 0;
}

int cgroup_up(const struct plan *p, const struct record *r, uid_t init_uid, struct cgroup *out,
	      struct err *e)
{
	struct cgroup_tree tree[CONTROLLER_COUNT];
	unsigned trees = cgroup_trees(p, tree);
	struct cgroup made;

	cgroup_init(&made);
	for (unsigned i = 0; i < trees; i++)
		if (make_tree(p, &tree[i], r->id, init_uid, &made, e) < 0) {
			cgroup_clear(&made);
			return -e->code;
		}
	*out = made;
	return 0;
}

void cgroup_init(struct cgroup *g)
{
	*g = (struct cgroup) { .dir = -1, .work_dir = -1 };
	for (unsigned i = 0; i < CTL_LEAVES; i++)
		ctl_leaf_init(&g->leaves[i]);
	memset(g->above, -1, sizeof(g->above));
}

void cgroup_clear(struct cgroup *g)
{
	for (unsigned i = 0; i < CTL_LEAVES; i++)
		ctl_leaf_clear(&g->leaves[i]);
	g->n_leaves = 0;
	wire_close(g->above, CTL_COUNTERS);
	while (g->n_tasks)
		drop_fd(&g->tasks[--g->n_tasks]);
	while (g->n_work_tasks)
		drop_fd(&g->work_tasks[--g->n_work_tasks]);
	drop_fd(&g->dir);
	drop_fd(&g->work_dir);
}
