/* SPDX-License-Identifier: MIT */
/* net.c - see net.h. */
#include "launch/net.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "launch/admit.h"
#include "launch/bridge.h"
#include "sandbox/netlink.h"
#include "session/slot.h"

#define PEER_NAME "eth0"
#define SETTLE_MS 2000
#define SETTLE_TRIES 1000 /* every change of any link of the host wakes us */

/* What a port may do: speak to the bridge itself, from its one known address. A kernel that lacks
 * one of these skips it; the firewall holds each of them a second time. */
static const struct {
	unsigned attr;
	uint8_t value;
} port_flags[] = {
	{ IFLA_BRPORT_ISOLATED, 1 },	{ IFLA_BRPORT_LEARNING, 0 },
	{ IFLA_BRPORT_LOCKED, 1 },	{ IFLA_BRPORT_UNICAST_FLOOD, 0 },
	{ IFLA_BRPORT_MCAST_FLOOD, 0 }, { IFLA_BRPORT_BCAST_FLOOD, 0 },
	{ IFLA_BRPORT_GUARD, 1 },	{ IFLA_BRPORT_PROTECT, 1 },
};

static uint32_t ping_gid_max(const struct plan *p)
{
	if (p->ids == IDS_ROOT)
		return INT32_MAX; /* the kernel's own highest */
	return p->ids == IDS_SUBIDS ? IDS_WORKLOAD : 0;
}

/* A published port is the workload's: a server of its own may want all addresses of it. */
static uint16_t executor_port(const struct request *r)
{
	uint16_t port = NET_EXECUTOR_PORT;

	for (unsigned i = 0; r && i < r->n_publish; i++) {
		if (r->publish[i].inside != port)
			continue;
		port++;
		i = UINT_MAX; /* once more, from the first */
	}
	return port;
}

int net_inside_fill(const struct plan *p, uint32_t slot, struct net_inside *out, struct err *e)
{
	struct net_inside net = { .veth = p->veth, .ping_gid_max = ping_gid_max(p) };

	if (!p->veth) {
		*out = net;
		return 0;
	}
	if (slot >= SLOT_COUNT)
		return err_code(e, EINVAL, "network: there is no slot %u", slot);
	(void)strcpy(net.peer, PEER_NAME);
	net.address = slot_address(slot);
	net.gateway = slot_gateway(slot_bridge(slot));
	net.prefix = 32; /* nobody but the gateway is on the link */
	slot_mac(net.address, net.mac);
	slot_mac(net.gateway, net.gateway_mac);
	net.default_route = p->net == NET_NAT;
	net.port = executor_port(p->request);
	*out = net;
	return 0;
}

static void fill_admit(uint32_t slot, struct admit *a)
{
	*a = (struct admit) { .address = slot_address(slot) };
	slot_link_name(slot, a->link);
	slot_mac(a->address, a->mac);
}

static void add_end(struct netlink *nl, const char *name, const uint8_t mac[6])
{
	netlink_str(nl, IFLA_IFNAME, name);
	netlink_put(nl, IFLA_ADDRESS, mac, 6);
	netlink_u32(nl, IFLA_MTU, BRIDGE_MTU);
	netlink_u32(nl, IFLA_GROUP, BRIDGE_GROUP);
	/* One for every CPU of the host otherwise. */
	netlink_u32(nl, IFLA_NUM_TX_QUEUES, 1);
	netlink_u32(nl, IFLA_NUM_RX_QUEUES, 1);
}

/* The pair, its peer born in the session's namespace under its final name: moving and renaming both
 * wait for all readers in the kernel. */
static void add_veth(struct netlink *nl, uint32_t slot, const struct admit *a, int netns)
{
	struct ifinfomsg link = { .ifi_index = BRIDGE_LINK_INDEX(slot) };
	struct ifinfomsg peer = { .ifi_index = 0 };
	uint8_t host_mac[6];

	/* Any other than the peer's; fixed, so that no network manager wants to fix it. */
	memcpy(host_mac, a->mac, sizeof(host_mac));
	host_mac[1]++;
	netlink_add(nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link),
		    "make the link");
	add_end(nl, a->link, host_mac);
	netlink_u32(nl, IFLA_MASTER, (uint32_t)BRIDGE_INDEX(slot_bridge(slot)));
	netlink_nest(nl, IFLA_LINKINFO);
	netlink_str(nl, IFLA_INFO_KIND, "veth");
	netlink_nest(nl, IFLA_INFO_DATA);
	netlink_nest(nl, VETH_INFO_PEER);
	netlink_header(nl, &peer, sizeof(peer));
	add_end(nl, PEER_NAME, a->mac);
	netlink_u32(nl, IFLA_NET_NS_FD, (uint32_t)netns);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
}

