/* SPDX-License-Identifier: MIT */
/* host_parts.h - the parts the facts of a host are read in; for src/plan and its tests.
 *
 * All files are looked at below `root`, so that a test can make up a host in a directory. */
#pragma once

#include "base/buf.h"
#include "plan/host.h"

struct host_source {
	int root; /* fd of "/" */
	uid_t uid;
	gid_t gid;
	uint64_t caps;	     /* effective */
	const char *release; /* of the kernel: "6.1.0-18-amd64" */
	const char *home;    /* of the environment; may be NULL */
	const char *state_dir;
	uint64_t memory_bytes, swap_bytes, nofile_max;
	unsigned cpus;
	bool without_pidfds;
};

must_check int host_read(const struct host_source *s, struct host **out, struct err *e);

/* user_name and home out of passwd, sub_uids and sub_gids. 1 when newuidmap has ranges to map. */
must_check int host_read_user(const struct host_source *s, struct host *h, struct err *e);
must_check int host_read_subids(const struct host_source *s, struct host *h, struct err *e);

/* May the caller make user namespaces? */
bool host_read_userns(const struct host_source *s, bool privileged);

/* Where each controller is and whether groups can be made there. */
must_check int host_read_groups(const struct host_source *s, struct host *h, struct err *e);

must_check int host_read_freezer(const struct host_source *s, char **parent, struct err *e);

/* Which host directories there are, and whether their file systems can be idmapped. */
void host_read_dirs(const struct host_source *s, struct host *h);

/* user.name and user.email out of the caller's and the system's git configuration. */
must_check int host_read_git(const struct host_source *s, struct host *h, struct err *e);
must_check int host_parse_git(const char *text, char **name, char **email, struct err *e);

/* Append a file below `root` to `out`; a missing one is an empty one. A leading '/' is taken as
 * that of `root`. */
must_check int host_file(const struct host_source *s, const char *path, struct buf *out,
			 struct err *e);
