/* SPDX-License-Identifier: MIT */
/* inside.h - all that happens between clone and exec, decided beforehand.
 *
 * `struct inside` is frozen before the clone. The child walks one table of steps over it
 * (inside.c): no choice, no parsing, no policy. It shares the host's memory image
 * copy-on-write, so pointers and descriptors of the host are good in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/ids.h"

/* Which user namespace a layer's owners are read through. Only as root. */
enum mount_ids {
	MOUNT_IDS_PLAIN,   /* as they are */
	MOUNT_IDS_SESSION, /* host id i is the session's id i: for the host's /usr */
	MOUNT_IDS_OWNER,   /* the repository's owner is the session's user */
};

enum mount_kind {
	MOUNT_OVERLAY, /* lowers (uppermost first), an upper and a work directory */
	MOUNT_BIND,    /* one lower, as it is: a directory, a file, a device node */
	MOUNT_TMPFS,   /* size_bytes, mode */
	MOUNT_PROC,
	MOUNT_DEVPTS,
	MOUNT_MQUEUE,
	MOUNT_MASK,	/* hide `target`, if it is there, under an empty file or directory */
	MOUNT_READONLY, /* make what is at `target`, if it is there, read-only */
	MOUNT_SYMLINK,	/* `source` is the link's text; target is below a tmpfs */
	MOUNT_DIR,	/* make the directory `target` with `mode`; target is below a tmpfs */
};

enum {
	MOUNT_RO = 1 << 0, /* an overlay: without an upper layer */
	MOUNT_NOEXEC = 1 << 1,
	MOUNT_DEV = 1 << 2,	 /* device nodes work here; nodev otherwise. nosuid always */
	MOUNT_VOLATILE = 1 << 3, /* an overlay that need not survive the host's power failure */
	MOUNT_SCRATCH =
		1 << 4, /* an overlay whose upper layer is in memory and goes with the session:
				  * no upper, no work, and not one inode made or removed on a disk */
	MOUNT_PUBLIC = 1 << 5, /* a lower of the host's: what not everybody may read is hidden */
	MOUNT_GIVEN =
		1 << 6, /* named by the caller, and looked at: no link may be on its way now */
	MOUNT_SKELETON = 1 << 7, /* an overlay: what the skeleton has at this place comes above */
	MOUNT_PROGRAM = 1 << 8,	 /* a bind: `source` names a program of ours, "sudo" */
};

/* The executor's processes, in the session's pid namespace. The server is init's first child: 2 as
 * root; 3 for an ordinary user, where the session's user namespace was made by a process inside. */
enum {
	INSIDE_PID_INIT = 1,
	INSIDE_PID_SERVER = 2,
	INSIDE_PID_SERVER_LAST = 3,
};

#define MOUNT_LOWERS_MAX 60

struct mount_step {
	enum mount_kind kind;
	const char *target; /* absolute, inside; "/" comes first */
	const char *source; /* what the plan shows: host path, link text */
	unsigned flags;
	uint64_t size_bytes; /* tmpfs */
	mode_t mode;	     /* tmpfs, directory */
	enum mount_ids lower_ids;
	const char *layer; /* overlay: name of its upper in the session directory ("root") */
	/* Filled by the stage that opens them; -1 where there is none. Owned by the session. */
	int lower[MOUNT_LOWERS_MAX];
	unsigned char
		lower_ids_each[MOUNT_LOWERS_MAX]; /* enum mount_ids a lower; starts as lower_ids */
	unsigned n_lower;
	int upper, work;
};

struct net_inside {
	bool veth;     /* an interface arrives; without it loopback alone is set up */
	char peer[16]; /* its name at arrival: "eth0" */
	uint8_t mac[6];
	uint32_t address, gateway; /* host byte order */
	unsigned prefix;
	uint8_t gateway_mac[6];
	bool default_route;
	uint32_t ping_gid_max; /* highest group that is mapped where the child stands: may ping */
	uint16_t port; /* the executor listens on address:port; 0: no listener of the session's */
};

/* The descriptors the executor finds at exec. Everything else comes with its boot message. */
enum { INSIDE_FD_CTL = 3, INSIDE_FD_LISTEN = 4, INSIDE_FD_USERNS = 5, INSIDE_FD_LOCK = 6 };

#ifndef OHS_SANITIZED
#define OHS_SANITIZED 0 /* configure --enable-sanitizers */
#endif

/* Nobody hears what the executor writes: its descriptor 2 is /dev/null. The tests of a build with
 * sanitizers leave a file open in this place, which becomes that descriptor, and look into it. */
enum { INSIDE_FD_REPORTS = 99 };

struct inside {
	enum ids_mode mode;
	bool group_v2; /* born in a group of v2: its view of groups stays the caller's */

	struct mount_step *mounts;
	unsigned n_mounts;
	int userns; /* the session namespace; made by the host as root, else made inside: -1 */
	int owner_userns; /* for MOUNT_IDS_OWNER; -1 where it is not needed */
	struct id_map session_uids, session_gids; /* of the session namespace */
	uid_t session_uid;			  /* the workload's user, inside */
	gid_t session_gid;
	/* Where the executor's init stands: outside the session namespace. It is exec'd with SETUID
	 * and SETGID (permitted and ambient), to give its server an id of its own, and drops them. */
	uid_t init_uid;
	gid_t init_gid;
	struct id_map outer_uids,
		outer_gids; /* of the namespace around it, written by the host; none as root */

	const char *hostname;
	struct net_inside net;

	int gate;      /* the child's end of the gate; see gate.h */
	int gate_host; /* the host's, which the child closes first of all */
	int ctl;       /* the executor's end of the control socket; see ctl.h */
	int program;   /* the executor, opened with O_PATH */
	int lock; /* the session's lock, which init holds by keeping it open as INSIDE_FD_LOCK where
		      * the session outlives its supervisor; -1 where it does not */
	bool die_with_parent;
};

/* Walk the steps; ends in exec. Returns only by _exit, after sending the error through the gate. */
void inside_main(const struct inside *in) __attribute__((noreturn));
