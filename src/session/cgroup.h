/* SPDX-License-Identifier: MIT */
/* cgroup.h - the groups that bound one session's memory, processes and CPU.
 *
 *	v2		PARENT/ohsandbox/ID/{executor,work}
 *	v1 memory, pids	PARENT/ohsandbox/ID (the executor sits here) and ID/work
 *	v1 cpu		PARENT/ohsandbox/ID (for the workload), and only where a CPU limit is set
 *
 * In a session that stays, the workload's group (but v1 cpu's) has leaves "0", "1", ... below it for one
 * command each, v1 cpuacct among them: what the commands use is counted there.
 *
 * The limits sit on `work`; the group above has the sum plus a reserve, so that a workload that
 * runs out never takes the executor with it. The groups are named by the record alone: any later
 * process can take down what an earlier one left behind. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/ctl.h"
#include "session/session.h"

#define CGROUP_RESERVE_BYTES ((uint64_t)32 << 20)
#define CGROUP_RESERVE_PIDS 16u

/* Descriptors for entering the groups. -1 and 0 where there is no such group. */
struct cgroup {
	int tasks[8]; /* v1: `tasks` of the executor's groups, opened for writing */
	unsigned n_tasks;
	int dir;	   /* v2: the executor's group, for CLONE_INTO_CGROUP */
	int work_tasks[8]; /* v1: `tasks` of the workload's */
	unsigned n_work_tasks;
	int work_dir; /* v2: the workload's */
	struct ctl_leaf leaves[CTL_LEAVES];
	unsigned n_leaves;
	int above[CTL_COUNTERS]; /* what the group above the leaves counts */
};

/* No descriptor in it. */
void cgroup_init(struct cgroup *g);

/* The directories that cgroup_up will make, outermost first: what the record holds. Pure. The
 * names are on the heap, the caller's. */
must_check int cgroup_names(const struct plan *p, const char *id, char *group[8], unsigned *n,
			    struct err *e);

/* Is the executor born in its group? Only where there is one of version 2; those of version 1 it enters
 * by itself, later. */
bool cgroup_born_in(const struct plan *p);

/* Make the groups, write the limits, open the ways in. `init_uid`, as the host sees it, may put
 * processes into the v2 groups. Fills *out, the caller's until cgroup_clear. */
must_check int cgroup_up(const struct plan *p, const struct record *r, uid_t init_uid,
			 struct cgroup *out, struct err *e);
void cgroup_clear(struct cgroup *g);

/* Make the plan's leaves in the groups that are up, and add their descriptors to *g. */
must_check int cgroup_leaves_up(const struct plan *p, const struct record *r, uid_t init_uid,
				struct cgroup *g, struct err *e);

/* The limits of a leaf; LIMIT_NONE: none. */
uint64_t cgroup_leaf_memory(const struct limits *l);
uint64_t cgroup_leaf_pids(const struct limits *l);

/* Kill what is left, and remove the groups. The shared parent stays: making it takes as long as making
 * a session's own. */
must_check int cgroup_down(const struct record *r, struct err *e);

/* Remove the shared parents that are the caller's, in all of each hierarchy; one with a session in it
 * stays. */
must_check int cgroup_clean(const struct host *h, struct err *e);

/* Kill every process in them, without waiting for its end. */
must_check int cgroup_kill(const struct record *r, struct err *e);

/* Does nothing of the workload run any more? False also where no group tells. */
bool cgroup_workload_ended(const struct record *r);

/* Remove the workload's groups, where that is so: what they counted is lost. What is still in use goes
 * with cgroup_down(). */
void cgroup_shed(const struct record *r);

struct usage {
	uint64_t cpu_ms;	    /* 0 where no group of the session counts it */
	uint64_t peak_memory_bytes; /* the same */
	bool hit_memory, hit_pids, hit_cpu;
};

/* What the groups have counted so far. */
must_check int cgroup_usage(const struct record *r, struct usage *u, struct err *e);
