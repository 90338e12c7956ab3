/* SPDX-License-Identifier: MIT */
/* publish.c - see publish.h. A tunnel is two sockets, and for each direction what could not be
 * written yet; while there is some, nothing more is read, so that neither end can fill memory. */
#include "sandbox/executor/publish.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

struct end {
	struct source source;
	struct tunnel *tunnel;
	struct end *other;
	struct buf waiting; /* read from the other end, not yet written to this one */
	bool read_ended;    /* it has said all */
	bool told_ended;    /* it was told that the other has said all */
};

struct tunnel {
	struct publishing *all;
	struct proc proc;
	struct end host, inside;
};

static void watch_ports(struct publishing *p, uint32_t events)
{
	for (unsigned i = 0; i < p->n_ports; i++)
		loop_want(p->procs->loop, &p->ports[i].source, events);
}

static void end_close(struct end *e)
{
	loop_remove(e->tunnel->all->procs->loop, &e->source);
	drop_fd(&e->source.fd);
	buf_clear(&e->waiting);
}

static void tunnel_free(struct tunnel *t)
{
	struct publishing *p = t->all;

	procs_forget(p->procs, &t->proc);
	end_close(&t->host);
	end_close(&t->inside);
	free(t);
	p->n_tunnels--;
	watch_ports(p, EPOLLIN);
}

static void want(struct end *e)
{
	uint32_t events = 0;

	if (!e->read_ended && !e->other->waiting.len)
		events |= EPOLLIN;
	if (e->waiting.len)
		events |= EPOLLOUT;
	loop_want(e->tunnel->all->procs->loop, &e->source, events);
}

/* Returns false when the connection is broken. */
static bool push(struct end *to)
{
	ssize_t n;

	if (to->waiting.len) {
		n = write(to->source.fd, to->waiting.data, to->waiting.len);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n > 0) {
			to->waiting.len -= (size_t)n;
			memmove(to->waiting.data, to->waiting.data + n, to->waiting.len);
		}
	}
	if (to->waiting.len)
		return true;
	buf_clear(&to->waiting);
	if (to->other->read_ended && !to->told_ended) {
		to->told_ended = true;
		(void)shutdown(to->source.fd, SHUT_WR); /* one that is gone needs no telling */
	}
	return true;
}

static bool pull(struct end *from)
{
	char bytes[PUBLISH_BYTES];
	ssize_t n = read(from->source.fd, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		from->read_ended = true;
	else
		buf_add(&from->other->waiting, bytes, (size_t)n);
	return !from->other->waiting.failed && push(from->other);
}

static void end_ready(struct source *source, uint32_t events)
{
	struct end *e = container_of(source, struct end, source);
	struct tunnel *t = e->tunnel;
	bool good = true;

	if (events & EPOLLOUT)
		good = push(e);
	if (good && events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !e->read_ended &&
	    !e->other->waiting.len)
		good = pull(e);
	else if (events & EPOLLERR)
		good = false;
	if (!good || (t->host.told_ended && t->inside.told_ended)) {
		tunnel_free(t);
		return;
	}
	want(e);
	want(e->other);
}

static void connected(struct proc *p, struct ctl_message *m)
{
	struct tunnel *t = container_of(p, struct tunnel, proc);
	struct loop *loop = t->all->procs->loop;
	struct err e = { 0 };

	/* Nobody listens inside: the host's client sees its connection closed. */
	if (m->kind != CTL_STARTED || m->started.n_fds != 1) {
		tunnel_free(t);
		return;
	}
	procs_forget(t->all->procs, p);
	t->inside.source.fd = take_fd(&m->started.fds[0]);
	if (loop_add(loop, &t->inside.source, &e) < 0 || loop_add(loop, &t->host.source, &e) < 0)
		tunnel_free(t);
}

static void end_init(struct end *e, struct tunnel *t, struct end *other, int fd)
{
	e->source = (struct source) { .fd = fd, .events = EPOLLIN, .ready = end_ready };
	e->tunnel = t;
	e->other = other;
}

static void port_ready(struct source *source, uint32_t events)
{
	struct published *port = container_of(source, struct published, source);
	struct ctl_message m = { .kind = CTL_CONNECT, .connect = { .port = port->port } };
	struct publishing *p = port->all;
	autoclose int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct tunnel *t = fd < 0 ? NULL : calloc(1, sizeof(*t));
	struct err e = { 0 };

	(void)events;
	if (!t) {
		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return;
		watch_ports(p, 0); /* no descriptor or memory is left: until one is given back */
		return;
	}
	t->all = p;
	t->proc.answer = connected;
	end_init(&t->host, t, &t->inside, take_fd(&fd));
	end_init(&t->inside, t, &t->host, -1);
	if (++p->n_tunnels == PUBLISH_MAX)
		watch_ports(p, 0);
	if (procs_ask(p->procs, &t->proc, &m, &e) < 0)
		tunnel_free(t);
}

int publish_init(struct publishing *p, struct procs *procs, const struct ctl_boot *boot,
		 struct err *e)
{
	*p = (struct publishing) { .procs = procs, .n_ports = boot->n_publish };
	for (unsigned i = 0; i < p->n_ports; i++) {
		struct published *port = &p->ports[i];

		port->all = p;
		port->port = boot->publish[i].port;
		port->source = (struct source) { .fd = boot->publish[i].listener,
						 .events = EPOLLIN,
						 .ready = port_ready };
		if (fcntl(port->source.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
			return err_errno(e, "listener of port %u", port->port);
		if (loop_add(procs->loop, &port->source, e) < 0)
			return -e->code;
	}
	return 0;
}
