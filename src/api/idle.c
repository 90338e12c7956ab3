/* SPDX-License-Identifier: MIT */
/* idle.c - see idle.h. */
#include "api/idle.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "api/runtime.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/loop.h"
#include "launch/client.h"

#define CONNECT_MS 50 /* who cannot be connected to at once has too much to do already */
#define PIECE_BYTES 4096

/* --- the answer ------------------------------------------------------------------------------ */

/* The whole body, appended to `body`: 1, or 0 where more bytes are needed. */
static int join_chunks(const char *bytes, size_t len, struct buf *body, struct err *e)
{
	for (;;) {
		const char *data;
		size_t n, used;
		int r = client_parse_chunk(bytes, len, &data, &n, &used, e);

		if (r <= 0)
			return r;
		if (r == 2)
			return 1;
		buf_add(body, data, n);
		bytes += used;
		len -= used;
	}
}

static int take_body(const char *bytes, size_t len, struct buf *body, struct err *e)
{
	struct client_head head = { 0 };
	int r = client_parse_head(bytes, len, &head, e);

	if (r <= 0)
		return r;
	if (head.status != 200)
		return err_code(e, EPROTO, "the answer is %u", head.status);
	bytes += head.head_bytes;
	len -= head.head_bytes;
	if (head.chunked)
		return join_chunks(bytes, len, body, e);
	if (len < head.length)
		return 0;
	buf_add(body, bytes, (size_t)head.length);
	return 1;
}

int idle_parse(const char *bytes, size_t len, uint64_t *idle_ms, struct err *e)
{
	autobuf struct buf body = { 0 };
	autojson struct json_doc *doc = NULL;
	const struct json *idle;
	int r = take_body(bytes, len, &body, e);

	if (r <= 0)
		return r;
	if (buf_check(&body, e) < 0 ||
	    json_parse(buf_str(&body), body.len, &JSON_LIMITS_DEFAULT, &doc, e) < 0)
		return -e->code;
	idle = json_get(json_root(doc), "idle_time");
	if (idle && idle->type == JSON_INT && idle->integer >= 0 && idle->integer < INT32_MAX)
		*idle_ms = (uint64_t)idle->integer * 1000;
	else if (idle && idle->type == JSON_REAL && idle->real >= 0 && idle->real < INT32_MAX)
		*idle_ms = (uint64_t)(idle->real * 1000);
	else
		return err_code(e, EPROTO, "the answer has no 'idle_time'");
	return 1;
}

/* --- many at once ---------------------------------------------------------------------------- */

struct place {
	struct idle_ask *ask; /* NULL: free */
	int fd;
	uint64_t until_ms;
	bool is_other;
	struct buf in;
};

static void leave(struct place *p)
{
	drop_fd(&p->fd);
	buf_clear(&p->in);
	p->ask = NULL;
}

static int connect_to(uint16_t port, struct err *e)
{
	static const struct client_request get = { .method = "GET",
						   .path = "/server_info",
						   .timeout_ms = CONNECT_MS };
	autoclose int fd = client_connect(INADDR_LOOPBACK, port, CONNECT_MS, e);

	if (fd < 0 || client_send(fd, &get, e) < 0)
		return -e->code;
	return take_fd(&fd);
}

static void ask_at(struct place *p, uint16_t port)
{
	struct err e = { 0 };

	p->in.limit = IDLE_ANSWER_MAX;
	p->until_ms = loop_now() + IDLE_TIMEOUT_MS;
	p->fd = connect_to(port, &e);
}

/* Nothing was told there. */
static void turn_to_other(struct place *p)
{
	struct idle_ask *ask = p->ask;

	if (!p->is_other && !p->in.len)
		ask->silent = true;
	leave(p);
	if (p->is_other || !ask->other)
		return;
	p->ask = ask;
	p->is_other = true;
	ask_at(p, ask->other);
	if (p->fd < 0)
		leave(p);
}

static void begin(struct place *p, struct idle_ask *ask)
{
	*p = (struct place) { .ask = ask, .fd = -1 };
	ask->idle_ms = IDLE_UNKNOWN;
	ask->silent = false;
	ask_at(p, ask->port);
	if (p->fd < 0)
		turn_to_other(p);
}

static void hear(struct place *p)
{
	char piece[PIECE_BYTES];
	ssize_t n = recv(p->fd, piece, sizeof(piece), MSG_DONTWAIT);
	struct err e = { 0 };
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_add(&p->in, piece, (size_t)n);
	r = n > 0 && !p->in.failed ? idle_parse(p->in.data, p->in.len, &p->ask->idle_ms, &e) : -1;
	if (r > 0)
		leave(p);
	else if (r < 0)
		turn_to_other(p);
}

/* Returns how long the first of them may still take; -1: there is none. */
static int set_polls(const struct place *places, struct pollfd *polls)
{
	uint64_t now = loop_now(), soonest = UINT64_MAX;

	for (size_t i = 0; i < IDLE_AT_ONCE; i++) {
		polls[i] = (struct pollfd) { .fd = places[i].ask ? places[i].fd : -1,
					     .events = POLLIN };
		if (places[i].ask && places[i].until_ms < soonest)
			soonest = places[i].until_ms;
	}
	if (soonest == UINT64_MAX)
		return -1;
	return soonest > now ? (int)(soonest - now) : 0;
}

static void look(struct place *places, const struct pollfd *polls)
{
	for (size_t i = 0; i < IDLE_AT_ONCE; i++) {
		if (!places[i].ask)
			continue;
		if (polls[i].revents)
			hear(&places[i]);
		else if (places[i].until_ms <= loop_now())
			turn_to_other(&places[i]);
	}
}

void idle_ask_all(struct idle_ask *asks, size_t n)
{
	struct place places[IDLE_AT_ONCE] = { 0 };
	struct pollfd polls[IDLE_AT_ONCE];
	size_t next = 0;
	int left_ms;

	for (;;) {
		for (size_t i = 0; i < IDLE_AT_ONCE && next < n; i++)
			if (!places[i].ask)
				begin(&places[i], &asks[next++]);
		left_ms = set_polls(places, polls);
		if (left_ms < 0 && next == n)
			return;
		if (left_ms >= 0 && poll(polls, IDLE_AT_ONCE, left_ms) >= 0)
			look(places, polls);
	}
}

struct idle_ask idle_ask_of(const struct runtime *r)
{
	return (struct idle_ask) { .port = r->program_key ? r->url_port : r->port,
				   .other = r->program_key ? r->port : 0,
				   .idle_ms = IDLE_UNKNOWN };
}
