/* SPDX-License-Identifier: MIT */
/* execute.c - see execute.h. */
#include "sandbox/executor/execute.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/str.h"
#include "sandbox/executor/cancel.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/wire_v0.h"

/* Behind what the dialect says: clients ignore keys at the top that they do not know. */
static void add_action(const struct job *job, struct buf *text)
{
	struct json_out o = { .buf = text, .comma = true, .depth = 1 };
	const struct entry *en = job->entry;

	text->len--; /* the closing brace */
	jo_u64(&o, "action_id", en->id);
	if (en->violations.n)
		violations_show(&en->violations, job->server->boot, &o, "violations");
	jo_end_object(&o);
}

static void reply(struct job *job, int status, const struct buf *text)
{
	struct conn_head head = { .status = status, .length = text->len };
	char lines[48];

	(void)snprintf(lines, sizeof(lines), "x-action-id: %" PRIu64 "\r\n", job->entry->id);
	head.lines = lines;
	if (job->conn)
		conn_reply_as(job->conn, &head, buf_str(text));
	if (job->once)
		idempotent_answer(job->once, status, lines, buf_str(text), text->len);
}

static void reply_detail(struct job *job, const char *detail)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	jo_object(&o, NULL);
	jo_string(&o, "detail", detail);
	jo_u64(&o, "action_id", job->entry->id);
	jo_end_object(&o);
	reply(job, 500, &text);
}

static void tell_v0(struct job *job, struct observation *o)
{
	autobuf struct buf text = { .limit = (size_t)1 << 30 }; /* its parts have narrower limits */

	wire_v0_observation(o, &text);
	if (!text.failed)
		add_action(job, &text);
	if (text.failed)
		reply_detail(job, "Internal server error: no memory for the reply");
	else
		reply(job, 200, &text);
}

static void fail_v0(struct job *job, const char *why)
{
	autobuf struct buf text = { 0 };

	buf_printf(&text, "Internal server error: %s", why);
	reply_detail(job, buf_str(&text));
}

static void refuse_v0(struct conn *c, const struct wire_refusal *why)
{
	if (why->status == 422)
		conn_reply_invalid(c, why->text);
	else
		conn_reply_detail(c, why->status, why->text);
}

static void refuse(struct conn *c, const char *why)
{
	autobuf struct buf text = { 0 };

	buf_printf(&text, "Internal server error: %s", why);
	conn_reply_detail(c, 500, buf_str(&text));
}

static struct job *job_new(struct server *s, struct conn *c)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		refuse(c, "no memory");
		return NULL;
	}
	job->server = s;
	job->tell = tell_v0;
	job->fail = fail_v0;
	return job;
}

/* Nothing will be done: it may come again. */
static void drop(struct job *job)
{
	if (job->once)
		idempotent_withdraw(job->once);
	action_clear(&job->action);
	free(job);
}

/* Nobody is left to hear of it. One that has ended by itself, or is about to, needs no telling. */
static void leave(struct conn_mind *m)
{
	struct job *job = container_of(m, struct job, mind);

	(void)cancel_action(&job->server->actions, job->entry);
}

/* ?while=connected: the client's end is the action's. Without it actions go on, as clients that connect
 * anew expect. */
static bool is_bound(const struct conn *c)
{
	autobuf struct buf value = { .limit = 64 };

	return http_query(conn_request(c)->query, "while", &value) && !value.failed &&
	       str_eq(buf_str(&value), "connected");
}

static void hold(struct job *job, struct conn *c)
{
	conn_hold(c, &job->conn);
	if (!is_bound(c))
		return;
	job->mind.left = leave;
	conn_mind(c, &job->mind);
}

void post_action(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct wire_refusal why = { 0 };
	struct job *job = job_new(s, c);
	struct err e = { 0 };

	if (!job)
		return;
	if (!idempotent_meet(&s->idempotents, c, body, len, &job->once)) {
		free(job);
		return;
	}
	if (wire_v0_action(body, len, &job->action, &why) < 0) {
		drop(job);
		refuse_v0(c, &why);
		return;
	}
	hold(job, c);
	if (dispatch_add(&s->dispatch, job, &e) == 0)
		return;
	/* In this order: the connection still points at what waited for it. */
	refuse(c, e.text);
	drop(job);
}
