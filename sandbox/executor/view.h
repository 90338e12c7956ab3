/* SPDX-License-Identifier: MIT */
/* view.h - a picture or PDF of the session as a page, for a browser inside: the port is the session's
 * loopback, where nobody else reaches it, and /tmp/oh-server-url says which. Without a key, for it
 * shows no more than who asks may read: the file is opened with the workload's ids. */
#pragma once

#include "base/err.h"
#include "http/conn.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/transfer.h"

enum view_limits {
	VIEW_CONNS = 16,
	VIEW_AT_ONCE =
		1, /* process; what comes over this port may not crowd the clients' transfers */
};

struct view {
	struct proc proc;
	struct conns conns;
	struct transfers transfers;
	void (*settled)(struct server *s);
};

/* Have the port opened. `settled` is called when that is done, or cannot be: then there is none. */
void view_begin(struct view *v, struct server *s, void (*settled)(struct server *s));

/* GET /view?path=... */
void view_file(struct server *s, struct conn *c, const char *body, size_t len);

/* In a process that has the workload's ids: listen, and write down where. Returns the socket. */
must_check int view_listen(const struct ctl_boot *boot, struct err *e);
