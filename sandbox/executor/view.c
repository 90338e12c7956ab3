/* SPDX-License-Identifier: MIT */
/* view.c - see view.h. The server's part. */
#include "sandbox/executor/view.h"

#include <string.h>
#include <strings.h>

#include "sandbox/executor/server.h"
#include "sandbox/executor/transfer_own.h"

static void get_root(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char there[] = "{\"status\":\"File viewer server is running\"}";

	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, NULL, there, sizeof(there) - 1);
}

static const struct route view_routes[] = {
	{ "GET", "/", true, 0, .handle = get_root },
	{ "GET", "/view", true, 0, .handle = view_file },
};

static void answered(struct proc *p, struct ctl_message *m)
{
	struct view *v = container_of(p, struct view, proc);
	struct server *s = v->conns.server;
	struct err e = { 0 };

	/* Behind the socket that every helper gives stands the listener. */
	if (m->kind == CTL_STARTED && m->started.n_fds == 2 &&
	    conns_listen(&v->conns, m->started.fds[1], VIEW_CONNS, &e) == 0)
		m->started.fds[1] = -1;
	if (m->kind == CTL_STARTED)
		procs_forget(&s->procs, p);
	v->settled(s);
}

void view_begin(struct view *v, struct server *s, void (*settled)(struct server *s))
{
	struct ctl_message m = { .kind = CTL_START,
				 .start = { .flags = CTL_START_HELPER | CTL_START_VIEW } };
	static const char *const none[] = { NULL };
	struct err e = { 0 };

	m.start.argv = m.start.env = (char **)(uintptr_t)none;
	m.start.cwd = (char *)(uintptr_t) "/";
	v->proc.answer = answered;
	v->settled = settled;
	v->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .routes = view_routes,
				    .n_routes = ARRAY_LEN(view_routes) };
	transfers_init(&v->transfers, &s->procs, VIEW_AT_ONCE);
	if (procs_ask(&s->procs, &v->proc, &m, &e) < 0)
		settled(s); /* init is gone, and the server with it, next */
}

/* --- a file ---------------------------------------------------------------------------------- */

#define PAGE "text/html; charset=utf-8"

static void page_done(struct transfer *t)
{
	transfer_stream(t, PAGE, NULL);
}

/* The page that says why is made where the file is looked at. */
static void page_failed(struct transfer *t, unsigned status, const char *text)
{
	if (t->conn)
		conn_reply(t->conn, status == 400 || status == 404 ? (int)status : 500, PAGE, text,
			   strlen(text));
	transfer_end(t);
}

static void page_free(struct transfer *t)
{
	free(t);
}

static const struct transfer_kind viewing = { .op = TRANSFER_VIEW,
					      .done = page_done,
					      .failed = page_failed,
					      .free = page_free };

/* A browser that was told a foreign name for this address must not hand what is here to a foreign page.
 * A client without the header is no browser. */
static bool means_us(struct http_text host)
{
	static const char *const names[] = { "localhost", "127.0.0.1" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);

		if (host.len >= len && strncasecmp(host.at, names[i], len) == 0 &&
		    (host.len == len || host.at[len] == ':'))
			return true;
	}
	return !host.at;
}

void view_file(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct transfer *t = calloc(1, sizeof(*t));
	autobuf struct buf path = { 0 };

	(void)body;
	(void)len;
	if (!t) {
		conn_reply_detail(c, 500, CONN_UNEXPECTED);
		return;
	}
	if (!means_us(conn_request(c)->host)) {
		conn_reply_detail(c, 400, "This is the file viewer of localhost");
		free(t);
		return;
	}
	if (!http_query(conn_request(c)->query, "path", &path) ||
	    strlen(buf_str(&path)) != path.len) {
		conn_reply_invalid(c, "query parameter 'path' is missing, or no path");
		free(t);
		return;
	}
	conn_hold(c, &t->conn);
	transfer_begin(t, &s->view.transfers, &viewing, buf_str(&path), "");
}
