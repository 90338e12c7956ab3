/* SPDX-License-Identifier: MIT */
/* link.c - see link.h. */
#include "sandbox/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/io.h"
#include "sandbox/netlink.h"

#define LISTEN_BACKLOG 128
#define LOOPBACK_INDEX 1 /* in every network namespace */
#define ETH0 "eth0"

/* What the session's processes may do without a capability over the network namespace, which
 * nobody inside has: bind low ports, send pings. */
static int write_sysctls(const struct net_inside *net, int proc, struct err *e)
{
	char range[32];

	(void)snprintf(range, sizeof(range), "0 %u", net->ping_gid_max);
	if (io_write_text(proc, "sys/net/ipv4/ip_unprivileged_port_start", "0", e) < 0 ||
	    io_write_text(proc, "sys/net/ipv4/ping_group_range", range, e) < 0)
		return -e->code;
	return 0;
}

static void add_up(struct netlink *nl, int index, const char *what)
{
	struct ifinfomsg link = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	netlink_add(nl, RTM_SETLINK, 0, &link, sizeof(link), what);
}

static void add_address(struct netlink *nl, int index, const struct net_inside *net)
{
	struct ifaddrmsg address = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = (unsigned char)net->prefix,
		.ifa_index = (unsigned)index,
	};

	netlink_add(nl, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &address, sizeof(address),
		    "address of " ETH0);
	netlink_u32(nl, IFA_LOCAL, htonl(net->address));
	netlink_u32(nl, IFA_ADDRESS, htonl(net->address));
}

/* The one neighbour there is. Nobody has to ask who it is, so nobody can answer in its place. */
static void add_gateway_neighbour(struct netlink *nl, int index, const struct net_inside *net)
{
	struct ndmsg neighbour = { .ndm_family = AF_INET,
				   .ndm_ifindex = index,
				   .ndm_state = NUD_PERMANENT };

	netlink_add(nl, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour, sizeof(neighbour),
		    "neighbour of " ETH0);
	netlink_u32(nl, NDA_DST, htonl(net->gateway));
	netlink_put(nl, NDA_LLADDR, net->gateway_mac, sizeof(net->gateway_mac));
}

/* `via` 0: the gateway itself, on the link. Else everything, through it. */
static void add_route(struct netlink *nl, int index, const struct net_inside *net, uint32_t via)
{
	struct rtmsg route = {
		.rtm_family = AF_INET,
		.rtm_dst_len = via ? 0 : 32,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
		.rtm_type = RTN_UNICAST,
	};

	netlink_add(nl, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route),
		    via ? "default route" : "route to the gateway");
	if (via)
		netlink_u32(nl, RTA_GATEWAY, htonl(via));
	else
		netlink_u32(nl, RTA_DST, htonl(net->gateway));
	netlink_u32(nl, RTA_OIF, (uint32_t)index);
}

static int configure(struct netlink *nl, const struct net_inside *net, int eth0, struct err *e)
{
	add_up(nl, LOOPBACK_INDEX, "loopback");
	if (net->veth) {
		add_up(nl, eth0, ETH0);
		add_address(nl, eth0, net);
		add_gateway_neighbour(nl, eth0, net);
		add_route(nl, eth0, net, 0);
		if (net->default_route)
			add_route(nl, eth0, net, net->gateway);
	}
	return netlink_send(nl, e);
}

/* The interface by the name it arrived with, which is its final one: changing a name waits for
 * every reader in the kernel. */
static int find_eth0(const struct net_inside *net, int sock, struct err *e)
{
	struct ifreq req = { 0 };

	(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", net->peer);
	if (strcmp(req.ifr_name, ETH0) != 0)
		return err_code(e, EINVAL, "interface '%s' should have arrived as " ETH0,
				req.ifr_name);
	if (ioctl(sock, SIOCGIFINDEX, &req) < 0)
		return err_errno(e, "find " ETH0);
	return req.ifr_ifindex;
}

static int bind_listener(const struct net_inside *net, int sock, struct err *e)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(net->port),
		.sin_addr.s_addr = htonl(net->address),
	};
	int on = 1;

	if (setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(sock, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(sock, LISTEN_BACKLOG) < 0)
		return err_errno(e, "listen on port %u", net->port);
	return 0;
}

void link_close(struct link *l)
{
	if (!l->route)
		return;
	netlink_close(l->route);
	auto_close(&l->sock);
	*l = (struct link) { .sock = -1 };
}

int link_open(const struct net_inside *net, int proc, struct link *out, struct err *e)
{
	autoclose int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	autonetlink struct netlink *route = NULL;

	if (sock < 0)
		return err_errno(e, "network: make a socket");
	if (write_sysctls(net, proc, e) < 0 || netlink_open(NETLINK_ROUTE, &route, e) < 0)
		return err_wrap(e, "network");
	*out = (struct link) { .route = take_ptr(&route), .sock = take_fd(&sock) };
	return 0;
}

int link_configure(struct link *l, const struct net_inside *net, int *listener, struct err *e)
{
	int eth0 = net->veth ? find_eth0(net, l->sock, e) : 0;

	if (eth0 < 0 || configure(l->route, net, eth0, e) < 0 ||
	    (net->port && bind_listener(net, l->sock, e) < 0))
		return err_wrap(e, "network");
	*listener = net->port ? take_fd(&l->sock) : -1;
	return 0;
}

int link_inside(const struct net_inside *net, int proc, int *listener, struct err *e)
{
	__attribute__((cleanup(link_close))) struct link l = { .sock = -1 };

	if (link_open(net, proc, &l, e) < 0)
		return -e->code;
	return link_configure(&l, net, listener, e);
}
