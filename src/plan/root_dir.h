/* SPDX-License-Identifier: MIT */
/* root_dir.h - a directory that was named as the session's root, looked at before anything is decided.
 *
 * It may be an unpacked image from anywhere: nothing in it is believed, and no link leads out of it. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"
#include "plan/refuse.h"

/* Make r->rootfs canonical, or refuse it by name, and find out how its owners can be read. */
must_check int root_dir_resolve(struct request *r, const struct host *h, const struct homes *homes,
				struct err *e);

/* Fill r->rootfs_shell where the tree (resolved) lacks `shell`. */
must_check int root_dir_shell(struct request *r, const char *shell, struct err *e);
