/* SPDX-License-Identifier: MIT */
/* conn.c - see conn.h.
 *
 * A connection at rest holds no buffer. Bytes arrive in one of fixed size; a body that does not
 * end in it grows in another. Nothing here recurses from a reply into the next request. */
#include "sandbox/executor/conn.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/json_out.h"

enum state {
	HEAD, /* of the next request; at rest while nothing has come */
	BODY,
	WAIT,	/* for whoever answers */
	REPLY,	/* bytes are left to write */
	LINGER, /* the reply is out; what still comes is thrown away */
};

struct listener {
	struct source source;
	struct conns *all;
	unsigned n, max;
};

struct conn {
	struct conns *all;
	struct listener *from;
	struct conn *next, *prev;
	struct source source;
	enum state state;
	uint64_t deadline_ms;
	char *in; /* HTTP_HEAD_MAX bytes, or NULL */
	size_t in_len;
	struct http_request request; /* points into `in` until the body is taken */
	struct http_chunks chunks;
	uint64_t body_left;
	struct buf body;
	const struct route *route; /* NULL: `refusal` is the answer */
	int refusal;
	const char *refusal_text, *allow;
	bool discard, closes, advancing;
	struct buf out;
	size_t out_at;
	struct conn **holder;
};

static void conn_ready(struct source *source, uint32_t events);
static void advance(struct conn *c);

static void accept_again(struct conns *cs)
{
	for (unsigned i = 0; i < cs->n_listeners; i++)
		loop_want(cs->loop, cs->listeners[i], EPOLLIN);
}

static void drop_in(struct conn *c)
{
	if (c->in)
		explicit_bzero(c->in,
			       c->in_len); /* keys were in it, perhaps one that is not ours */
	free(c->in);
	c->in = NULL;
	c->in_len = 0;
}

static void conn_free(struct conn *c)
{
	struct conns *cs = c->all;

	if (c->holder)
		*c->holder = NULL;
	loop_remove(cs->loop, &c->source);
	(void)close(c->source.fd);
	drop_in(c);
	buf_clear(&c->body);
	buf_clear(&c->out);
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

static void set_state(struct conn *c, enum state state)
{
	static const uint32_t events[] = { [HEAD] = EPOLLIN,
					   [BODY] = EPOLLIN,
					   [WAIT] = 0,
					   [REPLY] = EPOLLOUT,
					   [LINGER] = EPOLLIN };
	static const uint64_t patience[] = { [HEAD] = CONN_IDLE_MS,
					     [BODY] = CONN_MOVE_MS,
					     [WAIT] = 0,
					     [REPLY] = CONN_MOVE_MS,
					     [LINGER] = CONN_LINGER_MS };

	c->state = state;
	c->deadline_ms = patience[state] ? loop_now() + patience[state] : UINT64_MAX;
	/* While somebody answers, only the client's going away is of interest. Within advance() the
	 * interest is set once, at its end. */
	if (!c->advancing)
		loop_want(c->all->loop, &c->source, events[state]);
}

static void after_reply(struct conn *c)
{
	buf_clear(&c->out);
	c->out_at = 0;
	if (!c->closes) {
		set_state(c, HEAD);
		return;
	}
	/* A close with bytes unread would be a reset, and take the reply away from the client. */
	(void)shutdown(c->source.fd, SHUT_WR);
	drop_in(c);
	set_state(c, LINGER);
}

/* Write what is left. A client that has gone away is seen by its hang-up. */
static void flush(struct conn *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = write(c->source.fd, c->out.data + c->out_at, c->out.len - c->out_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			c->closes = true;
			break;
		}
		if (n < 0) {
			set_state(c, REPLY);
			return;
		}
		c->out_at += (size_t)n;
		c->deadline_ms = loop_now() + CONN_MOVE_MS;
	}
	after_reply(c);
}

/* Head and body in one call; what the socket does not take now is kept. */
static void send_reply(struct conn *c, const char *head, size_t head_len, const char *body,
		       size_t len)
{
	struct iovec parts[] = { { .iov_base = (void *)(uintptr_t)head, .iov_len = head_len },
				 { .iov_base = (void *)(uintptr_t)body, .iov_len = len } };
	ssize_t sent = writev(c->source.fd, parts, len ? 2 : 1);
	size_t done = sent < 0 ? 0 : (size_t)sent;

	c->out.limit = SIZE_MAX / 2; /* what may be replied is limited where it is made */
	if (done < head_len)
		buf_add(&c->out, head + done, head_len - done);
	done -= done < head_len ? done : head_len;
	if (done < len)
		buf_add(&c->out, body + done, len - done);
	if (c->out.failed)
		c->closes = true; /* a cut reply must not look whole */
	flush(c);
}

