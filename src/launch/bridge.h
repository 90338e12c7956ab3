/* SPDX-License-Identifier: MIT */
/* bridge.h - the bridges that all sessions of a host share, and the way out through it.
 *
 * Whoever changes any of it holds the slot table (slots_open). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "session/slot.h"

/* One less than IPv6 needs: the kernel then gives a link no IPv6 at all, which is what sessions are
 * meant to have, and spares the time that setting it up takes (a quarter of a link's). Small
 * enough for uplinks through tunnels, too. */
#define BRIDGE_MTU 1279u
#define BRIDGE_GROUP 0x6f6873u /* of every link of ours: "ohs" */

/* Interface indexes of our own choosing, far above those the kernel hands out: a later request in
 * the same send can then name a link that an earlier one makes. */
#define BRIDGE_INDEX(bridge) (0x0f010000 + (int)(bridge))
#define BRIDGE_LINK_INDEX(slot) (0x0f000000 + (int)(slot))

/* Is it there and up, which is the last step of making it? Takes no lock. */
must_check int bridge_is_ready(unsigned bridge, struct err *e);

/* Make it, or finish what an earlier process began. */
must_check int bridge_up(unsigned bridge, struct err *e);

/* Remove it. A missing one is no error. */
must_check int bridge_down(unsigned bridge, struct err *e);

/* Let the bridge's sessions go out: forwarding of it and of the interfaces with a default route,
 * where it is off. */
must_check int bridge_open_way_out(struct slots *s, unsigned bridge, struct err *e);

/* The reverse, for all bridges: with the last session that may go out. */
must_check int bridge_close_way_out(struct slots *s, struct err *e);
