/* SPDX-License-Identifier: MIT */
/* conn_out.c - see conn.h. Replies: what the socket does not take now is kept, and a reply that
 * cannot be whole never looks so. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "http/conn_own.h"

static void shut(struct conn *c, int how)
{
	/* One that the client has closed already needs no telling. */
	(void)shutdown(c->source.fd, how);
	buf_clear(&c->out);
	c->out_at = 0;
	if (!c->advancing) /* else whoever answers still looks at the head */
		conn_drop_in(c);
	conn_set_state(c, CONN_LINGER);
}

static void after_reply(struct conn *c)
{
	buf_clear(&c->out);
	c->out_at = 0;
	/* A close with bytes unread would be a reset, and take the reply away from the client. */
	if (c->closes)
		shut(c, SHUT_WR);
	else
		conn_set_state(c, CONN_HEAD);
}

/* Write what is kept. Returns whether all of it has gone; a client that has gone away is seen by
 * its hang-up. */
static bool push(struct conn *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = write(c->source.fd, c->out.data + c->out_at, c->out.len - c->out_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			shut(c, SHUT_RDWR);
			return false;
		}
		if (n < 0) {
			conn_set_state(c, CONN_REPLY);
			return false;
		}
		c->out_at += (size_t)n;
	}
	buf_clear(&c->out);
	c->out_at = 0;
	return true;
}

/* In one call where the socket takes it; what it does not take is kept. Returns as push(). */
static bool put(struct conn *c, const struct iovec *parts, int n)
{
	ssize_t sent = c->out.len ? 0 : writev(c->source.fd, parts, n);
	size_t done = sent < 0 ? 0 : (size_t)sent;

	for (int i = 0; i < n; i++) {
		size_t skip = done < parts[i].iov_len ? done : parts[i].iov_len;

		done -= skip;
		if (skip < parts[i].iov_len)
			buf_add(&c->out, (const char *)parts[i].iov_base + skip,
				parts[i].iov_len - skip);
	}
	if (c->out.failed) {
		shut(c, SHUT_RDWR); /* a cut reply must not look whole */
		return false;
	}
	return push(c);
}

