/* SPDX-License-Identifier: MIT */
/* server.c - see server.h. All that needs a new descriptor of its own is done before the filter. */
#include "sandbox/executor/server.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

#include "sandbox/executor/cage.h"
#include "sandbox/executor/route.h"
#include "sandbox/executor/standstill.h"

/* What is freed goes back: a session is idle most of its life. */
static void keep_memory_small(void)
{
	(void)mallopt(M_TRIM_THRESHOLD, 64 * 1024); /* tuning: if it fails, all still works */
	(void)mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	(void)mallopt(M_TOP_PAD, 16 * 1024);
}

static int listen_all(struct server *s, int listener, struct err *e)
{
	const struct ctl_boot *b = s->boot;

	if (listener >= 0 && conns_listen(&s->conns, listener, CONN_SESSION_MAX, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < b->n_listeners; i++)
		if (conns_listen(&s->conns, b->listeners[i], CONN_MAX, e) < 0)
			return -e->code;
	return publish_init(&s->publishing, &s->procs, b, e);
}

/* Where the viewer is has been written down before any request is heard. */
static void let_in(struct server *s)
{
	conns_open(&s->conns);
	if (s->boot->shell_early)
		act_runs_prepare(&s->runs);
}

static int set_up(struct server *s, int listener, int link, struct err *e)
{
	struct ctl_message ready = { .kind = CTL_READY };

	if (loop_init(&s->loop, e) < 0 || procs_init(&s->procs, &s->loop, link, e) < 0)
		return -e->code;
	s->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .key = s->boot->key,
				    .admit = standstill_admit,
				    .routes = routes,
				    .n_routes = routes_count,
				    .closed = !s->boot->exit_on_eof };
	dispatch_init(&s->dispatch);
	act_runs_init(&s->runs, s);
	act_files_init(&s->files, s);
	act_cells_init(&s->cells, s);
	transfers_init(&s->transfers, &s->procs, TRANSFER_AT_ONCE);
	info_open(&s->info);
	actions_init(&s->actions, s);
	feeds_init(&s->feeds, s);
	if (listen_all(s, listener, e) < 0 || cage_server(link, e) < 0)
		return -e->code;
	if (ctl_send(link, &ready, e) < 0)
		return -e->code;
	/* Nobody asks a session for pages that ends with its one command. */
	if (!s->boot->exit_on_eof)
		view_begin(&s->view, s, let_in);
	return 0;
}

int server_run(const struct ctl_boot *boot, int listener, int link, struct err *e)
{
	struct server s = { .boot = boot };
	int ret;

	(void)signal(SIGPIPE, SIG_IGN);
	keep_memory_small();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) /* a change of ids may have set it */
		return err_errno(e, "server: dumpable");
	ret = set_up(&s, listener, link, e);
	while (ret == 0 && !s.procs.broken)
		ret = loop_turn(&s.loop, e);
	return ret < 0 ? ret : err_code(e, EPIPE, "server: init is gone");
}
