/* SPDX-License-Identifier: MIT */
/* plan_parts.h - the parts a plan is made of; for plan.c alone.
 *
 * Each fills its members of a plan whose request, policy and host are set, and whose earlier
 * parts are there: user, limits, network, hostname, directory, environment, mounts. */
#pragma once

#include "plan/plan.h"

/* Limits in effect. -EOPNOTSUPP names the limit that this host cannot keep. */
must_check int plan_limits(struct plan *plan, struct err *e);

/* The environment, complete. */
must_check int plan_env(struct plan *plan, struct err *e);

/* Every mount step, "/" first. */
must_check int plan_mounts(struct plan *plan, struct err *e);

bool plan_hostname_ok(const char *name);
