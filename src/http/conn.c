/* SPDX-License-Identifier: MIT */
/* conn.c - see conn.h. The life of connections: accepted, waited for, given up, ended.
 *
 * A connection at rest holds no buffer. Bytes arrive in one of fixed size; a body that does not
 * end in it grows in another, or goes on in pieces. Nothing here recurses from a reply into the
 * next request. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/conn_own.h"

static void accept_again(struct conns *cs)
{
	if (cs->closed)
		return;
	for (unsigned i = 0; i < cs->n_listeners; i++)
		loop_want(cs->loop, cs->listeners[i], EPOLLIN);
}

void conn_drop_in(struct conn *c)
{
	/* Keys were in it, perhaps one that is not ours. */
	if (c->in)
		explicit_bzero(c->in, c->in_len);
	free(c->in);
	c->in = NULL;
	c->head_len = c->in_at = c->in_len = 0;
}

void conn_drop_piece(struct conn *c)
{
	free(c->piece);
	c->piece = NULL;
	c->piece_at = c->piece_len = 0;
}

/* Whoever waits for something of this connection hears that it has gone. */
static void tell_gone(struct conn *c)
{
	struct conn_stream *stream = take_ptr(&c->stream);
	struct conn_body *to = take_ptr(&c->to);
	struct conn_mind *mind = take_ptr(&c->mind);

	if (c->holder)
		*c->holder = NULL;
	c->holder = NULL;
	if (mind)
		mind->left(mind);
	if (stream) {
		stream->conn = NULL;
		stream->gone(stream);
	}
	if (to)
		to->gone(to);
}

void conn_free(struct conn *c)
{
	struct conns *cs = c->all;

	tell_gone(c);
	loop_remove(cs->loop, &c->source);
	(void)close(c->source.fd);
	conn_drop_in(c);
	conn_drop_piece(c);
	buf_clear(&c->body);
	buf_clear(&c->out);
	free(c->what);
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		cs->first = c->next;
	cs->n--;
	c->from->n--;
	free(c);
	accept_again(cs);
}

int conn_detach(struct conn *c, struct buf *rest, struct err *e)
{
	int fd;

	if (c->in_len > c->in_at)
		buf_add(rest, c->in + c->in_at, c->in_len - c->in_at);
	if (buf_check(rest, e) < 0)
		return -e->code;
	fd = fcntl(c->source.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(e, "connection");
	conn_free(c);
	return fd;
}

static uint32_t wanted(const struct conn *c)
{
	switch (c->state) {
	case CONN_BODY:
		return c->paused ? 0 : EPOLLIN;
	case CONN_WAIT:
		/* A connection that is gone is always told of, a client that has said its last only
		 * where it is asked for. */
		return c->mind ? (uint32_t)EPOLLRDHUP : 0;
	case CONN_REPLY:
		return EPOLLOUT;
	case CONN_STREAM:
		/* An endless one has to see that nobody listens any more though it says nothing. */
		return c->stream_left == CONN_LENGTH_UNKNOWN ? (uint32_t)EPOLLRDHUP : 0;
	default:
		return EPOLLIN;
	}
}

void conn_watch(struct conn *c)
{
	if (!c->advancing)
		loop_want(c->all->loop, &c->source, wanted(c));
}

void conn_set_state(struct conn *c, enum conn_state state)
{
	static const uint64_t patience[] = { [CONN_HEAD] = CONN_IDLE_MS,
					     [CONN_BODY] = CONN_MOVE_MS,
					     [CONN_WAIT] = 0,
					     [CONN_REPLY] = CONN_MOVE_MS,
					     [CONN_STREAM] = 0,
					     [CONN_LINGER] = CONN_LINGER_MS };

	c->state = state;
	c->deadline_ms = patience[state] ? loop_time(c->all->loop) + patience[state] : UINT64_MAX;
	conn_watch(c);
}

static void linger(struct conn *c)
{
	char thrown_away[4096];
	ssize_t n = read(c->source.fd, thrown_away, sizeof(thrown_away));

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		conn_free(c);
}

static void receive(struct conn *c)
{
	char *at;
	size_t room = conn_room(c, &at);
	ssize_t n;

	if (!room) {
		conn_free(c); /* no memory */
		return;
	}
	n = read(c->source.fd, at, room);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_free(c);
		return;
	}
	if (c->state == CONN_HEAD && !c->in_len)
		c->deadline_ms = loop_time(c->all->loop) + CONN_HEAD_MS;
	conn_came(c, (size_t)n);
	conn_advance(c);
}

static void conn_ready(struct source *source, uint32_t events)
{
	struct conn *c = container_of(source, struct conn, source);

	if (c->state == CONN_REPLY && events & EPOLLOUT)
		conn_flush(c);
	else if (c->state == CONN_LINGER)
		linger(c);
	else if (wanted(c) & EPOLLIN && events & EPOLLIN)
		receive(c);
	else if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		conn_free(c);
}

