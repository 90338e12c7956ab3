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

static struct conns *listen_at(struct runtime *r, uint16_t port)
{
	struct conns *cs = calloc(1, sizeof(*cs));
	struct err e = { 0 };
	int fds[LISTEN_LOOPBACK_MAX], n;

	if (!cs)
		return NULL; /* without memory it is not kept */
	*cs = (struct conns) { .server = r->server, .loop = &r->server->loop, .admit = refuse };
	n = listen_loopback_again(fds, port, &e);
	if (n >= 0 && listen_on(cs, fds, n, &e) == 0)
		return cs;
	log_warn("session %s: its port is not kept while it is paused: %s", r->id, e.text);
	conns_end(cs);
	free(cs);
	return NULL;
}

static void drop(struct conns **held)
{
	if (*held)
		conns_end(*held);
	free(take_ptr(held));
}

void held_take(struct runtime *r)
{
	/* A resume that failed has left it shut. */
	if (r->held)
		conns_open(r->held);
	else
		r->held = listen_at(r, r->port);
	if (!r->held_program && r->url_port != r->port)
		r->held_program = listen_at(r, r->url_port);
}

unsigned held_lend(struct runtime *r, int fds[2])
{
	drop(&r->held_program);
	if (!r->held)
		return 0;
	conns_shut(r->held);
	for (unsigned i = 0; i < r->held->n_listeners; i++)
		fds[i] = r->held->listeners[i]->fd;
	return r->held->n_listeners;
}

void held_drop(struct runtime *r)
{
	drop(&r->held);
	drop(&r->held_program);
}
