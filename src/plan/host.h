/* SPDX-License-Identifier: MIT */
/* host.h - what this host offers. Read once, before any decision; a test makes one up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/ids.h"

enum controller {
	CONTROLLER_MEMORY,
	CONTROLLER_PIDS,
	CONTROLLER_CPU,
	CONTROLLER_CPUACCT, /* of v1, where counting is apart from limiting */
	CONTROLLER_COUNT
};

/* Where one controller is, and the group new ones are made below. */
struct host_controller {
	bool usable; /* it exists and we may make groups */
	bool v2;
	bool swap;    /* memory: swap is accounted for */
	char *parent; /* absolute directory: ours to make "ohsandbox" in */
};

/* Directories of the host that a session's root is made of. Where the host has a symbolic link
 * instead (a merged /usr), the session gets the link. */
struct host_dir {
	const char *path;
	const char *layer; /* name of its upper layer in the session directory */
};

/* The table's row `i`, NULL behind the last. Bit `i` of host.dirs says that it is there. */
const struct host_dir *host_dir(unsigned i);

struct host {
	unsigned kernel_major, kernel_minor;
	uid_t uid;
	gid_t gid;
	bool privileged; /* root with the capabilities that need the host's */
	bool net_admin;
	enum ids_mode ids; /* the best that can be had */
	struct id_range sub_uids,
		sub_gids;     /* outside, count: the caller's first range of /etc/subuid */
	bool idmapped_mounts; /* as root, on the state directory's and on the root's file system */
	struct host_controller controller[CONTROLLER_COUNT];
	bool user_namespaces;
	bool without_pidfds;   /* processes cannot be held by descriptors */
	uint64_t memory_bytes; /* of RAM */
	uint64_t swap_bytes;   /* of all swap devices; 0: a swap limit keeps itself */
	uint64_t nofile_max;   /* hard limit of descriptors that the caller may hand on */
	unsigned dirs;	       /* bits of host_dir() */
	bool local_bin;	       /* /usr/local/bin is a directory, through no link */
	bool sudo;	       /* /usr/bin/sudo is a file, through no link */
	unsigned cpus;
	char *state_dir;	    /* where ours is */
	char *user_name, *home;	    /* the caller's; home may be NULL */
	char *git_name, *git_email; /* NULL: not configured */
};

/* Can what this directory stands on be mounted with other ids, by us and on this kernel? */
bool host_can_idmap(const struct host *h, int dir);

/* Read the facts a start needs. Cheap: no process is started. */
must_check int host_probe(const char *state_dir, struct host **out, struct err *e);

/* Where a group of the v1 freezer can be made: below the one that the caller stands in. *parent is NULL
 * where there is none; else the caller frees it. */
must_check int host_freezer(char **parent, struct err *e);
void host_free(struct host *h);
