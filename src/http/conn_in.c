/* SPDX-License-Identifier: MIT */
/* conn_in.c - see conn.h. Requests: the head, which route it is for, and the body. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/conn_own.h"

#include "base/clock.h"

const struct http_request *conn_request(const struct conn *c)
{
	return &c->request;
}

struct http_text conn_segment(const struct conn *c)
{
	return c->segment;
}

struct conns *conn_all(const struct conn *c)
{
	return c->all;
}

struct http_text conn_head_bytes(const struct conn *c)
{
	return (struct http_text) { .at = c->in, .len = c->head_len };
}

/* --- bytes ----------------------------------------------------------------------------------- */

static void consume(struct conn *c, size_t n)
{
	c->in_at += n;
	if (c->in_at == c->in_len)
		c->in_at = c->in_len = c->head_len;
}

/* The head is answered: what is behind it moves to the front. */
static void release_head(struct conn *c)
{
	size_t was = c->in_len;

	if (!c->in)
		return;
	c->in_len -= c->in_at;
	memmove(c->in, c->in + c->in_at, c->in_len);
	explicit_bzero(c->in + c->in_len, was - c->in_len);
	c->head_len = c->in_at = 0;
}

static void piece_to_front(struct conn *c)
{
	c->piece_len -= c->piece_at;
	memmove(c->piece, c->piece + c->piece_at, c->piece_len);
	c->piece_at = 0;
}

/* A body of known length that is taken in pieces is read where it is taken from. */
static bool reads_pieces(const struct conn *c)
{
	return c->state == CONN_BODY && c->to && !c->request.chunked;
}

size_t conn_room(struct conn *c, char **at)
{
	size_t room;

	if (reads_pieces(c)) {
		piece_to_front(c);
		*at = c->piece + c->piece_len;
		room = CONN_PIECE_BYTES - c->piece_len;
		return room < c->body_left ? room : (size_t)c->body_left;
	}
	if (!c->in)
		c->in = malloc(CONN_IN_BYTES);
	if (!c->in)
		return 0;
	if (c->in_at > c->head_len) {
		memmove(c->in + c->head_len, c->in + c->in_at, c->in_len - c->in_at);
		c->in_len -= c->in_at - c->head_len;
		c->in_at = c->head_len;
	}
	*at = c->in + c->in_len;
	return CONN_IN_BYTES - c->in_len;
}

void conn_came(struct conn *c, size_t len)
{
	if (!reads_pieces(c)) {
		c->in_len += len;
		return;
	}
	c->piece_len += len;
	c->body_left -= len;
	c->body_ended = !c->body_left;
}

