/* SPDX-License-Identifier: MIT */
/* overlay.h - upper and work directories of a session, and descriptors of all its plan mounts.
 *
 * The host mounts nothing: it makes layers/NAME/{upper,work} in the session's directory and opens
 * what each step is made of, so that the child works on descriptors alone. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"
#include "session/session.h"
#include "session/worktree.h"

/* Fill lower, upper and work of every MOUNT_OVERLAY and MOUNT_BIND step, and add a step for each
 * object directory of the base. `base` is NULL where the workspace is no repository. `skeleton` is
 * what rootfs_up() gave. Call it once; the steps own the descriptors until overlay_close(), also
 * on failure. */
must_check int overlay_up(struct plan *p, const struct base *base, const char *skeleton,
			  struct session *s, struct err *e);

/* Close the descriptors of all steps. Once the child is cloned, the host needs none of them. */
void overlay_close(struct plan *p);
