/* SPDX-License-Identifier: MIT */
/* idmap.h - which ids a session has, and telling the kernel where that needs somebody outside.
 *
 * The three worlds are drawn in sandbox/ids.h. */
#pragma once

#include "base/err.h"
#include "plan/host.h"
#include "plan/policy.h"
#include "sandbox/ids.h"
#include "sandbox/inside.h"

/* Fill in mode, session_uids/gids, session_uid/gid, init_uid/gid and outer_uids/gids of *out.
 * `slice` is the first host id of the session's slice (as root; else it is not looked at); `user`
 * is who runs inside. -ERANGE where the ids there are cannot hold this layout. */
must_check int idmap_layout(enum ids_mode mode, uint32_t slice, const struct host *host,
			    const struct policy_user *user, struct inside *out, struct err *e);

/* The executor's server, in the same namespace as init_uid/init_gid. */
uid_t idmap_server_uid(const struct inside *in);
gid_t idmap_server_gid(const struct inside *in);

/* Write the maps of the namespace around the session (outer_uids, outer_gids) for the held child:
 * through newuidmap and newgidmap, or directly where there is one id. Nothing to do as root. The
 * error says what /etc/subuid lacks. */
must_check int idmap_write(const struct inside *in, pid_t child, struct err *e);

/* What the session's maps look like from the host: the session namespace's, composed with the one
 * around it. For giving layers their owners, and for removing them later. */
must_check int idmap_seen_from_host(const struct id_map *session, const struct id_map *outer,
				    struct id_map *out, struct err *e);