static void add_port_flags(struct netlink *nl, uint32_t slot)
{
	struct ifinfomsg link = { .ifi_index = BRIDGE_LINK_INDEX(slot) };

	netlink_add(nl, RTM_NEWLINK, 0, &link, sizeof(link), "set up the bridge's port");
	netlink_nest(nl, IFLA_LINKINFO);
	netlink_str(nl, IFLA_INFO_SLAVE_KIND, "bridge");
	netlink_nest(nl, IFLA_INFO_SLAVE_DATA);
	for (size_t i = 0; i < ARRAY_LEN(port_flags); i++)
		netlink_u8(nl, port_flags[i].attr, port_flags[i].value);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
}

/* Where frames for the session's address go, as the bridge's forwarding entry. */
static void add_forwarding_entry(struct netlink *nl, uint32_t slot, const struct admit *a)
{
	struct ndmsg entry = {
		.ndm_family = AF_BRIDGE,
		.ndm_ifindex = BRIDGE_LINK_INDEX(slot),
		.ndm_state = NUD_NOARP, /* static */
		.ndm_flags = NTF_MASTER,
	};

	netlink_add(nl, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &entry, sizeof(entry),
		    "add the forwarding entry");
	netlink_put(nl, NDA_LLADDR, a->mac, sizeof(a->mac));
}

/* An address has the same link address in every session that ever has it, so the entry may stay
 * for as long as the bridge does: no end of a session waits for the lock that its own dying
 * namespace holds. */
static void add_neighbour(struct netlink *nl, uint32_t slot, const struct admit *a)
{
	struct ndmsg entry = {
		.ndm_family = AF_INET,
		.ndm_ifindex = BRIDGE_INDEX(slot_bridge(slot)),
		.ndm_state = NUD_PERMANENT,
	};

	netlink_add(nl, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &entry, sizeof(entry),
		    "add the neighbour");
	netlink_u32(nl, NDA_DST, htonl(a->address));
	netlink_put(nl, NDA_LLADDR, a->mac, sizeof(a->mac));
}

static int send_link(struct netlink *nl, uint32_t slot, const struct admit *a, int netns,
		     struct err *e)
{
	struct ifinfomsg up = { .ifi_index = BRIDGE_LINK_INDEX(slot),
				.ifi_flags = IFF_UP,
				.ifi_change = IFF_UP };

	add_veth(nl, slot, a, netns);
	add_port_flags(nl, slot);
	add_forwarding_entry(nl, slot, a);
	add_neighbour(nl, slot, a);
	netlink_add(nl, RTM_SETLINK, 0, &up, sizeof(up), "bring the link up");
	return netlink_send(nl, e);
}

static int delete_link(struct netlink *nl, int index, struct err *e)
{
	struct ifinfomsg link = { .ifi_index = index };

	netlink_add(nl, RTM_DELLINK, 0, &link, sizeof(link), "remove the link");
	if (netlink_send(nl, e) < 0 && e->code != ENODEV)
		return -e->code;
	return 0;
}

static int link_up(uint32_t slot, const struct admit *a, int netns, struct err *e)
{
	autonetlink struct netlink *nl = NULL;

	if (netlink_open(NETLINK_ROUTE, &nl, e) < 0)
		return -e->code;
	if (send_link(nl, slot, a, netns, e) == 0)
		return 0;
	if (e->code != EEXIST && e->code != EBUSY)
		return -e->code;
	/* Of an earlier session in this slot, whose network namespace somebody holds open. */
	if (delete_link(nl, BRIDGE_LINK_INDEX(slot), e) < 0)
		return -e->code;
	return send_link(nl, slot, a, netns, e);
}

/* Somebody flushed the host's rules, or nobody has laid ours since boot. Sessions that live are
 * let in again: without their elements they would be cut off. */
static int ruleset_make(struct slots *s, struct err *e)
{
	int ready = admit_is_ready(e);

	if (ready != 0)
		return ready < 0 ? ready : 0;
	if (admit_ruleset("up", e) < 0)
		return -e->code;
	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
		struct admit a;

		if (!slots_is_taken(s, slot, NULL)) {
			slots_set_nat(s, slot, NULL);
			continue;
		}
		fill_admit(slot, &a);
		a.nat = slots_nat(s, slot, &a.resolvers);
		if (admit_add(&a, e) < 0)
			return -e->code;
	}
	for (unsigned i = 0; i < SLOT_UPLINKS; i++)
		if (slots_uplinks(s)[i][0] && admit_uplink(slots_uplinks(s)[i], true, e) < 0)
			return -e->code;
	return 0;
}

/* What the first session of a boot, or of a bridge, finds missing. */
static int shared_up(struct slots *s, uint32_t slot, struct err *e)
{
	if (ruleset_make(s, e) < 0 || bridge_up(slot_bridge(slot), e) < 0)
		return -e->code;
	return 0;
}

static int admit_plain(uint32_t slot, const struct admit *a, struct err *e)
{
	int ready = bridge_is_ready(slot_bridge(slot), e);
	struct slots s;
	int r;

	if (ready < 0)
		return ready;
	r = ready ? admit_add(a, e) : -ENOENT;
	if (r != -ENOENT)
		return r;
	if (slots_open(&s, e) < 0)
		return -e->code;
	r = shared_up(&s, slot, e);
	slots_close(&s);
	return r < 0 ? r : admit_add(a, e);
}

