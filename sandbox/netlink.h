/* SPDX-License-Identifier: MIT */
/* netlink.h - many requests in one send.
 *
 * The kernel works through a netlink send before it returns, so a whole interface costs one
 * sendmsg and one recvmsg. Every request of a batch is named, and so is an error.
 *
 *	netlink_add(nl, RTM_NEWLINK, NLM_F_CREATE, &header, sizeof(header), "link eth0");
 *	netlink_u32(nl, IFLA_MTU, 1500);
 *	if (netlink_send(nl, e) < 0)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct netlink;

/* A socket of the calling process's network namespace. */
must_check int netlink_open(int protocol, struct netlink **out, struct err *e);
void netlink_close(struct netlink *nl);
void auto_netlink(struct netlink **nl);
#define autonetlink __attribute__((cleanup(auto_netlink)))

/* Start the next request. `what` is kept as a pointer until it is sent. */
void netlink_add(struct netlink *nl, unsigned type, unsigned flags, const void *header, size_t len,
		 const char *what);

/* Attributes of the request started last. A failure shows at netlink_send. */
void netlink_put(struct netlink *nl, unsigned attr, const void *bytes, size_t len);
void netlink_u8(struct netlink *nl, unsigned attr, uint8_t value);
void netlink_u32(struct netlink *nl, unsigned attr, uint32_t value);
void netlink_str(struct netlink *nl, unsigned attr, const char *text);
void netlink_nest(struct netlink *nl, unsigned attr);
void netlink_header(struct netlink *nl, const void *bytes, size_t len); /* raw, inside a nest */
void netlink_end_nest(struct netlink *nl);

/* Send all of them at once; the kernel does them in order and goes on after one that failed. 0,
 * or the first error. The batch is empty afterwards. */
must_check int netlink_send(struct netlink *nl, struct err *e);

/* Send one request that is answered with messages (a get, a dump), and hand each one's type and
 * payload to `each`, whose negative errno is an error. The batch is empty afterwards. */
typedef int netlink_each(unsigned type, const void *payload, size_t len, void *arg);
must_check int netlink_ask(struct netlink *nl, netlink_each *each, void *arg, struct err *e);

/* Hear of what happens to a group's objects (RTNLGRP_LINK). */
must_check int netlink_join(struct netlink *nl, unsigned group, struct err *e);

/* Wait until something is heard, and forget it. 1, or 0 when the time is over. */
must_check int netlink_wait(struct netlink *nl, int timeout_ms, struct err *e);

/* The payload of the first attribute of a kind, NULL without. `size` (NULL: four bytes at least,
 * as numbers have) is filled with its length. */
const void *netlink_find(const void *attrs, size_t len, unsigned attr, size_t *size);
