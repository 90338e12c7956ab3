/* SPDX-License-Identifier: MIT */
/* netns.h - the session's network namespace, made by the host. As root only.
 *
 * It takes half a millisecond, in which the child mounts. It belongs to the host's user namespace as
 * if the child had made it; nobody inside has a capability over it. */
#pragma once

#include "base/err.h"
#include "sandbox/inside.h"
#include "sandbox/link.h"

struct netns {
	int fd;
	struct link link;
	int listener; /* of the executor, in it; -1 until netns_configure, or without a port */
};

/* A value that netns_close bears. */
#define NETNS_NONE                                               \
	{                                                        \
		.fd = -1, .link = { .sock = -1 }, .listener = -1 \
	}

/* Make it, with its switches set. The calling process stands in it for a moment, and is back on
 * return: nothing else may be opened between. */
must_check int netns_new(const struct net_inside *net, struct netns *out, struct err *e);

/* Set up what is in it: loopback, and with a veth the end that has arrived. */
must_check int netns_configure(struct netns *n, const struct net_inside *net, struct err *e);

/* The namespace lives on by who has entered it. */
void netns_close(struct netns *n);
