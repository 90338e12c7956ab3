/* SPDX-License-Identifier: MIT */
/* net.h - the host's end of a session's network. As root only.
 *
 * A veth whose peer is made in the session's namespace, on a bridge with isolated, locked ports,
 * static neighbours on both sides, and one static firewall ruleset whose sets name the sessions.
 * Nobody inside is answered but by the host, and only where the host asked first (`none`);
 * `nat` goes out, but to no private address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/inside.h"
#include "session/session.h"

#define NET_EXECUTOR_PORT 60000u /* on the session's own address */

/* What the child has to know. For sessions without a veth (`p->veth` unset, `slot` is not looked
 * at) loopback alone. */
must_check int net_inside_fill(const struct plan *p, uint32_t slot, struct net_inside *out,
			       struct err *e);

/* Connect the session's namespace. Makes the bridge and the ruleset first where they are missing. */
must_check int net_up(const struct plan *p, const struct record *r, int netns, struct err *e);

/* Wait until the session can be reached at its address: call it when the executor is ready, before
 * telling anybody the address. The kernel brings a link into use behind our back, and what is
 * sent before is lost: a connection then takes a second more. */
must_check int net_settle(const struct record *r, struct err *e);

/* Take back what the session may that others may not: its way out. The last one that went out
 * takes the forwarding switches back. Its link goes with its namespace. */
must_check int net_down(const struct record *r, struct err *e);

/* Remove bridges and ruleset when no session is left; nothing happens while there is one. */
must_check int net_clean(struct err *e);

/* What of it exists now, for doctor. */
struct net_shared {
	unsigned sessions; /* slots taken */
	unsigned bridges;
	bool ruleset;
	bool forwarding; /* switched by us */
};
must_check int net_shared_status(struct net_shared *out, struct err *e);
