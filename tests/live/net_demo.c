/* SPDX-License-Identifier: MIT */
/* net_demo.c - sessions' networks without sessions: what the host does, what the child does, and then
 * what hostile processes in it try, with every capability over it, which real ones lack.
 *
 *	net_demo TEST
 *
 * Stands in a network namespace of its own, which is the host here. "Outside" is another one behind
 * a link: 203.0.113.1 is a server there, and so is 10.99.0.1, which no session may reach. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "launch/admit.h"
#include "launch/bridge.h"
#include "launch/net.h"
#include "launch/netns.h"
#include "session/slot.h"

#define OUTSIDE 0xcb007101u	   /* 203.0.113.1 */
#define OUTSIDE_CLOSED 0x0a630001u /* 10.99.0.1 */
#define HOST_UPLINK 0xcb007102u	   /* 203.0.113.2 */
#define PORT 7777
#define WAIT_MS 400 /* for what must not come */

static struct policy policy;

static void die(const char *fmt, ...) printf_like(1, 2);

static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("# ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

#define OK(call)                                              \
	do {                                                  \
		struct err e = { 0 };                         \
                                                              \
		if ((call) < 0)                               \
			die("line %d: %s", __LINE__, e.text); \
	} while (0)
#define CHECK(truth)                                                  \
	do {                                                          \
		if (!(truth))                                         \
			die("line %d: not so: %s", __LINE__, #truth); \
	} while (0)

static struct sockaddr_in at(uint32_t address, uint16_t port)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(address) };
}

static int listen_on(uint32_t address, uint16_t port, int type)
{
	struct sockaddr_in sa = at(address, port);
	int on = 1, s = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	CHECK(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(bind(s, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	CHECK(type != SOCK_STREAM || listen(s, 16) == 0);
	return s;
}

/* Does a connection come about? */
static bool connects(uint32_t address, uint16_t port)
{
	struct sockaddr_in sa = at(address, port);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	struct pollfd p = { .fd = s, .events = POLLOUT };
	socklen_t len = sizeof(error);
	bool done;

	if (connect(s, (struct sockaddr *)&sa, sizeof(sa)) < 0 && errno != EINPROGRESS) {
		(void)close(s);
		return false;
	}
	done = poll(&p, 1, WAIT_MS) == 1 &&
	       getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error;
	(void)close(s);
	return done;
}

/* Does something that is sent to the address come back? */
static bool echoes(uint32_t address, uint16_t port)
{
	struct sockaddr_in sa = at(address, port);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = s, .events = POLLIN };
	bool done = sendto(s, "x", 1, 0, (struct sockaddr *)&sa, sizeof(sa)) == 1 &&
		    poll(&p, 1, WAIT_MS) == 1 && p.revents == POLLIN;

	(void)close(s);
	return done;
}

/* A child that answers there until its parent ends. */
static void serve(uint32_t address, uint16_t port, uint16_t udp_port)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		struct pollfd p[2] = {
			{ .fd = listen_on(address, port, SOCK_STREAM), .events = POLLIN },
			{ .fd = listen_on(address, udp_port, SOCK_DGRAM), .events = POLLIN }
		};

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (poll(p, 2, -1) > 0) {
			struct sockaddr_in from;
			socklen_t len = sizeof(from);
			char byte;

			if (p[0].revents)
				(void)close(accept(p[0].fd, NULL, NULL));
			if (p[1].revents &&
			    recvfrom(p[1].fd, &byte, 1, 0, (struct sockaddr *)&from, &len) == 1)
				(void)sendto(p[1].fd, &byte, 1, 0, (struct sockaddr *)&from, len);
		}
		_exit(0);
	}
}

struct demo {
	struct plan plan;
	struct record record;
	pid_t pid;
	int netns;
};

/* In the session's network namespace, with the host's root's capabilities over it. */
static bool inside(const struct demo *s, bool (*f)(uint32_t, uint16_t), uint32_t address,
		   uint16_t port)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setns(s->netns, CLONE_NEWNET) == 0);
		_exit(f(address, port) ? 0 : 99);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 99);
	return WEXITSTATUS(status) == 0;
}

