/* SPDX-License-Identifier: MIT */
/* idhelper.h - work done by an ordinary user as the root of his own range of ids.
 *
 * The one place that runs newuidmap and newgidmap. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "sandbox/ids.h"

/* Write the id maps of `child`, a process in a new user namespace that waits: directly where the
 * caller may (root; or its own id alone, after setgroups was denied), else through the setuid
 * programs newuidmap and newgidmap, whose complaint becomes the error. */
must_check int idhelper_map(pid_t child, const struct id_map *uids, const struct id_map *gids,
			    struct err *e);

/* Run `work` in a child process that is root of a fresh user namespace with these maps, and wait
 * for it. Returns what `work` returned; its error comes back in *e. What it does to memory is
 * lost; descriptors are shared. */
must_check int idhelper_run(const struct id_map *uids, const struct id_map *gids,
			    int (*work)(void *arg, struct err *e), void *arg, struct err *e);

/* The same in two halves, for a helper that is talked to while it works. After a start that
 * succeeded, finish waits for it. */
struct idhelper {
	pid_t child;
	int fd;
};

must_check int idhelper_start(const struct id_map *uids, const struct id_map *gids,
			      int (*work)(void *arg, struct err *e), void *arg,
			      struct idhelper *out, struct err *e);
must_check int idhelper_finish(struct idhelper *h, struct err *e);
