/* SPDX-License-Identifier: MIT */
/* link.h - the session's end of the network: loopback, eth0, routes, and the executor's listener.
 *
 * In two steps, because only the first must be made in the session's network namespace: what belongs
 * to it are sockets, and these can be used from anywhere. */
#pragma once

#include "base/err.h"
#include "sandbox/inside.h"

struct link {
	struct netlink *route;
	int sock; /* the executor's listener, once it listens */
};

/* In the network namespace, with CAP_NET_ADMIN over it: the sockets, and the switches of the namespace.
 * `proc` is an fd of a /proc (the host's or the session's, any will do) in which /proc/sys/net can be
 * written. */
must_check int link_open(const struct net_inside *net, int proc, struct link *out, struct err *e);

/* Set up loopback and, where `net->veth` says that an interface has arrived, eth0: one netlink
 * request for all of it. *listener becomes the executor's listening socket, or -1 where `net->port`
 * is 0. */
must_check int link_configure(struct link *l, const struct net_inside *net, int *listener,
			      struct err *e);

/* Bears a struct of zeros. */
void link_close(struct link *l);

/* Both, for who stands in the namespace and stays there. */
must_check int link_inside(const struct net_inside *net, int proc, int *listener, struct err *e);
