/* SPDX-License-Identifier: MIT */
/* refuse.h - paths of the host that no session may be given, whoever asks.
 *
 * A mistake is refused by its name: `--dir ~` would show an agent every key of its user. All paths
 * are canonical. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct homes; /* the home directories of this host's users */

/* Read /etc/passwd (or what stands in for it), and take `own`, the caller's, too. */
must_check int homes_read(const char *passwd, const char *own, struct homes **out, struct err *e);
void homes_free(struct homes *homes);

static inline void auto_homes(struct homes **homes)
{
	homes_free(*homes);
}
#define autohomes __attribute__((cleanup(auto_homes)))

/* May `path` be the workspace? Refused: "/", system directories, any home, what holds one, and what
 * contains the state directory or stands in it. */
must_check int refuse_dir(const char *path, const char *state_dir, const struct homes *homes,
			  struct err *e);

/* May `path` be the root of a session? Refused: what may not be the workspace, and the host's own root
 * by whatever name. */
must_check int refuse_root(const char *path, const char *state_dir, const struct homes *homes,
			   struct err *e);

/* May `path` be mounted? Refused besides: sockets, devices, pipes, and keys, alone or in the
 * directory itself. Gives 1 for a regular file and 0 for a directory. */
must_check int refuse_mount(const char *path, const char *state_dir, const struct homes *homes,
			    struct err *e);

/* May something of the host be mounted at `inside`? */
must_check int refuse_target(const char *inside, struct err *e);
