/* SPDX-License-Identifier: MIT */
/* held.c - see held.h. */
#include "api/held.h"

#include "api/server.h"
#include "base/log.h"
#include "launch/listen.h"

#define CLIENTS_MAX 8 /* at once, of one session: each hears its 503 and goes */

static int refuse(struct server *s, const struct http_request *r, const char **why)
{
	(void)s;
	(void)r;
	*why = "the session is paused: resume it";
	return 503;
}

static int listen_on(struct conns *cs, const int *fds, int n, struct err *e)
{
	for (int i = 0; i < n; i++) {
		if (conns_listen(cs, fds[i], CLIENTS_MAX, e) == 0)
			continue;
		for (; i < n; i++)
			(void)close(fds[i]); /* nothing was written */
		return -e->code;
	}
	return 0;
}

void held_take(struct runtime *r)
{
	struct conns *cs = r->held ? NULL : calloc(1, sizeof(*cs));
	struct err e = { 0 };
	int fds[LISTEN_LOOPBACK_MAX], n;

	if (!cs)
		return; /* held already, or without memory not at all */
	*cs = (struct conns) { .server = r->server, .loop = &r->server->loop, .admit = refuse };
	r->held = cs;
	n = listen_loopback_again(fds, r->port, &e);
	if (n >= 0 && listen_on(cs, fds, n, &e) == 0)
		return;
	log_warn("session %s: its port is not kept while it is paused: %s", r->id, e.text);
	held_drop(r);
}

unsigned held_lend(struct runtime *r, int fds[2])
{
	if (!r->held)
		return 0;
	conns_shut(r->held);
	for (unsigned i = 0; i < r->held->n_listeners; i++)
		fds[i] = r->held->listeners[i]->fd;
	return r->held->n_listeners;
}

void held_drop(struct runtime *r)
{
	if (!r->held)
		return;
	conns_end(r->held);
	free(take_ptr(&r->held));
}
