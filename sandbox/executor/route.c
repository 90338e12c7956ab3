/* SPDX-License-Identifier: MIT */
/* route.c - see route.h. Adding an endpoint is a row and a function. */
#include "sandbox/executor/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/wire_v0.h"

static void get_alive(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char ok[] = "{\"status\":\"ok\"}";

	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, NULL, ok, sizeof(ok) - 1);
}

static void get_info(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };

	(void)body;
	(void)len;
	info_show(&s->info, s->dispatch.started_ms, &text);
	conn_reply(c, 200, NULL, buf_str(&text), text.len);
}

static void tell_v0(struct job *job, struct observation *o)
{
	autobuf struct buf text = { .limit = (size_t)1 << 30 }; /* its parts have narrower limits */

	if (!job->conn)
		return;
	wire_v0_observation(o, &text);
	if (text.failed)
		conn_reply_detail(job->conn, 500, "Internal server error: no memory for the reply");
	else
		conn_reply(job->conn, 200, NULL, buf_str(&text), text.len);
}

static void fail_v0(struct job *job, const char *why)
{
	autobuf struct buf text = { 0 };

	if (!job->conn)
		return;
	buf_printf(&text, "Internal server error: %s", why);
	conn_reply_detail(job->conn, 500, buf_str(&text));
}

static void refuse_v0(struct conn *c, const struct wire_refusal *why)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	if (why->status != 422) {
		conn_reply_detail(c, why->status, why->text);
		return;
	}
	jo_object(&o, NULL);
	jo_string(&o, "detail", "Invalid request parameters");
	jo_string(&o, "errors", why->text);
	jo_end_object(&o);
	conn_reply(c, 422, NULL, buf_str(&text), text.len);
}

static void post_action(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct wire_refusal why = { 0 };
	struct job *job = calloc(1, sizeof(*job));
	struct err e = { 0 };

	if (!job) {
		conn_reply_detail(c, 500, "Internal server error: no memory");
		return;
	}
	if (wire_v0_action(body, len, &job->action, &why) < 0) {
		free(job);
		refuse_v0(c, &why);
		return;
	}
	job->server = s;
	job->tell = tell_v0;
	job->fail = fail_v0;
	conn_hold(c, &job->conn);
	if (dispatch_add(&s->dispatch, job, &e) == 0)
		return;
	fail_v0(job, e.text);
	action_clear(&job->action);
	free(job);
}

const struct route routes[] = {
	{ "GET", "/alive", true, 0, get_alive },
	{ "GET", "/server_info", true, 0, get_info },
	{ "POST", "/execute_action", false, DISPATCH_BODY_MAX, post_action },
};
const size_t routes_count = ARRAY_LEN(routes);
