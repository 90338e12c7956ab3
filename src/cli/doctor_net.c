/* SPDX-License-Identifier: MIT */
/* doctor_net.c - links and firewalls: what a session's network stands on, and who else is there. */
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/doctor.h"
#include "launch/net.h"
#include "session/program.h"

/* One netlink request and its acknowledgement, by hand: a trial is worth no library. */
struct trial {
	struct nlmsghdr header;
	char body[256];
};

static int exchange(int protocol, struct trial *r, struct err *e)
{
	autoclose int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct timeval patience = { .tv_sec = 5 };
	char answer[4096] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	ssize_t n;

	if (s < 0 || setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return err_errno(e, "netlink socket");
	if (send(s, r, r->header.nlmsg_len, 0) < 0)
		return err_errno(e, "netlink request");
	n = recv(s, answer, sizeof(answer), 0);
	if (n < (ssize_t)sizeof(*header))
		return err_errno(e, "netlink answer");
	if (header->nlmsg_type == NLMSG_ERROR &&
	    n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
		errno = -((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		return errno ? err_errno(e, "the kernel answers") : 0;
	}
	return 0;
}

static struct rtattr *add_attribute(struct trial *r, unsigned short type, const void *data,
				    size_t len)
{
	struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

/* A link of that kind, in a network namespace that ends with this process. */
static int try_link(const void *kind, struct err *e)
{
	struct trial r = { .header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
				       .nlmsg_type = RTM_NEWLINK,
				       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
						      NLM_F_EXCL } };
	struct rtattr *info;

	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(e, "network namespace");
	info = add_attribute(&r, IFLA_LINKINFO, NULL, 0);
	add_attribute(&r, IFLA_INFO_KIND, kind, strlen(kind) + 1);
	info->rta_len = (unsigned short)((char *)&r + r.header.nlmsg_len - (char *)info);
	return exchange(NETLINK_ROUTE, &r, e);
}

static int try_nftables(const void *arg, struct err *e)
{
	struct trial r = { .header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg)),
				       .nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN,
				       .nlmsg_flags = NLM_F_REQUEST } };

	(void)arg;
	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(e, "network namespace");
	return exchange(NETLINK_NETFILTER, &r, e);
}

static const char no_veth[] =
	"no address of the session's own and no way out; the executor answers on loopback";

static void look_tried(const struct doctor *d, int (*act)(const void *arg, struct err *e),
		       const char *module, struct finding *f)
{
	struct err e = { 0 };

	if (!d->host->net_admin) {
		finding_fine(
			f,
			"is for root; the executor answers on loopback, sessions have no way out");
		return;
	}
	if (doctor_try(act, module, &e) == 0) {
		finding_fine(f, "works");
		return;
	}
	finding_lack(f, VERDICT_FATAL, no_veth, "%s", e.text);
	finding_cure(f, "modprobe %s", module);
}

static void look_bridge(const struct doctor *d, struct finding *f)
{
	look_tried(d, try_link, "bridge", f);
}

static void look_veth(const struct doctor *d, struct finding *f)
{
	look_tried(d, try_link, "veth", f);
}

static void look_nftables(const struct doctor *d, struct finding *f)
{
	look_tried(d, try_nftables, "nf_tables", f);
}

static void look_helper(const struct doctor *d, struct finding *f)
{
	struct err e = { 0 };
	autoclose int fd = program_open("firewall", &e);

	if (fd >= 0 || !d->host->net_admin) {
		finding_fine(f, fd >= 0 ? "is there" : "is for root");
		return;
	}
	finding_lack(f, VERDICT_FATAL, no_veth, "%s", e.text);
	finding_cure(f, "make install, or run ohsandbox out of its build tree");
}

static bool file_has(const char *path, const char *text)
{
	autobuf struct buf content = { 0 };
	struct err ignored = { 0 };

	return io_read_file(AT_FDCWD, path, 1 << 20, &content, &ignored) == 0 &&
	       strstr(buf_str(&content), text);
}

static bool runs_docker(void)
{
	return access("/sys/class/net/docker0", F_OK) == 0 || access("/run/docker.sock", F_OK) == 0;
}

static bool runs_ufw(void)
{
	return file_has("/etc/ufw/ufw.conf", "ENABLED=yes");
}

static bool runs_firewalld(void)
{
	return access("/run/firewalld", F_OK) == 0 || access("/run/firewalld.pid", F_OK) == 0;
}

static const struct firewall {
	const char *name, *cure;
	bool (*runs)(void);
} firewalls[] = {
	{ "docker",
	  "iptables -I DOCKER-USER -i 'ohsbr+' -j ACCEPT; iptables -I DOCKER-USER -o 'ohsbr+' -j ACCEPT",
	  runs_docker },
	{ "ufw", "ufw route allow in on ohsbr0", runs_ufw },
	{ "firewalld",
	  "firewall-cmd --permanent --zone=trusted --add-interface=ohsbr0; firewall-cmd --reload",
	  runs_firewalld },
};

/* What they forbid stays forbidden whatever our own table allows. */
static void look_firewalls(const struct doctor *d, struct finding *f)
{
	char found[100] = "";
	const char *cure = NULL;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(firewalls); i++) {
		if (!firewalls[i].runs())
			continue;
		len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%s", len ? ", " : "",
					firewalls[i].name);
		cure = cure ? cure : firewalls[i].cure;
	}
	if (!cure || !d->host->net_admin) {
		finding_fine(f, "%s", len ? found : "none");
		return;
	}
	finding_lack(
		f, VERDICT_LESS,
		"it may drop what sessions with --net nat send: what it forbids, we cannot allow",
		"%s", found);
	finding_cure(f, "where sessions with --net nat reach nobody: %s", cure);
}

static void look_shared(const struct doctor *d, struct finding *f)
{
	struct net_shared shared = { 0 };
	struct err e = { 0 };

	if (!d->host->privileged) {
		finding_fine(f, "is root's");
		return;
	}
	if (net_shared_status(&shared, &e) < 0) {
		finding_lack(f, VERDICT_LESS, "what is shared between sessions cannot be looked at",
			     "%s", e.text);
		return;
	}
	if (shared.sessions || (!shared.bridges && !shared.ruleset && !shared.forwarding)) {
		finding_fine(f, "%u sessions, %u bridges of ours%s%s", shared.sessions,
			     shared.bridges, shared.ruleset ? ", our nft tables" : "",
			     shared.forwarding ? ", forwarding switched on" : "");
		return;
	}
	finding_lack(f, VERDICT_LESS,
		     "ours, left by sessions that are gone; the next one uses it again",
		     "%u bridges%s%s without a session", shared.bridges,
		     shared.ruleset ? ", our nft tables" : "",
		     shared.forwarding ? ", forwarding switched on" : "");
	finding_cure(f, "ohsandbox clean");
}

const struct check doctor_net_checks[] = {
	{ "bridge", look_bridge },
	{ "veth", look_veth },
	{ "nftables", look_nftables },
	{ "ohsandbox-firewall", look_helper },
	{ "other firewalls", look_firewalls },
	{ "shared network", look_shared },
	{ NULL, NULL },
};