void conn_reply(struct conn *c, int status, const char *type, const char *body, size_t len)
{
	char head[300];
	int n;

	if (c->holder) {
		*c->holder = NULL;
		c->holder = NULL;
	}
	n = snprintf(head, sizeof(head),
		     "HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n%s%s%s%s\r\n",
		     status, http_reason(status), type ? type : "application/json", len,
		     c->allow ? "allow: " : "", c->allow ? c->allow : "", c->allow ? "\r\n" : "",
		     c->closes ? "connection: close\r\n" : "");
	c->allow = NULL;
	send_reply(c, head, (size_t)n, body, len);
	/* From outside, later: the bytes of the next request may be here already. */
	if (!c->advancing)
		advance(c);
}

void conn_reply_detail(struct conn *c, int status, const char *detail)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	jo_object(&o, NULL);
	jo_string(&o, "detail", detail);
	jo_end_object(&o);
	conn_reply(c, status, NULL, buf_str(&text), text.len);
}

void conn_hold(struct conn *c, struct conn **holder)
{
	c->holder = holder;
	*holder = c;
}

/* Equal, in a time that depends on the length of what was sent alone. */
static bool key_is_right(const char *key, struct http_text given)
{
	size_t len = strlen(key);
	unsigned char differs = given.len != len;

	for (size_t i = 0; i < given.len; i++)
		differs |= (unsigned char)(given.at[i] ^ key[i % len]);
	return !differs;
}

static void refuse(struct conn *c, int status, const char *text)
{
	c->route = NULL;
	c->refusal = status;
	c->refusal_text = text;
}

/* The key first: who has none does not learn which paths there are. */
static void choose_route(struct conn *c)
{
	const struct conns *cs = c->all;
	const struct route *there = NULL;

	for (size_t i = 0; i < cs->n_routes; i++) {
		if (!http_text_is(c->request.path, cs->routes[i].path))
			continue;
		there = &cs->routes[i];
		if (http_text_is(c->request.method, there->method))
			break;
	}
	if ((!there || !there->open) && !key_is_right(cs->key, c->request.session_key)) {
		refuse(c, 403, "Invalid API Key");
	} else if (!there) {
		refuse(c, 404, "Not Found");
	} else if (!http_text_is(c->request.method, there->method)) {
		refuse(c, 405, "Method Not Allowed");
		c->allow = there->method;
	} else {
		c->route = there;
	}
}

static void take_off(struct conn *c, size_t n)
{
	c->in_len -= n;
	memmove(c->in, c->in + n, c->in_len);
	explicit_bzero(c->in + c->in_len, n);
}

/* The body is here, or thrown away, or given up: answer. */
static void answer(struct conn *c, const char *body, size_t len)
{
	if (c->route) {
		set_state(c, WAIT);
		c->route->handle(c->all->server, c, body, len);
	} else {
		conn_reply_detail(c, c->refusal, c->refusal_text);
	}
	buf_clear(&c->body);
}

static void give_up(struct conn *c, int status, const char *text)
{
	refuse(c, status, text);
	c->closes = true;
	answer(c, NULL, 0);
}

static bool has_body(const struct http_request *r)
{
	return r->chunked || r->length;
}

/* Decide, on the head alone, what becomes of the body. Returns false if the answer is given. */
static bool meet_body(struct conn *c)
{
	const struct http_request *r = &c->request;

	c->discard = !c->route || !c->route->body_max;
	if (!c->discard && r->length > c->route->body_max) {
		give_up(c, 413, "Request body too large");
		return false;
	}
	if (c->discard && (r->expects_continue || r->length > CONN_DISCARD_MAX)) {
		if (c->route)
			refuse(c, 413, "Request body too large");
		give_up(c, c->refusal, c->refusal_text);
		return false;
	}
	if (r->expects_continue) {
		static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

		/* Nothing else is on its way out, so it fits; if not, the client goes on anyway. */
		(void)!write(c->source.fd, go_on, sizeof(go_on) - 1);
	}
	return true;
}

static bool take_head(struct conn *c)
{
	long n = http_head(c->in, c->in_len, &c->request);

	if (n == 0)
		return false;
	c->route = NULL;
	if (n < 0) {
		give_up(c, (int)-n, http_reason((int)-n));
		return true;
	}
	c->closes = !c->request.keep_alive;
	choose_route(c);
	if (!has_body(&c->request)) {
		take_off(c, (size_t)n);
		answer(c, "", 0);
		return true;
	}
	if (!meet_body(c))
		return true;
	take_off(c, (size_t)n);
	c->chunks = (struct http_chunks) { 0 };
	c->body_left = c->request.length;
	c->body.limit = c->discard ? CONN_DISCARD_MAX : c->route->body_max;
	set_state(c, BODY);
	return true;
}

