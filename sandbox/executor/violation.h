/* SPDX-License-Identifier: MIT */
/* violation.h - what a limit, the filter or the network refused while an action ran, in words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "sandbox/ctl.h"

enum violation_kind {
	VIOLATED_MEMORY, /* count: processes killed */
	VIOLATED_PIDS,	 /* count: forks refused */
	VIOLATED_PIDS_ABOVE,
	VIOLATED_CPU,	      /* count: microseconds held back */
	VIOLATED_FILTER,      /* count: calls refused; with call and arguments */
	VIOLATED_NO_ROUTE,    /* count: packets */
	VIOLATED_UNREACHABLE, /* count: answers */
	VIOLATED_KINDS
};

enum violation_limits {
	VIOLATIONS_MAX = 16, /* of one action; what is beyond is counted in one line */
};

struct violation {
	enum violation_kind kind;
	uint32_t call;	  /* of the filter */
	uint64_t args[3]; /* of its first refusal */
	uint64_t count;
};

struct violations {
	struct violation *list; /* heap; NULL: none */
	unsigned n;
	uint64_t unlisted; /* refusals by the filter that found no room */
};

/* Count these in: with others of the same kind and call, they are one. */
void violations_add(struct violations *all, const struct violation *more);
void violations_clear(struct violations *all);

/* "memory", "pids", "cpu", "filter", "network". */
const char *violation_layer(enum violation_kind kind);

/* The array of objects { layer, what, why, remedy }. */
void violations_show(const struct violations *all, const struct ctl_boot *boot, struct json_out *o,
		     const char *key);

/* The array of objects { layer, why }: what nobody can see on this host. `filter_seen`: refused calls
 * are told of. */
void violations_show_unseen(const struct ctl_boot *boot, bool filter_seen, struct json_out *o,
			    const char *key);
