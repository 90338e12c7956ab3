/* SPDX-License-Identifier: MIT */
/* client.c - see client.h: parsing what comes back, then the exchange. */
#include "launch/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define PIECE_BYTES 65536u
#define CHUNK_LINE_MAX 64u
#define INTERIM_MAX 16u /* "100 Continue" and the like */

/* ---- the head ------------------------------------------------------------------------------ */

static const char *line_end(const char *p, const char *end)
{
	const char *cr = memchr(p, '\r', (size_t)(end - p));

	return cr && cr + 1 < end && cr[1] == '\n' ? cr : NULL;
}

static bool is_field(const char *line, const char *stop, const char *name, const char **value)
{
	size_t n = strlen(name);
	const char *p = line + n;

	if ((size_t)(stop - line) <= n || strncasecmp(line, name, n) != 0 || *p != ':')
		return false;
	for (p++; p < stop && (*p == ' ' || *p == '\t'); p++)
		;
	*value = p;
	return true;
}

static bool value_is(const char *value, const char *stop, const char *text)
{
	size_t n = strlen(text);

	while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t'))
		stop--;
	return (size_t)(stop - value) == n && strncasecmp(value, text, n) == 0;
}

static int parse_status(const char *line, const char *stop, unsigned *status, struct err *e)
{
	/* HTTP/1.1 200 OK */
	if (stop - line < 12 ||
	    (memcmp(line, "HTTP/1.1 ", 9) != 0 && memcmp(line, "HTTP/1.0 ", 9) != 0))
		return err_code(e, EPROTO, "the reply is no HTTP");
	*status = 0;
	for (int i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return err_code(e, EPROTO, "the reply's status is no number");
		*status = *status * 10 + (unsigned)(line[i] - '0');
	}
	if (stop - line > 12 && line[12] != ' ')
		return err_code(e, EPROTO, "the reply's status is no number");
	return 0;
}

