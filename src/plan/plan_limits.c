/* SPDX-License-Identifier: MIT */
/* plan_limits.c - which limits hold, and what is done about those this host cannot keep. */
#include "plan/plan_parts.h"

#include <inttypes.h>
#include <stddef.h>

/* In the order of struct limits, which is that of request.limit_named. */
static const struct limit_row {
	const char *option;
	size_t offset;
	uint64_t min, max;
	unsigned bit; /* of enum degraded: the limit is a group's; 0: any host keeps it */
	enum controller controller;
} limit_rows[] = {
	/* Below this not even a shell starts, and the reason would be hard to see. */
	{ "memory", offsetof(struct limits, memory_bytes), 4 << 20, INT64_MAX, DEGRADED_MEMORY,
	  CONTROLLER_MEMORY },
	{ "swap", offsetof(struct limits, swap_bytes), 0, INT64_MAX, DEGRADED_SWAP,
	  CONTROLLER_MEMORY },
	/* The kernel takes no less than a thousandth of a CPU, and hardly more CPUs than it can have. */
	{ "cpus", offsetof(struct limits, cpu_milli), 10, 8192 * 1000, DEGRADED_CPUS,
	  CONTROLLER_CPU },
	{ "pids", offsetof(struct limits, pids), 1, 4194304, DEGRADED_PIDS, CONTROLLER_PIDS },
	{ "timeout", offsetof(struct limits, timeout_ms), 1, (uint64_t)366 * 86400 * 1000, 0,
	  CONTROLLER_COUNT },
	{ "nofile", offsetof(struct limits, nofile), 16, 1048576, 0, CONTROLLER_COUNT },
	{ "fsize", offsetof(struct limits, fsize_bytes), 4096, INT64_MAX, 0, CONTROLLER_COUNT },
	{ "tmp", offsetof(struct limits, tmp_bytes), 4096, INT64_MAX, 0, CONTROLLER_COUNT },
};

static uint64_t *limit_at(struct limits *limits, const struct limit_row *row)
{
	return (uint64_t *)((char *)limits + row->offset);
}

static bool can_keep(const struct host *h, const struct limit_row *row)
{
	if (!row->bit)
		return true;
	if (!h->controller[row->controller].usable)
		return false;
	return row->bit != DEGRADED_SWAP || h->controller[CONTROLLER_MEMORY].swap;
}

static int refuse(const struct plan *plan, const struct limit_row *row, bool named, struct err *e)
{
	static const char *const controllers[] = { "memory", "pids", "cpu" };
	const char *lack = row->bit == DEGRADED_SWAP &&
					   plan->host->controller[CONTROLLER_MEMORY].usable
				   ? "swap accounting"
				   : "cgroup controller";

	if (named)
		return err_code(
			e, EOPNOTSUPP,
			"--%s cannot be kept: no %s '%s' is at hand here; see 'ohsandbox doctor'",
			row->option, lack, controllers[row->controller]);
	return err_code(
		e, EOPNOTSUPP,
		"limit '%s' of policy '%s' cannot be kept: no %s '%s' is at hand here, and the policy's "
		"allow_degraded does not list '%s'; see 'ohsandbox doctor'",
		row->option, plan->policy->name, lack, controllers[row->controller],
		degraded_name(row->bit));
}

static int plan_limit(struct plan *plan, const struct limit_row *row, bool named, struct err *e)
{
	uint64_t *value = limit_at(&plan->limits, row);

	if (*value == LIMIT_NONE)
		return 0;
	if (*value < row->min || *value > row->max)
		return err_code(e, ERANGE,
				"limit '%s' of %" PRIu64 " is outside %" PRIu64 " to %" PRIu64,
				row->option, *value, row->min, row->max);
	if (can_keep(plan->host, row))
		return 0;
	/* No swap to be had is a limit of no swap kept. */
	if (row->bit == DEGRADED_SWAP && plan->host->swap_bytes == 0) {
		*value = LIMIT_NONE;
		return 0;
	}
	if (named || !(plan->policy->allow_degraded & row->bit))
		return refuse(plan, row, named, e);
	*value = LIMIT_NONE;
	plan->degraded |= row->bit;
	return 0;
}

/* The policy's values, fitted to this host: a limit above what the machine has is none. */
static struct limits fitted(const struct policy *p, const struct host *h)
{
	struct limits l = p->limits;
	uint64_t share = h->memory_bytes / 100 * p->memory_percent;

	if (l.memory_bytes != LIMIT_NONE && h->memory_bytes && l.memory_bytes > share)
		l.memory_bytes = share;
	if (l.nofile != LIMIT_NONE && h->nofile_max && l.nofile > h->nofile_max)
		l.nofile = h->nofile_max;
	return l;
}

int plan_limits(struct plan *plan, struct err *e)
{
	const struct request *r = plan->request;
	struct limits named = r->limits;

	plan->limits = fitted(plan->policy, plan->host);
	for (size_t i = 0; i < ARRAY_LEN(limit_rows); i++) {
		if (r->limit_named[i])
			*limit_at(&plan->limits, &limit_rows[i]) =
				*limit_at(&named, &limit_rows[i]);
		if (plan_limit(plan, &limit_rows[i], r->limit_named[i], e) < 0)
			return -e->code;
	}
	return 0;
}
