/* SPDX-License-Identifier: MIT */
/* wake.h - a request for a session that sleeps brings it back, and is answered by it. */
#pragma once

#include "api/runtime.h"
#include "http/conn.h"

/* The request in hand has come, with the session's key, to a port that is held for it: resume the
 * session, and let the executor (or its program) answer there. Called as a route's `begin`. */
void wake_begin(struct runtime *r, uint16_t port, struct conn *c);

/* What is sent on in place of a head: the same, and that the connection ends behind the answer. Check
 * `out` afterwards. Pure. */
void wake_head(struct http_text head, struct buf *out);