static void hold(const struct demo *s, int listener)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(setns(s->netns, CLONE_NEWNET) == 0);
	while (s->plan.veth)
		(void)close(accept(listener, NULL, NULL));
	(void)pause();
	_exit(0);
}

static void session_up(struct demo *s, enum net_mode mode)
{
	static unsigned number;
	struct netns n = NETNS_NONE;
	struct net_inside net;

	*s = (struct demo) {
		.plan = { .veth = true, .net = mode, .ids = IDS_ROOT, .policy = &policy }
	};
	(void)snprintf(s->record.id, sizeof(s->record.id), "%012x", ++number);
	OK(slot_take("/nonexistent", s->record.id, &s->record.slot, &e));
	slot_link_name(s->record.slot, s->record.link);
	OK(net_inside_fill(&s->plan, s->record.slot, &net, &e));
	OK(netns_new(&net, &n, &e));
	OK(net_up(&s->plan, &s->record, n.fd, &e));
	OK(netns_configure(&n, &net, &e));
	s->netns = take_fd(&n.fd);
	s->pid = fork();
	CHECK(s->pid >= 0);
	if (s->pid == 0)
		hold(s, n.listener);
	netns_close(&n);
	OK(net_settle(&s->record, &e));
}

static void session_down(struct demo *s)
{
	CHECK(kill(s->pid, SIGKILL) == 0 && waitpid(s->pid, NULL, 0) == s->pid);
	(void)close(s->netns);
	OK(net_down(&s->record, &e));
	OK(net_down(&s->record, &e)); /* twice is once */
	OK(slot_release(s->record.slot, s->record.id, &e));
}

static uint32_t gateway(const struct demo *s)
{
	return slot_gateway(slot_bridge(s->record.slot));
}

static uint32_t address_of(const struct demo *s)
{
	return slot_address(s->record.slot);
}

static void host_reaches_a_session(void)
{
	struct demo s;

	for (unsigned i = 0; i < 5; i++) {
		session_up(&s, NET_NONE);
		CHECK(connects(address_of(&s), NET_EXECUTOR_PORT));
		session_down(&s);
	}
}

static void session_without_a_way_out_reaches_nobody(void)
{
	struct demo s;

	serve(INADDR_ANY, PORT, PORT);
	session_up(&s, NET_NONE);
	CHECK(!inside(&s, connects, gateway(&s), PORT));
	CHECK(!inside(&s, echoes, gateway(&s), PORT));
	CHECK(!inside(&s, connects, HOST_UPLINK, PORT));
	CHECK(!inside(&s, connects, OUTSIDE, PORT));
	/* The rules did it, and not something else that is wrong. */
	OK(admit_ruleset("down", &e));
	CHECK(inside(&s, connects, gateway(&s), PORT));
	CHECK(inside(&s, echoes, gateway(&s), PORT));
	session_down(&s);
}

/* As one that has got hold of CAP_NET_ADMIN would: make a route where there is none. */
static bool connects_through_gateway(uint32_t to, uint16_t port)
{
	CHECK(system("ip route replace default via 198.18.0.1 dev eth0 onlink") == 0);
	return connects(to, port);
}

static bool connects_on_link(uint32_t to, uint16_t port)
{
	uint8_t m[6];
	char command[256];

	slot_mac(to, m);
	(void)snprintf(command, sizeof(command),
		       "ip route replace %u.%u.%u.%u dev eth0 && "
		       "ip neigh replace %u.%u.%u.%u lladdr %02x:%02x:%02x:%02x:%02x:%02x dev eth0",
		       to >> 24, to >> 16 & 255, to >> 8 & 255, to & 255, to >> 24, to >> 16 & 255,
		       to >> 8 & 255, to & 255, m[0], m[1], m[2], m[3], m[4], m[5]);
	CHECK(system(command) == 0);
	return connects(to, port);
}

