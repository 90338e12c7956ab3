/* SPDX-License-Identifier: MIT */
/* limits.c - see limits.h. What a policy says of files and processes, the executor sets for each
 * workload process; here is what nobody inside may ever have. */
#include "sandbox/limits.h"

#include <sys/resource.h>

static const struct {
	int resource;
	rlim_t most;
	const char *name;
} limits[] = {
	/* 1, not 0: the kernel starts a core_pattern handler, as host root, also for a limit of 0,
	 * and refuses to for 1. */
	{ RLIMIT_CORE, 1, "RLIMIT_CORE" },
	/* The caller's leave to run before everybody else is not the session's. */
	{ RLIMIT_RTPRIO, 0, "RLIMIT_RTPRIO" },
	{ RLIMIT_NICE, 0, "RLIMIT_NICE" },
};

static int lower(int resource, rlim_t most, const char *name, struct err *e)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return err_errno(e, "read %s", name);
	if (now.rlim_max > most)
		now.rlim_max = most;
	now.rlim_cur = now.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &now) < 0)
		return err_errno(e, "lower %s to %lu", name, (unsigned long)now.rlim_max);
	return 0;
}

int limits_set(struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (lower(limits[i].resource, limits[i].most, limits[i].name, e) < 0)
			return -e->code;
	return 0;
}
