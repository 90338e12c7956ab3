/* SPDX-License-Identifier: MIT */
/* cgroup_tree.h - which groups in which hierarchy; private to cgroup*.c. */
#pragma once

#include <stdbool.h>

#include "plan/plan.h"

#define CGROUP_SHARED "ohsandbox" /* below the parent; all sessions' groups are below it */
#define CGROUP_WORK "work"
#define CGROUP_EXECUTOR "executor"

/* One hierarchy: all of its controllers have the same parent group. */
struct cgroup_tree {
	const char *parent;
	bool v2;
	bool has[CONTROLLER_COUNT];
};

/* The hierarchies a session needs groups in. Returns how many. */
unsigned cgroup_trees(const struct plan *p, struct cgroup_tree tree[CONTROLLER_COUNT]);

/* Does it hold the workload alone? Then there is no group around it. */
bool cgroup_tree_is_flat(const struct cgroup_tree *t);
