/* SPDX-License-Identifier: MIT */
/* notify.h - init answers the calls that the workload's filter refuses, and tells the server of them.
 *
 * Who holds the listener of a filter can let a refused call through after all: so it is init, which
 * reads nothing but the kernel's own struct and has one answer, EPERM; and never the server, which
 * somebody may have taken over. A caller waits while init has much to do: the more calls somebody
 * has refused, the longer each takes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct init;
struct listener;

enum notify_limits {
	NOTIFY_LISTENERS_MAX =
		512,	      /* processes that were started and whose filter is still in use */
	NOTIFY_KINDS = 8,     /* of calls told apart in one tick */
	NOTIFY_ANSWERS = 512, /* in one tick; the others wait */
	NOTIFY_TICK_MS = 50,
	NOTIFY_QUEUE_BYTES = 64 * 1024, /* unread by the server: then it is told later */
};

/* A kind of call that was refused in this tick. */
struct refusal {
	uint32_t tag, call, untold;
	uint64_t args[3];
};

struct notify {
	struct init *init;
	struct listener *listeners;
	unsigned n_listeners, answers, n_kinds;
	struct refusal kinds[NOTIFY_KINDS];
	struct timer tick;
	bool works; /* on this kernel */
};

void notify_init(struct notify *n, struct init *i);

/* Is there room for the filter of one more process? */
bool notify_has_room(const struct notify *n);

/* Answer what is told over this listener (taken over), of the process with this tag. */
must_check int notify_add(struct notify *n, int listener, uint32_t tag, struct err *e);
