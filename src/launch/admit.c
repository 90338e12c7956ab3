/* SPDX-License-Identifier: MIT */
/* admit.c - see admit.h. Names and key types are those of src/firewall/ruleset.c. */
#include "launch/admit.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/netlink.h"
#include "session/program.h"

#define TABLE "ohsandbox"

/* In a key of several fields each is padded to four bytes. */
struct port_key {
	char link[IFNAMSIZ];
	uint8_t mac[6], pad[2];
	uint32_t address;
};

static void add_marker(struct netlink *nl, unsigned type)
{
	struct nfgenmsg header = { .nfgen_family = AF_UNSPEC,
				   .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_add(nl, type, 0, &header, sizeof(header), "firewall");
}

static void add_request(struct netlink *nl, unsigned type, uint8_t family, const char *what)
{
	struct nfgenmsg header = { .nfgen_family = family };
	unsigned flags = type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0;

	netlink_add(nl, NFNL_SUBSYS_NFTABLES << 8 | type, flags, &header, sizeof(header), what);
}

static void add_element(struct netlink *nl, unsigned type, uint8_t family, const char *set,
			const void *key, size_t len)
{
	add_request(nl, type, family, set);
	netlink_str(nl, NFTA_SET_ELEM_LIST_TABLE, TABLE);
	netlink_str(nl, NFTA_SET_ELEM_LIST_SET, set);
	netlink_nest(nl, NFTA_SET_ELEM_LIST_ELEMENTS);
	netlink_nest(nl, NFTA_LIST_ELEM);
	netlink_nest(nl, NFTA_SET_ELEM_KEY);
	netlink_put(nl, NFTA_DATA_VALUE, key, len);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
	netlink_end_nest(nl);
}

static void add_port(struct netlink *nl, unsigned type, const struct admit *a)
{
	struct port_key key = { .address = htonl(a->address) };

	(void)snprintf(key.link, sizeof(key.link), "%s", a->link);
	memcpy(key.mac, a->mac, sizeof(key.mac));
	add_element(nl, type, NFPROTO_BRIDGE, "ports", &key, sizeof(key));
}

static void add_nat(struct netlink *nl, unsigned type, const struct admit *a)
{
	uint32_t address = htonl(a->address);

	add_element(nl, type, NFPROTO_INET, "nat", &address, sizeof(address));
}

static void add_resolver(struct netlink *nl, unsigned type, const struct admit *a, unsigned i)
{
	uint32_t key[2] = { htonl(a->address), htonl(a->resolvers.address[i]) };

	add_element(nl, type, NFPROTO_INET, "resolvers", key, sizeof(key));
}

int admit_add(const struct admit *a, struct err *e)
{
	autonetlink struct netlink *nl = NULL;

	if (netlink_open(NETLINK_NETFILTER, &nl, e) < 0)
		return -e->code;
	add_marker(nl, NFNL_MSG_BATCH_BEGIN);
	add_port(nl, NFT_MSG_NEWSETELEM, a);
	if (a->nat) {
		add_nat(nl, NFT_MSG_NEWSETELEM, a);
		for (unsigned i = 0; i < a->resolvers.n; i++)
			add_resolver(nl, NFT_MSG_NEWSETELEM, a, i);
	}
	add_marker(nl, NFNL_MSG_BATCH_END);
	if (netlink_send(nl, e) < 0)
		return err_wrap(e, "firewall set");
	return 0;
}

/* One element a transaction: a transaction fails as a whole, and any of them may be gone. */
static int send_delete(struct netlink *nl, struct err *first)
{
	struct err e = { 0 };

	add_marker(nl, NFNL_MSG_BATCH_END);
	if (netlink_send(nl, &e) < 0 && e.code != ENOENT)
		err_keep(first, &e);
	return -first->code;
}

int admit_remove_nat(const struct admit *a, struct err *e)
{
	autonetlink struct netlink *nl = NULL;
	struct err first = { 0 };

	if (netlink_open(NETLINK_NETFILTER, &nl, e) < 0)
		return -e->code;
	add_marker(nl, NFNL_MSG_BATCH_BEGIN);
	add_nat(nl, NFT_MSG_DELSETELEM, a);
	(void)send_delete(nl, &first); /* kept in `first` */
	for (unsigned i = 0; i < a->resolvers.n; i++) {
		add_marker(nl, NFNL_MSG_BATCH_BEGIN);
		add_resolver(nl, NFT_MSG_DELSETELEM, a, i);
		(void)send_delete(nl, &first); /* the same */
	}
	if (!first.code)
		return 0;
	*e = first;
	return err_wrap(e, "firewall set");
}

int admit_uplink(const char *name, bool add, struct err *e)
{
	autonetlink struct netlink *nl = NULL;
	char key[IFNAMSIZ] = "";

	(void)snprintf(key, sizeof(key), "%s", name);
	if (netlink_open(NETLINK_NETFILTER, &nl, e) < 0)
		return -e->code;
	add_marker(nl, NFNL_MSG_BATCH_BEGIN);
	add_element(nl, add ? NFT_MSG_NEWSETELEM : NFT_MSG_DELSETELEM, NFPROTO_INET, "uplinks", key,
		    sizeof(key));
	add_marker(nl, NFNL_MSG_BATCH_END);
	if (netlink_send(nl, e) < 0 && (add || e->code != ENOENT))
		return err_wrap(e, "firewall set");
	return 0;
}

static int see_nothing(unsigned type, const void *payload, size_t len, void *arg)
{
	(void)type, (void)payload, (void)len, (void)arg;
	return 0;
}

int admit_is_ready(struct err *e)
{
	autonetlink struct netlink *nl = NULL;

	if (netlink_open(NETLINK_NETFILTER, &nl, e) < 0)
		return -e->code;
	add_request(nl, NFT_MSG_GETTABLE, NFPROTO_BRIDGE, "firewall table");
	netlink_str(nl, NFTA_TABLE_NAME, TABLE);
	if (netlink_ask(nl, see_nothing, NULL, e) == 0)
		return 1;
	return e->code == ENOENT ? 0 : -e->code;
}

int admit_ruleset(const char *command, struct err *e)
{
	autoclose int program = program_open("firewall", e);
	char *argv[] = { (char *)"ohsandbox-firewall", (char *)(uintptr_t)command, NULL };
	char *env[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", (char *)"LC_ALL=C", NULL };
	int status;
	pid_t pid;

	if (program < 0)
		return -e->code;
	pid = vfork();
	if (pid == 0) {
		(void)fexecve(program, argv, env);
		_exit(127);
	}
	if (pid < 0)
		return err_errno(e, "start ohsandbox-firewall");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "wait for ohsandbox-firewall");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_code(e, EIO, "'ohsandbox-firewall %s' failed; what it said stands above",
			command);
}