/* --- routes ---------------------------------------------------------------------------------- */

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
	struct conns *cs = c->all;
	bool keyed = cs->key && cs->key[0] && key_is_right(cs->key, c->request.key);
	const struct route *there = NULL;
	const char *why = NULL;
	int refusal;

	if (keyed)
		cs->keyed_ms = loop_now();
	c->route = keyed ? cs->any : NULL;
	if (c->route)
		return;
	for (size_t i = 0; i < cs->n_routes; i++) {
		if (!http_path_fits(c->request.path, cs->routes[i].path, &c->segment))
			continue;
		there = &cs->routes[i];
		if (http_text_is(c->request.method, there->method))
			break;
	}
	refusal = cs->admit ? cs->admit(cs->server, &c->request, &why) : 0;
	if (refusal) {
		refuse(c, refusal, why);
	} else if ((!there || !there->open) && cs->key && !keyed) {
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

/* --- bodies that are kept, or thrown away ---------------------------------------------------- */

/* The body is here, or thrown away, or given up: answer. */
static void answer(struct conn *c, const char *body, size_t len)
{
	if (c->route) {
		conn_set_state(c, CONN_WAIT);
		c->route->handle(c->all->server, c, body, len);
	} else {
		conn_reply_detail(c, c->refusal, c->refusal_text);
	}
	buf_clear(&c->body);
	release_head(c);
}

void conn_give_up(struct conn *c, int status, const char *text)
{
	struct conn_body *to = take_ptr(&c->to);

	refuse(c, status, text);
	c->closes = true;
	if (c->holder)
		*c->holder = NULL;
	c->holder = NULL;
	if (to)
		to->gone(to);
	answer(c, NULL, 0);
}

static bool has_body(const struct http_request *r)
{
	return r->chunked || r->length;
}

static void go_on(const struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	/* Nothing else is on its way out, so it fits; if not, the client goes on anyway. */
	if (c->request.expects_continue)
		(void)!write(c->source.fd, text, sizeof(text) - 1);
}

/* Decide, on the head alone, what becomes of the body. Returns false if the answer is given. */
static bool meet_body(struct conn *c)
{
	const struct http_request *r = &c->request;

	c->discard = !c->route || !c->route->body_max;
	if (!c->discard && r->length > c->route->body_max) {
		conn_give_up(c, 413, "Request body too large");
		return false;
	}
	if (c->discard && (r->expects_continue || r->length > CONN_DISCARD_MAX)) {
		if (c->route)
			refuse(c, 413, "Request body too large");
		conn_give_up(c, c->refusal, c->refusal_text);
		return false;
	}
	go_on(c);
	return true;
}

/* The next piece of the body out of `in`, at most `len` bytes of it. Returns 1 at its end, 0 for
 * more, or -400. */
static int next_piece(struct conn *c, size_t len, size_t *used, struct http_text *data)
{
	const char *at = c->in + c->in_at;

	if (c->request.chunked)
		return http_chunks(&c->chunks, at, len, used, data);
	*used = len < c->body_left ? len : (size_t)c->body_left;
	*data = (struct http_text) { .at = at, .len = *used };
	c->body_left -= *used;
	return c->body_left == 0;
}

static bool take_body(struct conn *c)
{
	struct http_text data;
	size_t used;
	int ret;

	if (c->in_at == c->in_len)
		return false;
	ret = next_piece(c, c->in_len - c->in_at, &used, &data);
	if (ret < 0) {
		conn_give_up(c, -ret, http_reason(-ret));
		return true;
	}
	/* Thrown away too it is counted, by the buffer's limit. */
	buf_add(&c->body, data.at, data.len);
	if (c->body.failed) {
		conn_give_up(c, c->route ? 413 : c->refusal,
			     c->route ? "Request body too large" : c->refusal_text);
		return true;
	}
	consume(c, used);
	/* What nobody wants has its time as a whole, or who has no key could stay for ever. */
	if (!c->discard)
		c->deadline_ms = loop_time(c->all->loop) + CONN_MOVE_MS;
	if (ret > 0) {
		c->body_ended = true;
		answer(c, buf_str(&c->body), c->discard ? 0 : c->body.len);
	}
	return true;
}

/* --- bodies in pieces ------------------------------------------------------------------------ */

void conn_take_body(struct conn *c, struct conn_body *b)
{
	c->piece = malloc(CONN_PIECE_BYTES);
	if (!c->piece) {
		conn_reply_detail(c, 500, "Internal server error: no memory");
		b->gone(b);
		return;
	}
	c->to = b;
	c->paused = false;
	go_on(c);
	conn_set_state(c, CONN_BODY);
}

void conn_pause(struct conn *c)
{
	c->paused = true;
	c->deadline_ms = UINT64_MAX;
	conn_watch(c);
}

void conn_resume(struct conn *c)
{
	if (!c->paused)
		return;
	c->paused = false;
	c->deadline_ms = loop_time(c->all->loop) + CONN_MOVE_MS;
	if (!c->advancing)
		conn_advance(c);
}

uint64_t conn_body_left(const struct conn *c)
{
	if (c->body_ended)
		return 0;
	return c->request.chunked ? UINT64_MAX : c->body_left;
}

/* What has come behind the head, or in chunks, goes where pieces are taken from. 0 or -400. */
static int unpack(struct conn *c)
{
	while (c->in_at < c->in_len && !c->body_ended) {
		size_t used, len = c->in_len - c->in_at, room;
		struct http_text data;
		int ret;

		if (c->piece_at)
			piece_to_front(c);
		room = CONN_PIECE_BYTES - c->piece_len;
		if (!room)
			return 0;
		ret = next_piece(c, len < room ? len : room, &used, &data);
		if (ret < 0)
			return ret;
		memcpy(c->piece + c->piece_len, data.at, data.len);
		c->piece_len += data.len;
		c->body_ended = ret > 0;
		consume(c, used);
	}
	return 0;
}

static void give_whole(struct conn *c)
{
	struct conn_body *to = take_ptr(&c->to);

	conn_set_state(c, CONN_WAIT);
	to->whole(to, c->piece_len - c->piece_at);
}

/* Hand over what is here. Returns whether there may be more to do at once. */
static bool take_pieces(struct conn *c)
{
	size_t len, took = 0;

	if (c->paused)
		return false;
	if (unpack(c) < 0) {
		conn_give_up(c, 400, http_reason(400));
		return true;
	}
	len = c->piece_len - c->piece_at;
	if (len) {
		struct conn_body *to = c->to;

		took = to->piece(to, c->piece + c->piece_at, len);
		if (c->to != to)
			return true; /* answered */
		c->piece_at += took;
		if (took && !c->paused)
			c->deadline_ms = loop_time(c->all->loop) + CONN_MOVE_MS;
	}
	if (c->paused || took)
		return !c->paused;
	if (c->body_ended)
		give_whole(c);
	else if (len == CONN_PIECE_BYTES)
		conn_give_up(c, 400, http_reason(400)); /* whoever takes it can never go on */
	else
		return false;
	return true;
}

static void begin(struct conn *c)
{
	conn_set_state(c, CONN_WAIT);
	c->route->begin(c->all->server, c);
	release_head(c);
}

/* --- in order -------------------------------------------------------------------------------- */

/* The head will be gone when the reply comes. */
static void note_what(struct conn *c, bool parsed)
{
	const struct http_request *r = &c->request;

	if (!c->all->answered)
		return;
	if (!c->what)
		c->what = malloc(CONN_WHAT_BYTES);
	if (c->what && parsed)
		(void)snprintf(c->what, CONN_WHAT_BYTES, "%.*s %.*s", (int)r->method.len,
			       r->method.at, (int)r->path.len, r->path.at);
	else if (c->what)
		(void)snprintf(c->what, CONN_WHAT_BYTES, "(malformed)");
	c->began_us = clock_us();
}

static bool take_head(struct conn *c)
{
	long n = http_head(c->in, c->in_len, c->all->key_kind, &c->request);

	if (n == 0)
		return false;
	c->route = NULL;
	note_what(c, n > 0);
	if (n < 0) {
		c->in_at = c->in_len; /* whatever it is, it goes */
		conn_give_up(c, (int)-n, http_reason((int)-n));
		return true;
	}
	c->closes = !c->request.keep_alive;
	c->head_len = c->in_at = (size_t)n;
	c->chunks = (struct http_chunks) { 0 };
	c->body_left = c->request.length;
	c->body_ended = !has_body(&c->request);
	c->paused = false;
	choose_route(c);
	if (c->route && c->route->begin) {
		begin(c);
	} else if (c->body_ended) {
		answer(c, "", 0);
	} else if (meet_body(c)) {
		c->body.limit = c->discard ? CONN_DISCARD_MAX : c->route->body_max;
		conn_set_state(c, CONN_BODY);
	}
	return true;
}

void conn_advance(struct conn *c)
{
	bool goes_on = true;

	c->advancing = true;
	while (goes_on) {
		switch (c->state) {
		case CONN_HEAD:
			goes_on = c->in_len && take_head(c);
			break;
		case CONN_BODY:
			goes_on = c->to ? take_pieces(c) : take_body(c);
			break;
		default:
			goes_on = false;
		}
	}
	c->advancing = false;
	if (c->state != CONN_BODY) {
		conn_drop_piece(c);
		if (!c->in_len || c->state == CONN_LINGER)
			conn_drop_in(c);
	}
	conn_watch(c);
}
