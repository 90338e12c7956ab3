/* SPDX-License-Identifier: MIT */
/* held.h - the ports of a session that is paused to disk, its executor's and its program's: kept for it,
 * so that nobody else gets them.
 *
 * Of a session that was paused by somebody's wish every request is answered with 503: V0's clients
 * resume a session whose URL says so, and ask again. What sleeps by nobody's wish is woken by the first
 * request with its key; who has none hears 503 there too, and wakes nothing. */
#pragma once

#include "api/runtime.h"

/* Listen at them from now on. A port that somebody has taken is said in the log: it is missed when the
 * session is resumed. */
void held_take(struct runtime *r);

/* It is about to be resumed: who comes to the executor's port from now on waits for its own server. The
 * descriptors, at most two, stay the daemon's. The program's port is let go. Returns how many. */
unsigned held_lend(struct runtime *r, int fds[2]);

/* Listen no more. */
void held_drop(struct runtime *r);