/* Noted in the table before any set names the address; see slots_set_nat. */
static int admit_nat(uint32_t slot, const struct admit *a, struct err *e)
{
	struct slots s;
	int r;

	if (slots_open(&s, e) < 0)
		return -e->code;
	slots_set_nat(&s, slot, &a->resolvers);
	r = shared_up(&s, slot, e);
	if (r == 0)
		r = admit_add(a, e);
	if (r == 0)
		r = bridge_open_way_out(&s, slot_bridge(slot), e);
	slots_close(&s);
	return r;
}

int net_up(const struct plan *p, const struct record *r, int netns, struct err *e)
{
	struct admit a;

	if (!p->veth)
		return 0;
	if (r->slot >= SLOT_COUNT)
		return err_code(e, EINVAL, "network: session %s has no slot", r->id);
	fill_admit(r->slot, &a);
	a.nat = p->net == NET_NAT;
	if (a.nat && resolvers_find(p->policy->resolvers, &a.resolvers, e) < 0)
		return err_wrap(e, "network");
	/* The rules stand before the link does. */
	if ((a.nat ? admit_nat : admit_plain)(r->slot, &a, e) < 0 ||
	    link_up(r->slot, &a, netns, e) < 0)
		return err_wrap(e, "network");
	return 0;
}

static int close_way_out(struct slots *s, uint32_t slot, struct err *e)
{
	struct err first = { 0 }, next = { 0 };
	struct admit a;

	fill_admit(slot, &a);
	(void)slots_nat(s, slot, &a.resolvers); /* the caller knows that it may */
	if (admit_remove_nat(&a, &next) < 0)
		err_keep(&first, &next);
	else
		slots_set_nat(s, slot, NULL);
	if (!slots_nat_count(s) && bridge_close_way_out(s, &next) < 0)
		err_keep(&first, &next);
	if (!first.code)
		return 0;
	*e = first;
	return -e->code;
}

int net_down(const struct record *r, struct err *e)
{
	struct slots s;
	int result = 0;

	if (!r->link[0] || r->slot >= SLOT_COUNT)
		return 0;
	if (slots_open(&s, e) < 0)
		return err_wrap(e, "network");
	/* The link itself goes with its namespace, unwatched: removing it here would wait for all
	 * readers in the kernel. When the slot is another session's by now, nothing is left to do. */
	if (slots_is_taken(&s, r->slot, r->id) && slots_nat(&s, r->slot, NULL))
		result = close_way_out(&s, r->slot, e);
	slots_close(&s);
	return result < 0 ? err_wrap(e, "network") : 0;
}

/* A link that the kernel has not brought into use yet drops what is sent, which its queueing
 * discipline's name tells. Other links that the socket has heard of do not count. */
struct settling {
	int index;
	bool waiting;
};

static int see_link(unsigned type, const void *payload, size_t len, void *arg)
{
	const struct ifinfomsg *link = payload;
	struct settling *s = arg;
	const char *qdisc;
	size_t size;

	if (type != RTM_NEWLINK || len < NLMSG_ALIGN(sizeof(*link)) || link->ifi_index != s->index)
		return 0;
	qdisc = netlink_find(link + 1, len - sizeof(*link), IFLA_QDISC, &size);
	s->waiting = qdisc && size == sizeof("noop") && memcmp(qdisc, "noop", size) == 0;
	return 0;
}

/* Asking makes newer kernels do it at once; older ones (before 6.8) say when they have. */
static int settle(struct netlink *nl, int index, struct err *e)
{
	struct ifinfomsg link = { .ifi_index = index };
	struct settling s = { .index = index };

	for (unsigned tries = 0; tries < SETTLE_TRIES; tries++) {
		int r;

		netlink_add(nl, RTM_GETLINK, 0, &link, sizeof(link), "look at the link");
		if (netlink_ask(nl, see_link, &s, e) < 0)
			return -e->code;
		if (!s.waiting)
			return 0;
		/* Listening first, then another look: or what is said in between would be missed. */
		r = tries ? netlink_wait(nl, SETTLE_MS, e) : netlink_join(nl, RTNLGRP_LINK, e);
		if (r < 0)
			return r;
		if (tries && r == 0)
			break;
	}
	return err_code(e, ETIMEDOUT, "interface %d did not come into use", index);
}

int net_settle(const struct record *r, struct err *e)
{
	autonetlink struct netlink *nl = NULL;

	if (!r->link[0])
		return 0;
	if (netlink_open(NETLINK_ROUTE, &nl, e) < 0 ||
	    settle(nl, BRIDGE_LINK_INDEX(r->slot), e) < 0 ||
	    settle(nl, BRIDGE_INDEX(slot_bridge(r->slot)), e) < 0)
		return err_wrap(e, "network");
	return 0;
}
