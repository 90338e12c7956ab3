/* SPDX-License-Identifier: MIT */
/* bridge.c - see bridge.h. */
#include "launch/bridge.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/io.h"
#include "launch/admit.h"
#include "sandbox/netlink.h"

/* No router, redirects or answers for others, and no IPv6 at all on a bridge of ours. */
static const struct {
	const char *family, *name, *value;
} bridge_sysctls[] = {
	{ "ipv4", "forwarding", "0" },	     { "ipv4", "route_localnet", "0" },
	{ "ipv4", "accept_redirects", "0" }, { "ipv4", "send_redirects", "0" },
	{ "ipv4", "proxy_arp", "0" },	     { "ipv4", "rp_filter", "1" },
	{ "ipv6", "accept_ra", "0" },	     { "ipv6", "disable_ipv6", "1" },
};

static int write_sysctl(const char *family, const char *link, const char *name, const char *value,
			struct err *e)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, link, name);
	return io_write_text(AT_FDCWD, path, value, e);
}

/* 1 or 0; -ENOENT for an interface that is not there. */
static int is_forwarding(const char *link, struct err *e)
{
	autobuf struct buf text = { 0 };
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", link);
	if (io_read_file(AT_FDCWD, path, 16, &text, e) < 0)
		return -e->code;
	return buf_str(&text)[0] == '1';
}

int bridge_is_ready(unsigned bridge, struct err *e)
{
	autoclose int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	if (sock < 0)
		return err_errno(e, "bridge: make a socket");
	slot_bridge_name(bridge, req.ifr_name);
	if (ioctl(sock, SIOCGIFFLAGS, &req) < 0)
		return errno == ENODEV ? 0 : err_errno(e, "look at %s", req.ifr_name);
	return req.ifr_flags & IFF_UP ? 1 : 0;
}

static void add_bridge(struct netlink *nl, unsigned bridge, const char *name)
{
	struct ifinfomsg link = { .ifi_index = BRIDGE_INDEX(bridge) };
	uint8_t mac[6];

	slot_mac(slot_gateway(bridge), mac);
	netlink_add(nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link),
		    "make the bridge");
	netlink_str(nl, IFLA_IFNAME, name);
	netlink_u32(nl, IFLA_GROUP, BRIDGE_GROUP);
	/* Fixed: a bridge takes the lowest address of its ports otherwise. */
	netlink_put(nl, IFLA_ADDRESS, mac, sizeof(mac));
	netlink_nest(nl, IFLA_LINKINFO);
	netlink_str(nl, IFLA_INFO_KIND, "bridge");
	netlink_nest(nl, IFLA_INFO_DATA);
	netlink_u32(nl, IFLA_BR_STP_STATE, 0);
	netlink_u8(nl, IFLA_BR_MCAST_SNOOPING, 0);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
}

static void add_address(struct netlink *nl, unsigned bridge)
{
	struct ifaddrmsg address = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = SLOT_NET_PREFIX,
		.ifa_index = (unsigned)BRIDGE_INDEX(bridge),
	};

	netlink_add(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &address, sizeof(address),
		    "address of the bridge");
	netlink_u32(nl, IFA_LOCAL, htonl(slot_gateway(bridge)));
	netlink_u32(nl, IFA_ADDRESS, htonl(slot_gateway(bridge)));
}

static int write_sysctls(const char *name, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(bridge_sysctls); i++)
		/* A kernel without IPv6 has no such files. */
		if (write_sysctl(bridge_sysctls[i].family, name, bridge_sysctls[i].name,
				 bridge_sysctls[i].value, e) < 0 &&
		    !(e->code == ENOENT && strcmp(bridge_sysctls[i].family, "ipv6") == 0))
			return -e->code;
	return 0;
}

/* Somebody else's link of our name would come under our rules, and ours under theirs. */
static int check_is_ours(const char *name, unsigned bridge, struct err *e)
{
	unsigned index = if_nametoindex(name);

	if (index && index != (unsigned)BRIDGE_INDEX(bridge))
		return err_code(e, EEXIST, "an interface '%s' that is not ours is in the way",
				name);
	return 0;
}

int bridge_up(unsigned bridge, struct err *e)
{
	struct ifinfomsg same = { .ifi_index = BRIDGE_INDEX(bridge) };
	struct ifinfomsg up = { .ifi_index = BRIDGE_INDEX(bridge),
				.ifi_flags = IFF_UP,
				.ifi_change = IFF_UP };
	autonetlink struct netlink *nl = NULL;
	char name[16];
	int ready = bridge_is_ready(bridge, e);

	if (ready != 0)
		return ready < 0 ? ready : 0;
	slot_bridge_name(bridge, name);
	if (check_is_ours(name, bridge, e) < 0 || netlink_open(NETLINK_ROUTE, &nl, e) < 0)
		return -e->code;
	add_bridge(nl, bridge, name);
	if (netlink_send(nl, e) < 0 && e->code != EEXIST)
		return err_wrap(e, "%s", name);
	/* Before it is up: IPv6 gives an address of its own to what goes up. */
	if (write_sysctls(name, e) < 0)
		return err_wrap(e, "%s", name);
	/* Set later than made, or the bridge would follow its ports: up and down with each session. */
	netlink_add(nl, RTM_SETLINK, 0, &same, sizeof(same), "set the bridge's MTU");
	netlink_u32(nl, IFLA_MTU, BRIDGE_MTU);
	add_address(nl, bridge);
	netlink_add(nl, RTM_SETLINK, 0, &up, sizeof(up), "bring the bridge up");
	if (netlink_send(nl, e) < 0)
		return err_wrap(e, "%s", name);
	return 0;
}

