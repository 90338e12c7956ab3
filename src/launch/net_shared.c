/* SPDX-License-Identifier: MIT */
/* net_shared.c - bridges and ruleset as a whole: taken away, or described; see net.h. */
#include "launch/net.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "launch/admit.h"
#include "launch/bridge.h"
#include "sandbox/netlink.h"
#include "session/slot.h"

#define DELETES_MAX 16 /* in one send */

struct left_over {
	int index[DELETES_MAX];
	unsigned n;
};

static int see_link(unsigned type, const void *payload, size_t len, void *arg)
{
	const struct ifinfomsg *link = payload;
	struct left_over *found = arg;
	int slot;

	if (type != RTM_NEWLINK || len < sizeof(*link))
		return 0;
	slot = link->ifi_index - BRIDGE_LINK_INDEX(0);
	if (slot >= 0 && slot < (int)SLOT_COUNT && found->n < DELETES_MAX)
		found->index[found->n++] = link->ifi_index;
	return 0;
}

static int find_links(struct netlink *nl, struct left_over *found, struct err *e)
{
	struct ifinfomsg any = { .ifi_family = AF_UNSPEC };

	found->n = 0;
	netlink_add(nl, RTM_GETLINK, NLM_F_DUMP, &any, sizeof(any), "list the links");
	return netlink_ask(nl, see_link, found, e);
}

/* Links of ours that are still there: a namespace goes some time after its last process, and one
 * that somebody holds open stays. */
static int remove_links(struct err *e)
{
	autonetlink struct netlink *nl = NULL;
	struct left_over found;

	if (netlink_open(NETLINK_ROUTE, &nl, e) < 0)
		return -e->code;
	do {
		if (find_links(nl, &found, e) < 0)
			return -e->code;
		for (unsigned i = 0; i < found.n; i++) {
			struct ifinfomsg gone = { .ifi_index = found.index[i] };

			netlink_add(nl, RTM_DELLINK, 0, &gone, sizeof(gone),
				    "remove a left-over link");
		}
		/* ENODEV: gone by itself in the meantime. */
		if (netlink_send(nl, e) < 0 && e->code != ENODEV)
			return -e->code;
	} while (found.n == DELETES_MAX);
	return 0;
}

static int clean_all(struct slots *s, struct err *e)
{
	struct err first = { 0 }, next = { 0 };
	int ready = admit_is_ready(&next);

	if (ready < 0)
		err_keep(&first, &next);
	if (bridge_close_way_out(s, &next) < 0)
		err_keep(&first, &next);
	if (remove_links(&next) < 0)
		err_keep(&first, &next);
	for (unsigned b = 0; b < SLOT_BRIDGES; b++)
		if (bridge_down(b, &next) < 0)
			err_keep(&first, &next);
	if (ready > 0 && admit_ruleset("down", &next) < 0)
		err_keep(&first, &next);
	if (!first.code)
		return slots_remove(s, e);
	*e = first;
	return -e->code;
}

int net_clean(struct err *e)
{
	struct slots s;
	int r = 0;

	if (slots_open(&s, e) < 0)
		return err_wrap(e, "network");
	/* Nobody can take a slot before this is over. */
	if (slots_used(&s) == 0)
		r = clean_all(&s, e);
	slots_close(&s);
	return r < 0 ? err_wrap(e, "network") : 0;
}

int net_shared_status(struct net_shared *out, struct err *e)
{
	struct net_shared found = { 0 };
	struct slots s;
	char name[16];
	int ready = admit_is_ready(e);

	if (ready < 0 || slots_open(&s, e) < 0)
		return -e->code;
	found.ruleset = ready;
	found.sessions = slots_used(&s);
	for (unsigned i = 0; i < SLOT_UPLINKS; i++)
		found.forwarding |= slots_uplinks(&s)[i][0] != '\0';
	slots_close(&s);
	for (unsigned b = 0; b < SLOT_BRIDGES; b++) {
		slot_bridge_name(b, name);
		found.bridges += if_nametoindex(name) != 0;
	}
	*out = found;
	return 0;
}
