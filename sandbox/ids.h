/* SPDX-License-Identifier: MIT */
/* ids.h - who is who, inside and outside.
 *
 * Two worlds of ids. The *workload* lives in a user namespace of its own (its "session
 * namespace") that does not map the executor's ids at all: so not even the session's root can
 * become the executor, signal it or trace it. The *executor* (init and server) stays in the
 * namespace around it and is the owner of the session namespace: that alone lets it, without a
 * single capability, put processes into it and signal them.
 *
 *                     around it                     session namespace maps inside id i to
 *   as root           the host's, no capability     slice + i
 *   with subordinate  a namespace with 0 = caller,  1000 to the caller, the others to
 *   ids               1.. = the caller's ranges     the caller's ranges
 *   with one id       a namespace with 0 = caller   the workload's one id to the caller
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Ids 0 .. IDS_WORKLOAD-1 and 65534 exist inside a session; these two do not. */
#define IDS_SLICE 65536u
#define IDS_WORKLOAD 65520u
#define IDS_INIT 65520u	  /* offset of the executor's init in the slice */
#define IDS_SERVER 65521u /* offset of its server */
#define IDS_NOBODY 65534u

enum ids_mode {
	IDS_ROOT,   /* a slice of the host's ids for every session */
	IDS_SUBIDS, /* the caller's id and his subordinate ranges, by newuidmap */
	IDS_SINGLE, /* the caller's id alone */
};

struct id_range {
	uint32_t inside, outside, count;
};

#define IDS_RANGES_MAX 8
struct id_map {
	struct id_range range[IDS_RANGES_MAX];
	unsigned n;
};

/* Text of a map at most: three numbers, blanks and a line end a range. */
#define IDS_MAP_TEXT_BYTES (IDS_RANGES_MAX * 33 + 1)

/* The text for /proc/PID/uid_map. Returns its length. */
size_t ids_map_text(const struct id_map *map, char *text, size_t size);

/* What inside id `inside` is outside. False where the map leaves it out. */
bool ids_outside(const struct id_map *map, uint32_t inside, uint32_t *outside);

/* Who owns what is made for the session before it lives: its root, or its one user where it has no
 * root. As seen outside. */
uint32_t ids_owner(const struct id_map *map);

/* A user namespace to be made. */
struct ids_userns {
	const struct id_map *uids, *gids;
	int fd; /* of it, the caller's; -1 until it is there */
	/* The process that stood in it while its maps were written: dead, and not yet waited for. Its
	 * stack stays where it is until then. */
	pid_t holder;
	char stack[8192] __attribute__((aligned(16)));
};

/* Make `n` user namespaces, owned by `owner` (an effective uid that the caller may take: kernel
 * counters are charged to it). Nothing of them runs on: a namespace lives by its fd. `proc` is an fd
 * of a /proc that shows the caller's pid namespace. The caller needs CAP_SETUID and CAP_SETGID where
 * it stands, unless the maps are of one id of its own; its ids and capabilities are the same
 * afterwards. Signals are held back meanwhile. On success and on failure ids_reap() follows. */
must_check int ids_make(int proc, struct ids_userns *ns, unsigned n, uid_t owner, struct err *e);

/* Wait for what is left of their processes. */
void ids_reap(struct ids_userns *ns, unsigned n);
