/* SPDX-License-Identifier: MIT */
/* held.c - see held.h. */
#include "api/held.h"

#include <string.h>

#include "api/server.h"
#include "api/wake.h"
#include "base/log.h"
#include "launch/listen.h"

#define CLIENTS_MAX 8 /* at once, of one session: each hears its 503 and goes */

struct held_port {
	struct conns conns;
	struct runtime *runtime;
	uint16_t port;
	char *key;
};

static int refuse(struct server *s, const struct http_request *r, const char **why)
{
	(void)s;
	(void)r;
	*why = "the session is paused: resume it";
	return 503;
}

static void begin(struct server *s, struct conn *c)
{
	struct held_port *h = container_of(conn_all(c), struct held_port, conns);

	(void)s;
	wake_begin(h->runtime, h->port, c);
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

static void held_free(struct held_port *h)
{
	conns_end(&h->conns);
	if (h->key)
		explicit_bzero(h->key, strlen(h->key));
	free(h->key);
	free(h);
}

static struct held_port *listen_at(struct runtime *r, uint16_t port, const char *key)
{
	struct held_port *h = calloc(1, sizeof(*h));
	struct err e = { 0 };
	int fds[LISTEN_LOOPBACK_MAX], n;

	if (!h)
		return NULL; /* without memory it is not kept */
	*h = (struct held_port) {
		.conns = { .server = r->server, .loop = &r->server->loop, .admit = refuse },
		.runtime = r,
		.port = port,
		.key = strdup(key), /* without memory nobody has it */
	};
	h->conns.key = h->key;
	n = listen_loopback_again(fds, port, &e);
	if (n >= 0 && listen_on(&h->conns, fds, n, &e) == 0)
		return h;
	log_warn("session %s: its port is not kept while it is paused: %s", r->id, e.text);
	held_free(h);
	return NULL;
}

static void drop(struct held_port **held)
{
	if (*held)
		held_free(take_ptr(held));
}

/* Whoever has the session's key wakes what sleeps; nobody wakes what was paused. */
static void serve_as(struct held_port *h, bool wakes)
{
	static const struct route wake = { .begin = begin };

	if (h)
		h->conns.any = wakes ? &wake : NULL;
}

void held_take(struct runtime *r)
{
	/* A resume that failed has left it shut. */
	if (r->held)
		conns_open(&r->held->conns);
	else
		r->held = listen_at(r, r->port, r->key);
	if (!r->held_program && r->url_port != r->port)
		r->held_program =
			listen_at(r, r->url_port, r->program_key ? r->program_key : r->key);
	serve_as(r->held, r->wakes);
	serve_as(r->held_program, r->wakes);
}

unsigned held_lend(struct runtime *r, int fds[2])
{
	struct conns *cs = r->held ? &r->held->conns : NULL;

	drop(&r->held_program);
	if (!cs)
		return 0;
	conns_shut(cs);
	for (unsigned i = 0; i < cs->n_listeners; i++)
		fds[i] = cs->listeners[i]->fd;
	return cs->n_listeners;
}

void held_drop(struct runtime *r)
{
	drop(&r->held);
	drop(&r->held_program);
}