static void sessions_do_not_reach_each_other(void)
{
	struct demo a, b, c;

	session_up(&a, NET_NONE);
	session_up(&b, NET_NAT);
	session_up(&c, NET_NAT);
	CHECK(!inside(&a, connects_on_link, address_of(&b), NET_EXECUTOR_PORT));
	CHECK(!inside(&a, connects_through_gateway, address_of(&b), NET_EXECUTOR_PORT));
	CHECK(!inside(&b, connects_on_link, address_of(&c), NET_EXECUTOR_PORT));
	CHECK(!inside(&b, connects, address_of(&c), NET_EXECUTOR_PORT));
	CHECK(!inside(&b, connects, address_of(&a), NET_EXECUTOR_PORT));
	CHECK(connects(address_of(&c), NET_EXECUTOR_PORT));
	session_down(&a);
	session_down(&b);
	session_down(&c);
}

static void session_that_may_go_out_reaches_the_world_and_no_private_address(void)
{
	char *resolvers[] = { (char *)"10.99.0.1", NULL };
	struct demo s;

	serve(INADDR_ANY, PORT, PORT);
	policy.resolvers = resolvers;
	session_up(&s, NET_NAT);
	CHECK(inside(&s, connects, OUTSIDE, PORT));
	CHECK(inside(&s, echoes, OUTSIDE, PORT));
	CHECK(!inside(&s, connects, OUTSIDE_CLOSED, PORT));
	CHECK(!inside(&s, echoes, OUTSIDE_CLOSED, PORT));
	/* the resolver, for names alone */
	CHECK(inside(&s, echoes, OUTSIDE_CLOSED, 53));
	CHECK(!inside(&s, connects, gateway(&s), PORT));
	CHECK(!inside(&s, connects, HOST_UPLINK, PORT));
	CHECK(!inside(&s, connects, INADDR_LOOPBACK, PORT));
	session_down(&s);
}

static bool forwards(const char *link)
{
	autobuf struct buf text = { 0 };
	char path[128];

	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", link);
	OK(io_read_file(AT_FDCWD, path, 16, &text, &e));
	return buf_str(&text)[0] == '1';
}

static void way_out_of_one_is_no_way_out_of_another(void)
{
	struct demo with, without;

	session_up(&with, NET_NAT);
	session_up(&without, NET_NONE);
	CHECK(inside(&with, connects, OUTSIDE, PORT));
	CHECK(!inside(&without, connects_through_gateway, OUTSIDE, PORT));
	session_down(&with);
	session_down(&without);
}

static void forwarding_is_switched_per_interface_and_undone(void)
{
	struct demo a, b;

	session_up(&a, NET_NONE);
	CHECK(!forwards("ohsbr0") && !forwards("up0") && !forwards("all"));
	session_up(&b, NET_NAT);
	CHECK(forwards("ohsbr0") && forwards("up0") && !forwards("all") && !forwards("lo"));
	session_down(&b);
	CHECK(!forwards("ohsbr0") && !forwards("up0"));
	session_down(&a);
}

/* Whether something sent by the outside goes through the host into a third network. */
static bool passes_through(void)
{
	static const char *const reset = "nft reset counter ip t c >/dev/null";
	struct sockaddr_in to = at(0xc6336407, PORT); /* 198.51.100.7 */
	int outside = open("/run/ohs-outside", O_RDONLY | O_CLOEXEC), status;
	pid_t pid;

	CHECK(system(reset) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setns(outside, CLONE_NEWNET) == 0);
		CHECK(sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&to,
			     sizeof(to)) == 1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	(void)close(outside);
	return system("nft list counter ip t c | grep -q 'packets 0 '") != 0;
}

static void host_does_not_forward_for_others_because_of_us(void)
{
	struct demo s;

	/* A third network that the host has a way to. */
	CHECK(system("ip link add lan0 type veth peer name lan1 && ip addr add 198.51.100.1/24 dev lan0 && "
		     "ip link set lan0 up && ip link set lan1 up && "
		     "ip neigh add 198.51.100.7 lladdr 02:00:00:00:00:07 dev lan0 && "
		     "nft add table ip t && nft add counter ip t c && "
		     "nft 'add chain ip t f { type filter hook postrouting priority 0; }' && "
		     "nft add rule ip t f oifname lan0 counter name c") == 0);
	CHECK(!passes_through());
	session_up(&s, NET_NAT);
	CHECK(forwards("up0"));
	CHECK(!passes_through());
	/* Our rule did it. */
	OK(admit_uplink("up0", false, &e));
	CHECK(passes_through());
	session_down(&s);
	CHECK(!passes_through());
	CHECK(system("nft delete table ip t && ip link del lan0") == 0);
}