static int parse_length(const char *value, const char *stop, struct client_head *h, struct err *e)
{
	char digits[24];
	size_t n = (size_t)(stop - value);
	uint64_t length;

	while (n && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	if (n >= sizeof(digits) || h->has_length)
		return err_code(e, EPROTO, "the reply's length makes no sense");
	memcpy(digits, value, n);
	digits[n] = '\0';
	if (str_u64(digits, 0, CLIENT_BODY_MAX, &length, e) < 0)
		return err_wrap(e, "the reply's length");
	h->has_length = true;
	h->length = length;
	return 0;
}

static int parse_field(const char *line, const char *stop, struct client_head *h, struct err *e)
{
	const char *value;

	if (is_field(line, stop, "content-length", &value))
		return parse_length(value, stop, h, e);
	if (is_field(line, stop, "transfer-encoding", &value)) {
		if (!value_is(value, stop, "chunked") || h->chunked)
			return err_code(e, EPROTO, "the reply comes in an unknown encoding");
		h->chunked = true;
	}
	if (is_field(line, stop, "connection", &value))
		h->close = value_is(value, stop, "close");
	return 0;
}

static bool has_no_body(unsigned status)
{
	return status / 100 == 1 || status == 204 || status == 304;
}

int client_parse_head(const char *bytes, size_t len, struct client_head *out, struct err *e)
{
	const char *end = bytes + (len < CLIENT_HEAD_MAX ? len : CLIENT_HEAD_MAX);
	const char *whole = len ? memmem(bytes, (size_t)(end - bytes), "\r\n\r\n", 4) : NULL;
	struct client_head h = { 0 };
	const char *stop;

	if (!whole && len >= CLIENT_HEAD_MAX)
		return err_code(e, EFBIG, "the reply's head is larger than %u bytes",
				CLIENT_HEAD_MAX);
	if (!whole)
		return 0;
	end = whole + 2;
	stop = line_end(bytes, end);
	if (!stop || parse_status(bytes, stop, &h.status, e) < 0)
		return stop ? -e->code : err_code(e, EPROTO, "the reply is no HTTP");
	for (const char *p = stop + 2; p < end; p = stop + 2) {
		stop = line_end(p, end);
		if (!stop)
			return err_code(e, EPROTO, "a line of the reply's head has no end");
		if (parse_field(p, stop, &h, e) < 0)
			return -e->code;
	}
	if (h.chunked && h.has_length)
		return err_code(e, EPROTO, "the reply has both a length and chunks");
	if (!h.chunked && !h.has_length && !has_no_body(h.status))
		return err_code(e, EPROTO, "the reply does not say how long it is");
	h.head_bytes = (size_t)(whole + 4 - bytes);
	*out = h;
	return 1;
}

/* ---- chunks -------------------------------------------------------------------------------- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b\r\n"; extensions are none of ours. Gives the digits' value, or -1. */
static int64_t chunk_size(const char *line, const char *stop)
{
	int64_t size = 0;

	if (stop == line || stop - line > 8)
		return -1;
	for (const char *p = line; p < stop; p++) {
		int v = hex_value(*p);

		if (v < 0)
			return -1;
		size = size * 16 + v;
	}
	return size;
}

int client_parse_chunk(const char *bytes, size_t len, const char **data, size_t *n, size_t *used,
		       struct err *e)
{
	const char *end = bytes + len;
	const char *stop = len ? line_end(bytes, end) : NULL;
	const char *body;
	int64_t size;

	if (!stop && len > CHUNK_LINE_MAX)
		return err_code(e, EPROTO, "a chunk of the reply has no size");
	if (!stop)
		return 0;
	size = chunk_size(bytes, stop);
	if (size < 0 || size > (int64_t)CLIENT_BODY_MAX)
		return err_code(e, EPROTO, "a chunk of the reply has no proper size");
	body = stop + 2;
	if ((uint64_t)(end - body) < (uint64_t)size + 2)
		return 0;
	if (body[size] != '\r' || body[size + 1] != '\n')
		return err_code(e, EPROTO, "a chunk of the reply is longer than it says");
	*data = body;
	*n = (size_t)size;
	*used = (size_t)(body - bytes) + (size_t)size + 2;
	return size ? 1 : 2;
}

/* ---- the exchange -------------------------------------------------------------------------- */

struct exchange {
	int fd;
	uint64_t deadline_ms; /* of CLOCK_MONOTONIC; 0: none */
	size_t body_max;
	struct buf in; /* received and not yet used */
};

static int wait_for(int fd, short events, uint64_t deadline_ms, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		uint64_t now = clock_ms();
		int left = -1, n;

		/* Before it is looked who is there: a byte now and then is no answer in time. */
		if (deadline_ms && now >= deadline_ms)
			return err_code(e, ETIMEDOUT, "no answer in time");
		if (deadline_ms)
			left = (int)(deadline_ms - now);
		n = poll(&p, 1, left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_errno(e, "poll");
	}
}

int client_connect(uint32_t address, uint16_t port, int timeout_ms, struct err *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(address) };
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, error = 0;
	socklen_t len = sizeof(error);

	if (fd < 0)
		return err_errno(e, "socket");
	/* A request is one write; it must not wait for an acknowledgement of anything. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return take_fd(&fd);
	if (errno != EINPROGRESS)
		return err_errno(e, "connect to port %u", port);
	if (wait_for(fd, POLLOUT, timeout_ms >= 0 ? clock_ms() + (uint64_t)timeout_ms : 0, e) < 0)
		return err_wrap(e, "connect to port %u", port);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error) {
		errno = error ? error : errno;
		return err_errno(e, "connect to port %u", port);
	}
	return take_fd(&fd);
}

static int send_all(struct exchange *x, const char *bytes, size_t len, struct err *e)
{
	while (len) {
		ssize_t n = send(x->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			if (wait_for(x->fd, POLLOUT, x->deadline_ms, e) < 0)
				return -e->code;
			continue;
		}
		if (n < 0 && errno != EINTR)
			return err_errno(e, "send");
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* At least one byte more. Each time it is waited for: where bytes come without an end, so that nothing
 * else would look at the clock, that does. */
static int receive(struct exchange *x, struct err *e)
{
	char piece[PIECE_BYTES];

	for (;;) {
		ssize_t n = wait_for(x->fd, POLLIN, x->deadline_ms, e);

		if (n < 0)
			return (int)n;
		n = recv(x->fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n > 0) {
			buf_add(&x->in, piece, (size_t)n);
			return buf_check(&x->in, e);
		}
		if (n == 0)
			return err_code(
				e, EPROTO,
				"the executor closed the connection in the middle of its answer");
		if (errno != EAGAIN && errno != EINTR)
			return err_errno(e, "receive");
	}
}

static void consume(struct buf *b, size_t n)
{
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

static int send_request(struct exchange *x, const struct client_request *r, struct err *e)
{
	autobuf struct buf out = { 0 };
	int result;

	buf_printf(&out, "%s %s HTTP/1.1\r\nHost: localhost\r\n", r->method, r->path);
	if (r->key)
		buf_printf(&out, "X-Session-API-Key: %s\r\n", r->key);
	if (r->body)
		buf_printf(&out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			   r->body_len);
	buf_puts(&out, "\r\n");
	if (r->body)
		buf_add(&out, r->body, r->body_len);
	result = buf_check(&out, e);
	if (result == 0)
		result = send_all(x, out.data, out.len, e);
	if (out.data)
		explicit_bzero(out.data, out.len); /* the key was in it */
	return result;
}

static int read_head(struct exchange *x, struct client_head *h, struct err *e)
{
	for (unsigned interim = 0; interim < INTERIM_MAX;) {
		int r = client_parse_head(x->in.data, x->in.len, h, e);

		if (r < 0)
			return r;
		if (r == 1) {
			consume(&x->in, h->head_bytes);
			if (h->status / 100 != 1)
				return 0;
			interim++; /* "100 Continue": the answer is still to come */
		} else if (receive(x, e) < 0) {
			return -e->code;
		}
	}
	return err_code(e, EPROTO, "the reply does not come to its point");
}

static int too_large(const struct exchange *x, struct err *e)
{
	return err_code(e, EFBIG, "the reply is larger than %zu bytes", x->body_max);
}

/* What is used goes when there is no whole chunk left, not with each: of some there are very many. */
static int read_chunks(struct exchange *x, struct buf *body, struct err *e)
{
	size_t at = 0;

	for (;;) {
		const char *data;
		size_t n, used;
		int r = client_parse_chunk(x->in.data + at, x->in.len - at, &data, &n, &used, e);

		if (r < 0)
			return r;
		if (r == 0) {
			if (at)
				consume(&x->in, at);
			at = 0;
			if (receive(x, e) < 0)
				return -e->code;
			continue;
		}
		if (n > x->body_max - body->len)
			return too_large(x, e);
		buf_add(body, data, n);
		at += used;
		if (r == 2)
			return buf_check(body, e);
	}
}

static int read_body(struct exchange *x, const struct client_head *h, struct buf *body,
		     struct err *e)
{
	if (h->chunked)
		return read_chunks(x, body, e);
	if (h->length > x->body_max)
		return too_large(x, e);
	while (x->in.len < h->length)
		if (receive(x, e) < 0)
			return -e->code;
	if (h->length)
		buf_add(body, x->in.data, (size_t)h->length);
	if (x->in.len > h->length)
		return err_code(e, EPROTO, "the reply is longer than it says");
	return buf_check(body, e);
}

static struct exchange exchange_on(int fd, int timeout_ms, size_t body_max)
{
	return (struct exchange) { .fd = fd,
				   .deadline_ms =
					   timeout_ms >= 0 ? clock_ms() + (uint64_t)timeout_ms : 0,
				   .body_max = body_max,
				   .in = { .limit = CLIENT_HEAD_MAX + body_max + PIECE_BYTES } };
}

static int answer(struct exchange *x, struct buf *body, bool *again, struct err *e)
{
	struct client_head h = { 0 };
	int result;

	result = read_head(x, &h, e);
	if (result == 0 && !has_no_body(h.status))
		result = read_body(x, &h, body, e);
	buf_clear(&x->in);
	*again = result == 0 && !h.close;
	return result < 0 ? result : (int)h.status;
}

/* What a reply may be where its reader does not say: as much as any client takes. */
static size_t limit_of(struct buf *body)
{
	if (!body->limit)
		body->limit = CLIENT_BODY_MAX;
	return body->limit;
}

int client_send(int fd, const struct client_request *r, struct err *e)
{
	struct exchange x = exchange_on(fd, r->timeout_ms, 0);

	return send_request(&x, r, e);
}

int client_answer(int fd, int timeout_ms, struct buf *body, bool *again, struct err *e)
{
	struct exchange x = exchange_on(fd, timeout_ms, limit_of(body));

	return answer(&x, body, again, e);
}

int client_exchange(int fd, const struct client_request *r, struct buf *body, bool *again,
		    struct err *e)
{
	struct exchange x = exchange_on(fd, r->timeout_ms, limit_of(body));

	*again = false;
	if (send_request(&x, r, e) < 0)
		return -e->code;
	return answer(&x, body, again, e);
}
