/* SPDX-License-Identifier: MIT */
/* cgroup_tree.h - which groups in which hierarchy; private to cgroup*.c. */
#pragma once

#include <stdbool.h>

#include "plan/plan.h"
#include "session/session.h"

#define CGROUP_SHARED "ohsandbox" /* below the parent; all sessions' groups are below it */
#define CGROUP_WORK "work"
#define CGROUP_EXECUTOR "executor"

/* One hierarchy: all of its controllers have the same parent group. */
struct cgroup_tree {
	const char *parent;
	bool v2;
	bool has[CONTROLLER_COUNT];
};

/* A group that its record names: a descriptor for paths alone. -ENOENT when it is gone. */
must_check int cgroup_open(const struct record *r, const char *path, struct err *e);

/* The hierarchies a session needs groups in. Returns how many. */
unsigned cgroup_trees(const struct plan *p, struct cgroup_tree tree[CONTROLLER_COUNT]);

/* Are there leaves below the workload's group in it? */
bool cgroup_tree_has_leaves(const struct plan *p, const struct cgroup_tree *t);

/* Make a group below `top`, if it is not there yet: a descriptor of it, for paths alone. */
must_check int cgroup_make_below(int top, const char *name, struct err *e);

/* Write a limit, unless it is LIMIT_NONE. */
must_check int cgroup_write_number(int group, const char *file, uint64_t value, struct err *e);

/* The limits of memory and swap in one group. */
must_check int cgroup_limit_memory(const struct limits *l, const struct host *h,
				   const struct cgroup_tree *t, int group, struct err *e);

/* v2: let init, which has this id on the host, put processes in by this file of the group. */
must_check int cgroup_let_in(const struct plan *p, int group, const char *file, uid_t init_uid,
			     struct err *e);

/* Does it hold the workload alone? Then there is no group around it. */
bool cgroup_tree_is_flat(const struct cgroup_tree *t);
