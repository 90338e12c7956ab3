/* SPDX-License-Identifier: MIT */
/* listen.h - sockets of the host's network that the session's server will accept on.
 *
 * They are made here and handed over ready: the server's filter knows neither bind nor listen, and
 * a session without any network of its own is reached all the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"

#define LISTEN_LOOPBACK_MAX 2

/* Ports are chosen out of these. They lie below those that the kernel gives to outgoing connections
 * (ip_local_port_range), of which each keeps its own for a minute after its end: a session that is
 * paused would find its port taken so. */
enum { LISTEN_PORT_FIRST = 16384, LISTEN_PORT_LAST = 29999 };

/* Ports that are kept for somebody though nobody listens there: sessions that are paused. */
struct listen_kept {
	bool (*has)(const void *arg, uint16_t port);
	const void *arg;
};

/* Listen on 127.0.0.1 and, where the host has it, ::1, on one port that is nobody's; `kept` may be
 * NULL. Returns how many descriptors were put into `fds`. */
must_check int listen_loopback(const struct listen_kept *kept, int fds[LISTEN_LOOPBACK_MAX],
			       uint16_t *port, struct err *e);

/* The same on the port that a session had. -EADDRINUSE, with the port's number, where it is somebody
 * else's by now. */
must_check int listen_loopback_again(int fds[LISTEN_LOOPBACK_MAX], uint16_t port, struct err *e);

/* Listen where the caller wants a port of the session published. Returns an fd. */
must_check int listen_publish(const struct publish *p, struct err *e);
