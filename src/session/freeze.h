/* SPDX-License-Identifier: MIT */
/* freeze.h - everything that the workload runs stands still, and goes on.
 *
 * cgroup v2: its group is told so. v1 has a hierarchy of its own for that, in which a session has a group
 * from when it is frozen first: its processes are moved there. The executor is never frozen. */
#pragma once

#include "base/err.h"
#include "session/session.h"

/* Freeze it, and wait until it is. -EOPNOTSUPP, with the reason, where that cannot be done here. On
 * failure freeze_end() is due. */
must_check int freeze(struct session *s, struct err *e);

/* Let it go on. The group is gone, too, but for processes that do not leave it. */
must_check int freeze_end(const struct record *r, struct err *e);

/* Let go on what is about to die: processes of v1 do not while they are frozen. */
void freeze_let_die(const struct record *r);

/* Remove the group of a session without processes. */
must_check int freeze_down(const struct record *r, struct err *e);
