/* SPDX-License-Identifier: MIT */
/* link.h - the session's end of the network: loopback, eth0, routes, and the executor's listener.
 *
 * Runs in the session's network namespace, with CAP_NET_ADMIN over it. */
#pragma once

#include "base/err.h"
#include "sandbox/inside.h"

/* Set up loopback and, where `net->veth` says that an interface has arrived, eth0: one netlink
 * request for all of it. `proc` is an fd of a /proc (the host's or the session's, any will do)
 * in which /proc/sys/net can be written. *listener becomes the executor's listening socket, or
 * -1 where `net->port` is 0. */
must_check int link_inside(const struct net_inside *net, int proc, int *listener, struct err *e);