/* Raw frames from the session's interface; how many of them reach the host's bridge. */
struct frame {
	const char *what;
	uint32_t source;
	uint8_t source_mac_last;
	uint16_t type;
	bool vlan;
};

static size_t build(const struct frame *f, const struct demo *s, uint8_t out[80])
{
	uint8_t to[6], from[6];
	size_t n = 12;
	uint32_t sum = 0;
	uint32_t source = htonl(f->source ? f->source : address_of(s)),
		 destination = htonl(gateway(s));

	slot_mac(gateway(s), to);
	slot_mac(address_of(s), from);
	from[5] ^= f->source_mac_last;
	memset(out, 0, 80);
	memcpy(out, to, 6);
	memcpy(out + 6, from, 6);
	if (f->vlan) {
		out[n++] = 0x81;
		out[n++] = 0x00;
		n += 2;
	}
	out[n++] = (uint8_t)(f->type >> 8);
	out[n++] = (uint8_t)f->type;
	out[n] = 0x45;
	out[n + 3] = 40;
	out[n + 8] = 64;
	out[n + 9] = 17;
	memcpy(out + n + 12, &source, 4);
	memcpy(out + n + 16, &destination, 4);
	for (size_t i = n; i < n + 20; i += 2)
		sum += (uint32_t)out[i] << 8 | out[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	out[n + 10] = (uint8_t)(sum >> 8);
	out[n + 11] = (uint8_t)sum;
	return n + 40;
}

static void send_frame(const struct frame *f, const struct demo *s)
{
	uint8_t bytes[80];
	size_t len = build(f, s, bytes);
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		struct sockaddr_ll to = { .sll_family = AF_PACKET };
		int raw;

		CHECK(setns(s->netns, CLONE_NEWNET) == 0);
		raw = socket(AF_PACKET, SOCK_RAW, 0);
		to.sll_ifindex = (int)if_nametoindex("eth0");
		CHECK(sendto(raw, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)) ==
		      (ssize_t)len);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool arrives(const struct frame *f, const struct demo *s)
{
	int raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct sockaddr_ll on = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct pollfd p = { .fd = raw, .events = POLLIN };
	uint8_t mac[6], got[128];
	bool seen = false;

	on.sll_ifindex = (int)if_nametoindex("ohsbr0");
	CHECK(bind(raw, (struct sockaddr *)&on, sizeof(on)) == 0);
	while (recv(raw, got, sizeof(got), MSG_DONTWAIT) > 0)
		;
	send_frame(f, s);
	slot_mac(gateway(s), mac);
	while (!seen && poll(&p, 1, WAIT_MS) == 1)
		seen = recv(raw, got, sizeof(got), 0) > 12 && memcmp(got, mac, 6) == 0;
	(void)close(raw);
	return seen;
}

static void forged_frames_stop_at_the_port(void)
{
	static const struct frame honest = { "its own", 0, 0, ETH_P_IP, false };
	static const struct frame forged[] = {
		{ "another source address", 0xc6120064, 0, ETH_P_IP, false },
		{ "the gateway's address", 0xc6120001, 0, ETH_P_IP, false },
		{ "another link address", 0, 1, ETH_P_IP, false },
		{ "ARP", 0, 0, ETH_P_ARP, false },
		{ "IPv6", 0, 0, ETH_P_IPV6, false },
		{ "a VLAN tag", 0, 0, ETH_P_IP, true },
		{ "BPDU-like", 0, 0, 0x0026, false },
	};
	struct demo s;

	session_up(&s, NET_NONE);
	CHECK(arrives(&honest, &s));
	for (size_t i = 0; i < ARRAY_LEN(forged); i++)
		if (arrives(&forged[i], &s))
			die("a frame with %s arrived", forged[i].what);
	/* Without the rules the port's own flags still stop a foreign link address. */
	OK(admit_ruleset("down", &e));
	CHECK(arrives(&forged[0], &s));
	CHECK(!arrives(&forged[2], &s));
	session_down(&s);
}

static void flushed_rules_come_back_with_the_next_session(void)
{
	struct demo a, b;

	serve(INADDR_ANY, PORT, PORT);
	session_up(&a, NET_NAT);
	CHECK(system("nft flush ruleset") == 0);
	session_up(&b, NET_NONE);
	CHECK(connects(address_of(&a), NET_EXECUTOR_PORT) &&
	      connects(address_of(&b), NET_EXECUTOR_PORT));
	CHECK(inside(&a, connects, OUTSIDE, PORT));
	CHECK(!inside(&a, connects, gateway(&a), PORT) && !inside(&b, connects, gateway(&b), PORT));
	session_down(&a);
	session_down(&b);
}

/* Slots go round in a circle: let the next be this one. */
static void turn_to(uint32_t slot)
{
	uint32_t taken;

	do {
		OK(slot_take("/nonexistent", "ffffffffffff", &taken, &e));
		OK(slot_release(taken, "ffffffffffff", &e));
	} while ((taken + 1) % SLOT_COUNT != slot);
}

static void link_that_outlived_its_session_is_replaced(void)
{
	struct demo a, b;
	int held;

	session_up(&a, NET_NONE);
	held = dup(a.netns);
	session_down(&a);
	CHECK(if_nametoindex(a.record.link));
	turn_to(a.record.slot);
	session_up(&b, NET_NONE);
	CHECK(b.record.slot == a.record.slot);
	CHECK(connects(address_of(&b), NET_EXECUTOR_PORT));
	(void)close(held);
	session_down(&b);
}

static void second_thousand_has_a_bridge_of_its_own(void)
{
	struct demo a, b;

	turn_to(SLOT_PER_BRIDGE - 1);
	session_up(&a, NET_NONE);
	session_up(&b, NET_NONE);
	CHECK(a.record.slot == SLOT_PER_BRIDGE - 1 && b.record.slot == SLOT_PER_BRIDGE);
	CHECK(if_nametoindex("ohsbr0") && if_nametoindex("ohsbr1"));
	CHECK(connects(address_of(&a), NET_EXECUTOR_PORT) &&
	      connects(address_of(&b), NET_EXECUTOR_PORT));
	CHECK(!inside(&a, connects_through_gateway, address_of(&b), NET_EXECUTOR_PORT));
	session_down(&a);
	session_down(&b);
}

static void clean_takes_all_away_but_not_under_a_session(void)
{
	struct net_shared now;
	struct demo s;

	session_up(&s, NET_NAT);
	OK(net_clean(&e));
	OK(net_shared_status(&now, &e));
	CHECK(now.sessions == 1 && now.bridges == 1 && now.ruleset && now.forwarding);
	CHECK(connects(address_of(&s), NET_EXECUTOR_PORT));
	session_down(&s);
	OK(net_shared_status(&now, &e));
	CHECK(now.sessions == 0 && !now.forwarding);
	OK(net_clean(&e));
	OK(net_shared_status(&now, &e));
	CHECK(!now.bridges && !now.ruleset);
	OK(net_clean(&e));
}

static void connections_of_one_session_are_bounded(void)
{
	autobuf struct buf text = { 0 };
	struct demo s;
	int status;
	pid_t pid;

	session_up(&s, NET_NAT);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int udp = socket(AF_INET, SOCK_DGRAM, 0);

		CHECK(setns(s.netns, CLONE_NEWNET) == 0);
		(void)close(udp);
		udp = socket(AF_INET, SOCK_DGRAM, 0);
		for (unsigned i = 0; i < 6000; i++) {
			struct sockaddr_in to = at(OUTSIDE, (uint16_t)(10000 + i));

			/* ICMP errors of earlier ones come back here. */
			(void)sendto(udp, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	OK(io_read_file(AT_FDCWD, "/proc/sys/net/netfilter/nf_conntrack_count", 32, &text, &e));
	CHECK(atoi(buf_str(&text)) > 1000 && atoi(buf_str(&text)) <= 4200);
	session_down(&s);
}

static bool loopback_works(uint32_t to, uint16_t port)
{
	pid_t pid;
	bool ok;

	/* A low port, without a capability. */
	CHECK(setresuid(12345, 12345, 12345) == 0);
	serve(INADDR_ANY, port, port);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (unsigned i = 0; i < 100 && !connects(to, port); i++)
			(void)usleep(5000);
		_exit(connects(to, port) ? 0 : 1);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	ok = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) >= 0;
	return ok && connects(to, port);
}

static void loopback_low_ports_and_pings_need_no_capability(void)
{
	struct demo s;

	session_up(&s, NET_NONE);
	CHECK(inside(&s, loopback_works, INADDR_LOOPBACK, 80));
	session_down(&s);
}

static bool has_ipv6(uint32_t unused, uint16_t also)
{
	(void)unused, (void)also;
	return access("/proc/sys/net/ipv6/conf/eth0", F_OK) == 0 ||
	       system("ip -6 addr show dev eth0 | grep -q inet6") == 0;
}

static void links_have_no_ipv6(void)
{
	struct demo s;

	session_up(&s, NET_NONE);
	CHECK(!inside(&s, has_ipv6, 0, 0));
	CHECK(system("ip -6 addr show dev ohsbr0 | grep -q inet6") != 0);
	session_down(&s);
}

/* Everything of the test in a network namespace that is its "host", beside one outside. */
static void lay_out(void)
{
	struct err e = { 0 };

	CHECK(system("touch /run/ohs-outside && unshare --net=/run/ohs-outside true") == 0);
	CHECK(system("ip link add up0 type veth peer name up1 && "
		     "ip link set up1 netns /run/ohs-outside && ip addr add 203.0.113.2/24 dev up0 && "
		     "ip link set up0 up && ip link set lo up && ip route add default via 203.0.113.1 && "
		     "nsenter --net=/run/ohs-outside sh -ec '"
		     "ip link set lo up; ip addr add 203.0.113.1/24 dev up1; ip addr add 10.99.0.1/32 dev up1; "
		     "ip link set up1 up; ip route add default via 203.0.113.2'") == 0);
	if (fork() == 0) {
		int outside = open("/run/ohs-outside", O_RDONLY | O_CLOEXEC);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK(setns(outside, CLONE_NEWNET) == 0);
		serve(OUTSIDE, PORT, PORT);
		serve(OUTSIDE_CLOSED, PORT, PORT);
		serve(OUTSIDE_CLOSED, 53, 53);
		(void)pause();
	}
	for (unsigned i = 0; i < 100 && !echoes(OUTSIDE, PORT); i++)
		;
	(void)e;
}

static void tear_down(void)
{
	OK(net_clean(&e));
	CHECK(system("ip link del up0 && umount -l /run/ohs-outside && rm /run/ohs-outside") == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define TEST(f)       \
	{             \
#f, f \
	}
	TEST(host_reaches_a_session),
	TEST(session_without_a_way_out_reaches_nobody),
	TEST(sessions_do_not_reach_each_other),
	TEST(session_that_may_go_out_reaches_the_world_and_no_private_address),
	TEST(way_out_of_one_is_no_way_out_of_another),
	TEST(forwarding_is_switched_per_interface_and_undone),
	TEST(host_does_not_forward_for_others_because_of_us),
	TEST(forged_frames_stop_at_the_port),
	TEST(flushed_rules_come_back_with_the_next_session),
	TEST(link_that_outlived_its_session_is_replaced),
	TEST(second_thousand_has_a_bridge_of_its_own),
	TEST(clean_takes_all_away_but_not_under_a_session),
	TEST(connections_of_one_session_are_bounded),
	TEST(loopback_low_ports_and_pings_need_no_capability),
	TEST(links_have_no_ipv6),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(tests); i++) {
		if (strcmp(argv[1], tests[i].name) != 0)
			continue;
		lay_out();
		tests[i].run();
		tear_down();
		return 0;
	}
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(tests); i++)
		(void)puts(tests[i].name);
	return argc == 1 ? 0 : 2;
}
