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

static int set(int resource, rlim_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };

	return setrlimit((__rlimit_resource_t)resource, &limit);
}

static int limit_set(int resource, rlim_t most, const char *name, struct err *e)
{
	struct rlimit now;

	if (set(resource, most) == 0)
		return 0;
	/* It was lower, and raising takes CAP_SYS_RESOURCE of the host: it stays what it is. */
	if (errno != EPERM || getrlimit((__rlimit_resource_t)resource, &now) < 0 ||
	    now.rlim_max >= most)
		return err_errno(e, "set %s to %lu", name, (unsigned long)most);
	if (set(resource, now.rlim_max) < 0)
		return err_errno(e, "set %s to %lu", name, (unsigned long)now.rlim_max);
	return 0;
}

int limits_set(struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limit_set(limits[i].resource, limits[i].most, limits[i].name, e) < 0)
			return -e->code;
	return 0;
}
