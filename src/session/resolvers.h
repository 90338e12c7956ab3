/* SPDX-License-Identifier: MIT */
/* resolvers.h - which name servers a session may ask, and is told of. IPv4 alone, as its network. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define RESOLVERS_MAX 3u /* more are never asked */

struct resolvers {
	uint32_t address[RESOLVERS_MAX]; /* host byte order */
	unsigned n;
};

/* The policy's (`named`, NULL-terminated), or where that is NULL the host's. Those on the host's
 * loopback cannot be reached from a session: then what systemd-resolved asks in its turn.
 * None at all is no error. */
must_check int resolvers_find(char *const *named, struct resolvers *out, struct err *e);

/* The text of the session's resolv.conf. */
void resolvers_text(const struct resolvers *r, struct buf *out);

/* What a resolv.conf says that can be reached from a session. Pure. */
void resolvers_parse(const char *text, struct resolvers *out);