static struct iovec part(const void *bytes, size_t len)
{
	return (struct iovec) { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
}

void conn_flush(struct conn *c)
{
	struct conn_stream *stream = c->stream;

	if (!push(c))
		return;
	if (!stream) {
		after_reply(c);
		conn_advance(c);
		return;
	}
	conn_set_state(c, CONN_STREAM);
	if (stream->room)
		stream->room(stream);
}

/* The answer begins: nobody waits for the request any more. */
static void begin_reply(struct conn *c, int status)
{
	struct conns *cs = c->all;

	if (cs->answered && c->what)
		cs->answered(cs->server, c->what, status, clock_us() - c->began_us);
	if (c->holder)
		*c->holder = NULL;
	c->holder = NULL;
	c->mind = NULL;
	c->to = NULL;
	/* What is left of the body would be taken for the next request. */
	if (!c->body_ended)
		c->closes = true;
}

static void put_headers(struct conn *c, struct buf *out, const struct conn_head *head)
{
	buf_printf(out, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\n", head->status,
		   http_reason(head->status), head->type ? head->type : "application/json");
	if (head->length != CONN_LENGTH_UNKNOWN)
		buf_printf(out, "content-length: %llu\r\n", (unsigned long long)head->length);
	else if (!c->request.one_dot_zero)
		buf_puts(out, "transfer-encoding: chunked\r\n");
	if (c->allow)
		buf_printf(out, "allow: %s\r\n", c->allow);
	if (head->lines)
		buf_puts(out, head->lines);
	if (c->closes)
		buf_puts(out, "connection: close\r\n");
	buf_puts(out, "\r\n");
	c->allow = NULL;
}

void conn_reply(struct conn *c, int status, const char *type, const char *body, size_t len)
{
	struct conn_head head = { .status = status, .type = type, .length = len };

	conn_reply_as(c, &head, body);
}

void conn_reply_as(struct conn *c, const struct conn_head *head, const char *body)
{
	size_t len = (size_t)head->length;
	autobuf struct buf text = { 0 };
	struct iovec parts[2];

	begin_reply(c, head->status);
	put_headers(c, &text, head);
	parts[0] = part(buf_str(&text), text.len);
	parts[1] = part(body, len);
	c->out.limit = SIZE_MAX / 2; /* what may be replied is limited where it is made */
	if (text.failed)
		shut(c, SHUT_RDWR);
	else if (put(c, parts, len ? 2 : 1))
		after_reply(c);
	/* From outside, later: the bytes of the next request may be here already. */
	if (!c->advancing)
		conn_advance(c);
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

void conn_reply_invalid(struct conn *c, const char *errors)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	jo_object(&o, NULL);
	jo_string(&o, "detail", "Invalid request parameters");
	jo_string(&o, "errors", errors);
	jo_end_object(&o);
	conn_reply(c, 422, NULL, buf_str(&text), text.len);
}

void conn_hold(struct conn *c, struct conn **holder)
{
	c->holder = holder;
	*holder = c;
}

void conn_mind(struct conn *c, struct conn_mind *m)
{
	c->mind = m;
	conn_watch(c);
}

/* --- in pieces ------------------------------------------------------------------------------- */

/* Send parts of the stream; whether there is room for more. */
static bool stream_put(struct conn *c, const struct iovec *parts, int n)
{
	c->out.limit = CONN_STREAM_MAX;
	if (!put(c, parts, n))
		return false;
	conn_set_state(c, CONN_STREAM);
	return true;
}

void conn_stream(struct conn *c, struct conn_stream *s, const struct conn_head *head)
{
	bool unknown = head->length == CONN_LENGTH_UNKNOWN;
	autobuf struct buf text = { 0 };
	struct iovec all;

	begin_reply(c, head->status);
	c->stream = s;
	s->conn = c;
	c->stream_left = head->length;
	c->stream_chunks = unknown && !c->request.one_dot_zero;
	if (unknown && c->request.one_dot_zero)
		c->closes = true;
	put_headers(c, &text, head);
	all = part(buf_str(&text), text.len);
	if (text.failed)
		conn_cut(s);
	else
		(void)stream_put(c, &all, 1); /* room() will say so, or there is room */
}

bool conn_send(struct conn_stream *s, const void *bytes, size_t len)
{
	struct conn *c = s->conn;
	char size[24];
	struct iovec parts[3];
	int n;

	if (!c || c->state == CONN_LINGER)
		return false; /* gone() follows */
	if (!len)
		return c->state == CONN_STREAM;
	if (c->stream_left != CONN_LENGTH_UNKNOWN) {
		if (len > c->stream_left) {
			conn_cut(s);
			return false;
		}
		c->stream_left -= len;
	}
	if (!c->stream_chunks) {
		parts[0] = part(bytes, len);
		return stream_put(c, parts, 1);
	}
	n = snprintf(size, sizeof(size), "%zx\r\n", len);
	parts[0] = part(size, (size_t)n);
	parts[1] = part(bytes, len);
	parts[2] = part("\r\n", 2);
	return stream_put(c, parts, 3);
}

void conn_end(struct conn_stream *s)
{
	struct iovec last = part("0\r\n\r\n", 5);
	struct conn *c = s->conn;

	if (!c)
		return;
	if (c->state != CONN_LINGER && c->stream_chunks)
		(void)stream_put(c, &last, 1); /* its state is looked at below */
	if (c->state == CONN_LINGER ||
	    (!c->stream_chunks && c->stream_left && c->stream_left != CONN_LENGTH_UNKNOWN)) {
		conn_cut(s);
		return;
	}
	c->stream = NULL;
	s->conn = NULL;
	if (c->state == CONN_STREAM)
		after_reply(c);
	if (!c->advancing)
		conn_advance(c);
}

void conn_cut(struct conn_stream *s)
{
	struct conn *c = s->conn;

	if (!c)
		return;
	c->stream = NULL;
	s->conn = NULL;
	shut(c, SHUT_RDWR);
}
