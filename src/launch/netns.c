/* SPDX-License-Identifier: MIT */
/* netns.c - see netns.h. */
#include "launch/netns.h"

#include <fcntl.h>
#include <sched.h>

/* What is made while we stand in it. */
static int furnish(const struct net_inside *net, int proc, struct netns *n, struct err *e)
{
	n->fd = openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
	if (n->fd < 0)
		return err_errno(e, "network: open our namespace");
	return link_open(net, proc, &n->link, e);
}

int netns_new(const struct net_inside *net, struct netns *out, struct err *e)
{
	autoclose int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int home = proc < 0 ? -1 : openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC);
	__attribute__((cleanup(netns_close))) struct netns n = NETNS_NONE;
	int made;

	if (home < 0)
		return err_errno(e, "network: open the host's namespace");
	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(e, "network: make a namespace");
	made = furnish(net, proc, &n, e);
	/* Nothing of the host's network has been touched by now, and without this nothing must be. */
	if (setns(home, CLONE_NEWNET) < 0)
		return err_errno(e, "network: come back to the host's namespace");
	if (made < 0)
		return made;
	*out = n;
	n = (struct netns)NETNS_NONE;
	return 0;
}

int netns_configure(struct netns *n, const struct net_inside *net, struct err *e)
{
	return link_configure(&n->link, net, &n->listener, e);
}

void netns_close(struct netns *n)
{
	link_close(&n->link);
	drop_fd(&n->listener);
	drop_fd(&n->fd);
}