/* Since when nothing of a request has come, or no whole head, which comes in one piece from anybody
 * who means it; or no more of a body that is to be whole before anybody looks at it, or that nobody
 * wants; or the end of what was refused: else all places could be held so. Whoever has asked stays. */
static uint64_t waits_since(const struct conn *c)
{
	if (c->state == CONN_HEAD)
		return c->deadline_ms - (c->in_len ? CONN_HEAD_MS : CONN_IDLE_MS);
	if (c->state == CONN_BODY && !c->to)
		return c->deadline_ms - CONN_MOVE_MS;
	return c->state == CONN_LINGER ? c->deadline_ms - CONN_LINGER_MS : UINT64_MAX;
}

/* The one that is waited for longest makes room, among those of a listener that has too many. */
static bool make_room(const struct listener *l)
{
	bool own = l->n >= l->max;
	uint64_t since = UINT64_MAX;
	struct conn *longest = NULL;

	for (struct conn *c = l->all->first; c; c = c->next)
		if ((!own || c->from == l) && waits_since(c) < since) {
			longest = c;
			since = waits_since(c);
		}
	if (longest)
		conn_free(longest);
	return longest;
}

static void sweep(struct timer *timer)
{
	struct conns *cs = container_of(timer, struct conns, sweep);
	uint64_t now = loop_time(cs->loop);
	struct conn *next;

	for (struct conn *c = cs->first; c; c = next) {
		next = c->next;
		if (c->deadline_ms > now)
			continue;
		if (c->state == CONN_BODY || (c->state == CONN_HEAD && c->in_len))
			conn_give_up(c, 408, http_reason(408));
		else
			conn_free(c);
	}
	if (cs->n)
		loop_arm(cs->loop, &cs->sweep, now + 1000);
}

static int conn_new(struct listener *l, int fd, struct err *e)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct conns *cs = l->all;
	int one = 1;

	if (!c)
		return err_code(e, ENOMEM, "connection");
	c->all = cs;
	c->from = l;
	c->deadline_ms = loop_time(c->all->loop) + CONN_IDLE_MS;
	c->source = (struct source) { .fd = fd, .events = EPOLLIN, .ready = conn_ready };
	if (loop_add(cs->loop, &c->source, e) < 0) {
		free(c);
		return -e->code;
	}
	/* Only slower without it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->next = cs->first;
	if (c->next)
		c->next->prev = c;
	cs->first = c;
	l->n++;
	if (cs->n++ == 0)
		loop_arm(cs->loop, &cs->sweep, loop_time(cs->loop) + 1000);
	return 0;
}

static void listener_ready(struct source *source, uint32_t events)
{
	struct listener *l = container_of(source, struct listener, source);
	struct conns *cs = l->all;
	autoclose int fd = -1;
	struct err e = { 0 };

	(void)events;
	if ((cs->n >= CONN_MAX || l->n >= l->max) && !make_room(l)) {
		loop_want(cs->loop, source, 0); /* they wait in the kernel until one goes */
		return;
	}
	fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			loop_want(cs->loop, source, 0);
		return;
	}
	if (conn_new(l, fd, &e) == 0)
		(void)take_fd(&fd);
}

void conns_open(struct conns *cs)
{
	cs->closed = false;
	accept_again(cs);
}

void conns_shut(struct conns *cs)
{
	cs->closed = true;
	for (unsigned i = 0; i < cs->n_listeners; i++)
		loop_want(cs->loop, cs->listeners[i], 0);
}

void conns_end(struct conns *cs)
{
	conns_shut(cs);
	while (cs->first)
		conn_free(cs->first);
	loop_disarm(cs->loop, &cs->sweep);
	for (unsigned i = 0; i < cs->n_listeners; i++) {
		loop_remove(cs->loop, cs->listeners[i]);
		(void)close(cs->listeners[i]->fd); /* nothing was written */
		free(container_of(cs->listeners[i], struct listener, source));
	}
	cs->n_listeners = 0;
}

int conns_listen(struct conns *cs, int fd, unsigned max, struct err *e)
{
	struct listener *l;

	if (cs->n_listeners == CONN_LISTENERS_MAX)
		return err_code(e, E2BIG, "more than %d addresses to listen at",
				CONN_LISTENERS_MAX);
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_code(e, ENOMEM, "listener");
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
		free(l);
		return err_errno(e, "listener");
	}
	l->all = cs;
	l->max = max;
	l->source = (struct source) { .fd = fd,
				      .events = cs->closed ? 0 : EPOLLIN,
				      .ready = listener_ready };
	cs->sweep.fire = sweep;
	if (loop_add(cs->loop, &l->source, e) < 0) {
		free(l);
		return -e->code;
	}
	cs->listeners[cs->n_listeners++] = &l->source;
	return 0;
}
