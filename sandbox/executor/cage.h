/* SPDX-License-Identifier: MIT */
/* cage.h - the executor's own seccomp filters: one for init, one for the server.
 *
 * They are small, fixed and built from tables at start, with no library: what the workload may do
 * is another matter and comes as bytes from the host. */
#pragma once

#include "base/err.h"

/* Init, once it serves. What init may not do no process of the session may, for filters are
 * inherited: so this one refuses only what nobody inside ever has a use for. */
must_check int cage_init(struct err *e);

/* The server, once its descriptors are open: reads, writes and accepts; starts nothing, calls
 * nobody, opens nothing, passes no descriptor on. `link` is the one socket it may receive
 * descriptors from. */
must_check int cage_server(int link, struct err *e);

/* The workload's filter, as the host built it: `bytes` is an array of struct sock_filter. */
must_check int cage_workload(const void *bytes, size_t len, struct err *e);

/* The same, but calls that it answers with EPERM are first told of over *listener, and wait for their
 * answer there; see notify.h. -1 where this kernel tells nobody, or somebody else already: then it is the
 * same. */
must_check int cage_workload_told(const void *bytes, size_t len, int *listener, struct err *e);