/* The next piece of the body out of `in`. Returns 1 at its end, 0 for more, or -400. */
static int next_piece(struct conn *c, size_t *used, struct http_text *data)
{
	if (c->request.chunked)
		return http_chunks(&c->chunks, c->in, c->in_len, used, data);
	*used = c->in_len < c->body_left ? c->in_len : (size_t)c->body_left;
	*data = (struct http_text) { .at = c->in, .len = *used };
	c->body_left -= *used;
	return c->body_left == 0;
}

static bool take_body(struct conn *c)
{
	struct http_text data;
	size_t used;
	int ret;

	if (!c->in_len)
		return false;
	ret = next_piece(c, &used, &data);
	if (ret < 0) {
		give_up(c, -ret, http_reason(-ret));
		return true;
	}
	/* Thrown away too it is counted, by the buffer's limit. */
	buf_add(&c->body, data.at, data.len);
	if (c->body.failed) {
		give_up(c, c->route ? 413 : c->refusal,
			c->route ? "Request body too large" : c->refusal_text);
		return true;
	}
	take_off(c, used);
	/* What nobody wants has its time as a whole, or who has no key could stay for ever. */
	if (!c->discard)
		c->deadline_ms = loop_now() + CONN_MOVE_MS;
	if (ret > 0)
		answer(c, buf_str(&c->body), c->discard ? 0 : c->body.len);
	return true;
}

/* As far as the bytes that are here allow. */
static void advance(struct conn *c)
{
	bool goes_on = true;

	c->advancing = true;
	while (goes_on) {
		switch (c->state) {
		case HEAD:
			goes_on = c->in_len && take_head(c);
			break;
		case BODY:
			goes_on = take_body(c);
			break;
		default:
			goes_on = false;
		}
	}
	c->advancing = false;
	if (!c->in_len && c->state != BODY)
		drop_in(c);
	loop_want(c->all->loop, &c->source,
		  c->state == WAIT    ? 0
		  : c->state == REPLY ? (uint32_t)EPOLLOUT
				      : (uint32_t)EPOLLIN);
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
	ssize_t n;

	if (!c->in)
		c->in = malloc(HTTP_HEAD_MAX);
	if (!c->in) {
		conn_free(c);
		return;
	}
	n = read(c->source.fd, c->in + c->in_len, HTTP_HEAD_MAX - c->in_len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_free(c);
		return;
	}
	if (c->state == HEAD && !c->in_len)
		c->deadline_ms = loop_now() + CONN_HEAD_MS;
	c->in_len += (size_t)n;
	advance(c);
}

static void conn_ready(struct source *source, uint32_t events)
{
	struct conn *c = container_of(source, struct conn, source);

	if (c->state == REPLY && events & EPOLLOUT) {
		flush(c);
		if (c->state == HEAD)
			advance(c);
	} else if (c->state == LINGER) {
		linger(c);
	} else if (c->state != WAIT && events & EPOLLIN) {
		receive(c);
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		conn_free(c);
	}
}

/* The one that has been at rest longest makes room, among those of a listener that has too many. */
static bool make_room(const struct listener *l)
{
	bool own = l->n >= l->max;
	struct conn *oldest = NULL;

	for (struct conn *c = l->all->first; c; c = c->next)
		if (c->state == HEAD && !c->in_len && (!own || c->from == l) &&
		    (!oldest || c->deadline_ms < oldest->deadline_ms))
			oldest = c;
	if (oldest)
		conn_free(oldest);
	return oldest;
}

static void sweep(struct timer *timer)
{
	struct conns *cs = container_of(timer, struct conns, sweep);
	uint64_t now = loop_now();
	struct conn *next;

	for (struct conn *c = cs->first; c; c = next) {
		next = c->next;
		if (c->deadline_ms > now)
			continue;
		if (c->state == HEAD && c->in_len)
			give_up(c, 408, http_reason(408));
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
	c->deadline_ms = loop_now() + CONN_IDLE_MS;
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
		loop_arm(cs->loop, &cs->sweep, loop_now() + 1000);
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

int conns_listen(struct conns *cs, int fd, unsigned max, struct err *e)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l || cs->n_listeners == ARRAY_LEN(cs->listeners)) {
		free(l);
		return err_code(e, ENOMEM, "listener");
	}
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
		free(l);
		return err_errno(e, "listener");
	}
	l->all = cs;
	l->max = max;
	l->source = (struct source) { .fd = fd, .events = EPOLLIN, .ready = listener_ready };
	cs->listeners[cs->n_listeners++] = &l->source;
	cs->sweep.fire = sweep;
	return loop_add(cs->loop, &l->source, e);
}
