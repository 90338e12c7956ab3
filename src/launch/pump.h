/* SPDX-License-Identifier: MIT */
/* pump.h - one direction of the relay: bytes from a descriptor to a descriptor, never blocking
 * where that can be had. For relay.c and its tests. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* How an end is read or written. */
enum pump_end {
	PUMP_PIPE,   /* splice works, and does not block when told so */
	PUMP_SOCKET, /* does not block when told so */
	PUMP_FREE,   /* does not block: a regular file, or a description of our own */
	PUMP_BLOCKS, /* may block beyond what poll says: small pieces, one for one readiness */
};

struct pump {
	int from, to; /* -1: over */
	enum pump_end from_end, to_end;
	bool from_ready, to_ready;
	bool own_from, own_to; /* ours to close */
	bool from_terminal;    /* the caller's: read in the foreground alone */
	char *bytes;	       /* read and not yet written */
	size_t have, done;
	int from_slot, to_slot; /* private: places in the poll array, -1 */
};

void pump_init(struct pump *p);

/* Its ends: one of ours, not blocking, closed by the pump; or the caller's 0, 1 or 2. */
void pump_from(struct pump *p, int fd, enum pump_end end);
void pump_to(struct pump *p, int fd, enum pump_end end);
void pump_from_caller(struct pump *p, int fd);
void pump_to_caller(struct pump *p, int fd);

/* Put what to wait for at polls[at...]; returns how many. With `no_terminal` a terminal is not
 * waited for. */
size_t pump_polls(struct pump *p, bool no_terminal, struct pollfd *polls, size_t at);

/* Take what poll(2) said of them. */
void pump_polled(struct pump *p, const struct pollfd *polls);

enum { PUMP_GOES_ON, PUMP_ENDED, PUMP_BROKEN };

/* Move what can be moved, up to a limit that leaves the loop its time. PUMP_ENDED: nothing more
 * will come and all has been written. PUMP_BROKEN: it cannot be written, *e says why. */
must_check int pump_move(struct pump *p, struct err *e);

bool pump_is_open(const struct pump *p);
void pump_close(struct pump *p); /* both ends */
void pump_clear(struct pump *p);
