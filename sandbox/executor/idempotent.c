/* SPDX-License-Identifier: MIT */
/* idempotent.c - see idempotent.h. */
#include "sandbox/executor/idempotent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest_of(const char *bytes, size_t len, uint8_t digest[SHA256_BYTES])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, bytes, len);
	sha256_end(&s, digest);
}

static struct once *find(const struct idempotents *all, const uint8_t key[SHA256_BYTES])
{
	struct once *o = all->newest;

	while (o && memcmp(o->key, key, SHA256_BYTES) != 0)
		o = o->older;
	return o;
}

static void let_answer_go(struct once *o)
{
	o->all->bytes -= o->len;
	free(take_ptr(&o->answer));
	o->len = 0;
	o->kept = false;
}

static void forget(struct once *o)
{
	struct idempotents *all = o->all;

	if (o->newer)
		o->newer->older = o->older;
	else
		all->newest = o->older;
	if (o->older)
		o->older->newer = o->newer;
	else
		all->oldest = o->newer;
	all->n--;
	let_answer_go(o);
	free(o);
}

/* --- limits ------------------------------------------------------------------------------------ */

static struct once *oldest_done(const struct idempotents *all, bool kept)
{
	struct once *o = all->oldest;

	while (o && (!o->done || (kept && !o->kept)))
		o = o->newer;
	return o;
}

static void make_room_for_key(struct idempotents *all)
{
	struct once *o = all->n >= IDEMPOTENT_KEYS ? oldest_done(all, false) : NULL;

	if (o)
		forget(o);
}

static bool make_room_for_answer(struct idempotents *all, size_t len)
{
	struct once *o;

	if (len > IDEMPOTENT_ANSWER_MAX)
		return false;
	while (all->bytes + len > IDEMPOTENT_ANSWERS_MAX && (o = oldest_done(all, true)))
		let_answer_go(o);
	return true;
}

/* --- repetitions ------------------------------------------------------------------------------- */

static void reply_again(const struct once *o, struct conn *c)
{
	struct conn_head head = { .status = o->status, .length = o->len };
	char lines[sizeof(o->lines) + 40];

	(void)snprintf(lines, sizeof(lines), "%sidempotent-replayed: true\r\n", o->lines);
	head.lines = lines;
	conn_reply_as(c, &head, o->answer ? o->answer : "");
}

static void repeat(struct once *o, struct conn *c, const uint8_t body[SHA256_BYTES])
{
	struct waiter *w;

	if (memcmp(o->body, body, SHA256_BYTES) != 0) {
		conn_reply_invalid(c, "this Idempotency-Key was used with another body");
	} else if (o->done && o->kept) {
		reply_again(o, c);
	} else if (o->done) {
		conn_reply_detail(c, 409, "This was done before; its answer is not kept any more");
	} else if (!(w = calloc(1, sizeof(*w)))) {
		conn_reply_detail(c, 500, "Internal server error: no memory");
	} else {
		w->next = o->waiters;
		o->waiters = w;
		conn_hold(c, &w->conn);
	}
}

static struct once *remember(struct idempotents *all, const uint8_t key[SHA256_BYTES],
			     const uint8_t body[SHA256_BYTES])
{
	struct once *o;

	make_room_for_key(all);
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->all = all;
	memcpy(o->key, key, SHA256_BYTES);
	memcpy(o->body, body, SHA256_BYTES);
	o->older = all->newest;
	if (all->newest)
		all->newest->newer = o;
	else
		all->oldest = o;
	all->newest = o;
	all->n++;
	return o;
}

int idempotent_meet(struct idempotents *all, struct conn *c, const char *body, size_t len,
		    struct once **out)
{
	struct http_text given = conn_request(c)->idempotency_key;
	uint8_t key[SHA256_BYTES], content[SHA256_BYTES];
	struct once *o;

	*out = NULL;
	if (!given.at)
		return 1;
	if (!given.len || given.len > IDEMPOTENT_KEY_MAX) {
		conn_reply_invalid(c, "an Idempotency-Key has 1 to 255 bytes");
		return 0;
	}
	digest_of(given.at, given.len, key);
	digest_of(body, len, content);
	o = find(all, key);
	if (o) {
		repeat(o, c, content);
		return 0;
	}
	*out = remember(all, key, content);
	if (*out)
		return 1;
	conn_reply_detail(c, 500, "Internal server error: no memory");
	return 0;
}

void idempotent_answer(struct once *o, int status, const char *lines, const char *answer,
		       size_t len)
{
	struct waiter *w;

	o->status = status;
	(void)snprintf(o->lines, sizeof(o->lines), "%s", lines);
	o->answer = malloc(len ? len : 1);
	if (o->answer) {
		memcpy(o->answer, answer, len);
		o->len = len;
		o->kept = make_room_for_answer(o->all, len);
		o->all->bytes += len;
	}
	/* It is not done before the last is told: a reply may bring in that client's next request, and
	 * what is done may be forgotten for it. */
	while ((w = o->waiters)) {
		o->waiters = w->next;
		if (w->conn && o->answer)
			reply_again(o, w->conn);
		else if (w->conn)
			conn_reply_detail(w->conn, 500, "Internal server error: no memory");
		free(w);
	}
	o->done = true;
	if (!o->kept)
		let_answer_go(o);
}

void idempotent_withdraw(struct once *o)
{
	struct waiter *w;

	while ((w = o->waiters)) {
		o->waiters = w->next;
		if (w->conn)
			conn_reply_detail(w->conn, 409, "The first of these requests was refused");
		free(w);
	}
	forget(o);
}