int bridge_down(unsigned bridge, struct err *e)
{
	autonetlink struct netlink *nl = NULL;
	struct ifinfomsg link = { .ifi_index = BRIDGE_INDEX(bridge) };

	if (netlink_open(NETLINK_ROUTE, &nl, e) < 0)
		return -e->code;
	netlink_add(nl, RTM_DELLINK, 0, &link, sizeof(link), "remove the bridge");
	if (netlink_send(nl, e) < 0 && e->code != ENODEV)
		return -e->code;
	return 0;
}

struct uplinks {
	int index[SLOT_UPLINKS];
	unsigned n;
};

static void note_uplink(struct uplinks *found, int index)
{
	for (unsigned i = 0; i < found->n; i++)
		if (found->index[i] == index)
			return;
	if (found->n < SLOT_UPLINKS)
		found->index[found->n++] = index;
}

/* A default route, of whatever table; one with several next hops names them in RTA_MULTIPATH. */
static int see_route(unsigned type, const void *payload, size_t len, void *arg)
{
	const struct rtmsg *route = payload;
	const char *attrs = (const char *)payload + NLMSG_ALIGN(sizeof(*route));
	const struct rtnexthop *hop;
	const int *oif;
	size_t size = 0;
	int left;

	if (type != RTM_NEWROUTE || len < NLMSG_ALIGN(sizeof(*route)) || route->rtm_dst_len ||
	    route->rtm_type != RTN_UNICAST)
		return 0;
	len -= NLMSG_ALIGN(sizeof(*route));
	oif = netlink_find(attrs, len, RTA_OIF, NULL);
	hop = netlink_find(attrs, len, RTA_MULTIPATH, &size);
	if (oif)
		note_uplink(arg, *oif);
	for (left = (int)size; hop && RTNH_OK(hop, left);
	     left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		note_uplink(arg, hop->rtnh_ifindex);
	return 0;
}

static int find_uplinks(struct uplinks *found, struct err *e)
{
	autonetlink struct netlink *nl = NULL;
	struct rtmsg route = { .rtm_family = AF_INET };

	found->n = 0;
	if (netlink_open(NETLINK_ROUTE, &nl, e) < 0)
		return -e->code;
	netlink_add(nl, RTM_GETROUTE, NLM_F_DUMP, &route, sizeof(route), "read the routes");
	return netlink_ask(nl, see_route, found, e);
}

static char *uplink_row(struct slots *s, const char *name)
{
	slot_uplink *row = slots_uplinks(s);

	for (unsigned i = 0; i < SLOT_UPLINKS; i++)
		if (strncmp(row[i], name, sizeof(row[i])) == 0)
			return row[i];
	return NULL;
}

/* Noted first, so that it can be undone; guarded next, so that it never forwards for others. */
static int open_uplink(struct slots *s, const char *name, struct err *e)
{
	char *row = uplink_row(s, name);
	int on = is_forwarding(name, e);

	if (on < 0)
		return on;
	if (!on) {
		if (!row)
			row = uplink_row(s, "");
		if (!row)
			return err_code(e, ENOSPC, "more than %u interfaces have a default route",
					SLOT_UPLINKS);
		(void)strcpy(row, name);
		if (admit_uplink(name, true, e) < 0 ||
		    write_sysctl("ipv4", name, "forwarding", "1", e) < 0)
			return -e->code;
		return 0;
	}
	/* Switched by us and since then also by somebody who meant it, for all interfaces: no longer
	 * ours to guard, or to switch off. */
	on = row ? is_forwarding("all", e) : 0;
	if (on < 0)
		return on;
	if (on && admit_uplink(name, false, e) < 0)
		return -e->code;
	if (on)
		memset(row, 0, sizeof(slot_uplink));
	return 0;
}

int bridge_open_way_out(struct slots *s, unsigned bridge, struct err *e)
{
	struct uplinks found;
	char name[IF_NAMESIZE];

	if (find_uplinks(&found, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < found.n; i++)
		/* One that has just gone is no way out any more. */
		if (if_indextoname((unsigned)found.index[i], name) && open_uplink(s, name, e) < 0)
			return err_wrap(e, "forwarding of '%s'", name);
	slot_bridge_name(bridge, name);
	return write_sysctl("ipv4", name, "forwarding", "1", e);
}

/* What is not there any more needs no switching. */
static void switch_off(const char *link, struct err *first)
{
	struct err e = { 0 };

	if (write_sysctl("ipv4", link, "forwarding", "0", &e) < 0 && e.code != ENOENT)
		err_keep(first, &e);
}

int bridge_close_way_out(struct slots *s, struct err *e)
{
	slot_uplink *row = slots_uplinks(s);
	struct err first = { 0 };
	char name[16];

	for (unsigned b = 0; b < SLOT_BRIDGES; b++) {
		slot_bridge_name(b, name);
		switch_off(name, &first);
	}
	for (unsigned i = 0; i < SLOT_UPLINKS; i++) {
		struct err next = { 0 };

		if (!row[i][0])
			continue;
		switch_off(row[i], &first);
		if (admit_uplink(row[i], false, &next) < 0)
			err_keep(&first, &next);
		else
			memset(row[i], 0, sizeof(row[i]));
	}
	if (!first.code)
		return 0;
	*e = first;
	return -e->code;
}
