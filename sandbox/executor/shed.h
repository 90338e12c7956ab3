/* SPDX-License-Identifier: MIT */
/* shed.h - from the executor's identity to another, for good. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct shed {
	int userns; /* the session's */
	uid_t uid;
	gid_t gid;
	uint64_t caps; /* what root keeps inside; 0 for everybody else */
	bool one_id;   /* a map of one id: the kernel refuses to touch groups */
};

/* Enter the session's user namespace and become that user, with at most those capabilities in
 * every set and no way to more. Its groups, entered before, become the roots of its view. */
must_check int shed_to_workload(const struct shed *s, struct err *e);

/* Become the server: ids of its own where init may give them, and no capability. */
must_check int shed_to_server(uid_t uid, gid_t gid, bool one_id, struct err *e);

/* Give up every capability that exec left (init, once the server has its ids). */
must_check int shed_caps(struct err *e);
