/* SPDX-License-Identifier: MIT */
/* rootfs.h - a layer of "/": directories, an /etc of copied, named files, `sudo`; or over a tree that
 * was named as "/", only what a session needs besides.
 *
 * Made once for all sessions with the same user, host name, resolvers and certificates, and made
 * anew when a file it was copied from has changed. It lies in STATE/cache. What only root can read
 * on the host is never copied. */
#pragma once

#include "base/err.h"
#include "plan/plan.h"

/* Find or make the skeleton for this plan, with the program `sudo` (opened, the caller's) in it.
 * *skeleton is its directory relative to `state`; it belongs into the session's record
 * (`root_layer`), which keeps it from being evicted. The caller frees it. */
must_check int rootfs_up(const struct plan *p, int state, int sudo, char **skeleton, struct err *e);
