/* SPDX-License-Identifier: MIT */
/* route.c - the endpoints of the daemon: one table, a row and a function each.
 *
 * What both generations of OpenHands' clients call stands first, then the native API; docs/openapi.json
 * describes all of it, and a test holds that against this table. */
#include <stdlib.h>
#include <string.h>

#include "api/native.h"
#include "api/operation.h"
#include "api/order.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"

#define BODY_MAX 65536

static void reply_buf(struct conn *c, int status, const struct buf *text)
{
	if (text->failed)
		conn_reply_detail(c, 503, "no memory");
	else
		conn_reply(c, status, NULL, buf_str(text), text->len);
}

/* --- starting -------------------------------------------------------------------------------- */

static int name_it(struct server *s, struct start_body *body, struct err *e)
{
	char name[33];

	if (runtimes_count(s, false) >= s->config->max_sessions)
		return err_code(e, EAGAIN, "there are %u sessions already: 'max_sessions'",
				runtimes_count(s, false));
	if (body->session_id)
		return 0;
	if (fs_random_hex(name, 16, e) < 0)
		return -e->code;
	body->session_id = str_dup(name, e);
	return body->session_id ? 0 : -e->code;
}

/* Takes `body` over. */
static void start_new(struct server *s, struct start_body *body, const char *text, size_t len,
		      struct conn *c, enum answer_kind answer)
{
	struct runtime *r = body->session_id ? runtimes_find(s, body->session_id) : NULL;
	struct err e = { 0 };
	bool taken = false;

	if (!r && name_it(s, body, &e) == 0) {
		taken = pool_take(s, body, text, len, c, answer);
		r = taken ? NULL : runtimes_add(s, body->session_id);
		if (!taken && !r)
			(void)err_code(&e, ENOMEM, "no memory");
	}
	if (r) {
		operate(r, OPERATION_START, body, c, answer);
		return;
	}
	start_body_clear(body);
	free(body);
	if (!taken)
		reply_error(c, &e);
}

void api_start(struct server *s, struct conn *c, const char *text, size_t len,
	       enum answer_kind answer)
{
	struct start_body *body = calloc(1, sizeof(*body));
	struct err e = { 0 };

	if (!body) {
		conn_reply_detail(c, 503, "no memory");
		return;
	}
	if (start_body_parse(text, len, body, &e) < 0) {
		start_body_clear(body);
		free(body);
		conn_reply_detail(c, 422, e.text);
		return;
	}
	start_new(s, body, text, len, c, answer);
}

static void post_start(struct server *s, struct conn *c, const char *body, size_t len)
{
	api_start(s, c, body, len, ANSWER_OBJECT);
}

/* --- one session ----------------------------------------------------------------------------- */

/* What stands for the "*" of the path. Replies where there is none. */
struct runtime *api_session(struct server *s, struct conn *c)
{
	struct http_text segment = conn_segment(c);
	autofree char *name = strndup(segment.at, segment.len);
	struct runtime *r = name && strlen(name) == segment.len ? runtimes_find(s, name) : NULL;

	if (!r)
		conn_reply_detail(c, 404, "there is no such session");
	return r;
}

static void get_session(struct server *s, struct conn *c, const char *body, size_t len)
{
	const struct runtime *r = api_session(s, c);

	(void)body;
	(void)len;
	if (r)
		reply_runtime(c, r, ANSWER_OBJECT);
}

/* {"runtime_id": "..."}. V0 sends null when it closes what never came to life. */
static struct runtime *named_in_body(struct server *s, struct conn *c, const char *body, size_t len)
{
	autojson struct json_doc *doc = NULL;
	const struct json *id = NULL;
	struct runtime *r = NULL;
	struct err e = { 0 };

	if (json_parse(body, len, &JSON_LIMITS_DEFAULT, &doc, &e) < 0) {
		conn_reply_detail(c, 422, e.text);
		return NULL;
	}
	id = json_get(json_root(doc), "runtime_id");
	if (!id || (id->type != JSON_STRING && id->type != JSON_NULL)) {
		conn_reply_detail(c, 422, "'runtime_id' must be a string");
		return NULL;
	}
	if (id->type == JSON_STRING)
		r = runtimes_find(s, id->string.bytes);
	if (!r)
		conn_reply_detail(c, 404, "there is no such session");
	return r;
}

static void operate_named(struct server *s, struct conn *c, const char *body, size_t len,
			  enum operation_kind kind, enum answer_kind answer)
{
	struct runtime *r = named_in_body(s, c, body, len);

	if (r)
		operate(r, kind, NULL, c, answer);
}

static void post_stop(struct server *s, struct conn *c, const char *body, size_t len)
{
	operate_named(s, c, body, len, OPERATION_STOP, ANSWER_EMPTY);
}

static void post_pause(struct server *s, struct conn *c, const char *body, size_t len)
{
	operate_named(s, c, body, len, OPERATION_FREEZE, ANSWER_OBJECT);
}

static void post_resume(struct server *s, struct conn *c, const char *body, size_t len)
{
	operate_named(s, c, body, len, OPERATION_RESUME, ANSWER_OBJECT);
}

/* --- several --------------------------------------------------------------------------------- */

/* ?ids=A&ids=B: a list; who is not known is left out. */
static void get_batch(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct http_text rest = conn_request(c)->query;
	autobuf struct buf text = { 0 }, id = { 0 };
	struct json_out o = { .buf = &text };

	(void)body;
	(void)len;
	jo_array(&o, NULL);
	while (http_query_next(&rest, "ids", &id)) {
		const struct runtime *r = runtimes_find(s, buf_str(&id));

		if (r)
			runtime_json(&o, NULL, r);
		buf_reset(&id);
	}
	jo_end_array(&o);
	reply_buf(c, 200, &text);
}

/* The running ones alone: V1's application server pauses the oldest of them. */
static void get_list(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };
	struct err e = { 0 };

	(void)body;
	(void)len;
	if (runtimes_refresh(s, &e) < 0) {
		reply_error(c, &e);
		return;
	}
	jo_object(&o, NULL);
	jo_array(&o, "runtimes");
	for (const struct runtime *r = s->runtimes; r; r = r->next)
		if (!r->shape && (r->state == RUNTIME_RUNNING || r->state == RUNTIME_STARTING))
			runtime_json(&o, NULL, r);
	jo_end_array(&o);
	jo_end_object(&o);
	reply_buf(c, 200, &text);
}

/* --- images ---------------------------------------------------------------------------------- */

/* What a template or the default stands for is there; it was never uploaded, and has no size. */
static void get_image(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf image = { 0 }, text = { 0 };
	struct json_out o = { .buf = &text };
	bool exists;

	(void)body;
	(void)len;
	if (!http_query(conn_request(c)->query, "image", &image)) {
		conn_reply_detail(c, 422, "'image' is missing");
		return;
	}
	exists = order_knows(s->config, buf_str(&image));
	jo_object(&o, NULL);
	jo_bool(&o, "exists", exists);
	if (exists) {
		jo_object(&o, "image");
		jo_string(&o, "upload_time", "1970-01-01T00:00:00Z");
		jo_u64(&o, "image_size_bytes", 0);
		jo_end_object(&o);
	} else {
		jo_null(&o, "image");
	}
	jo_end_object(&o);
	reply_buf(c, 200, &text);
}

static void get_prefix(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char text[] = "{\"registry_prefix\":\"ohsandbox.local\"}";

	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, NULL, text, sizeof(text) - 1);
}

/* Every image is there already, so that no client ever comes here unless it is told to build anew. */
static void no_build(struct server *s, struct conn *c)
{
	(void)s;
	conn_reply_detail(
		c, 501,
		"no images are built here: name one by 'runtime_container_image', and what it "
		"stands for in the configuration (ohsandbox-serve(5))");
}

static void get_warm_configs(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	(void)body;
	(void)len;
	jo_object(&o, NULL);
	jo_array(&o, "configs");
	for (unsigned i = 0; i < s->config->n_templates; i++)
		if (!strpbrk(s->config->templates[i].image, "*?["))
			template_json(&o, &s->config->templates[i]);
	jo_end_array(&o);
	jo_end_object(&o);
	reply_buf(c, 200, &text);
}

/* --- of the daemon itself -------------------------------------------------------------------- */

static void get_health(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	if (s->draining)
		conn_reply_detail(c, 503, "draining");
	else
		conn_reply(c, 200, NULL, "{\"status\":\"ok\"}", 15);
}

static void get_metrics(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };

	(void)body;
	(void)len;
	metrics_show(s, &text);
	conn_reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text), text.len);
}

const struct route api_routes[] = {
	{ "POST", "/start", false, START_BODY_MAX, .handle = post_start },
	{ "POST", "/stop", false, BODY_MAX, .handle = post_stop },
	{ "POST", "/pause", false, BODY_MAX, .handle = post_pause },
	{ "POST", "/resume", false, BODY_MAX, .handle = post_resume },
	{ "GET", "/sessions/batch", false, 0, .handle = get_batch },
	{ "GET", "/sessions/*", false, 0, .handle = get_session },
	{ "GET", "/runtime/*", false, 0, .handle = get_session },
	{ "GET", "/list", false, 0, .handle = get_list },
	{ "GET", "/image_exists", false, 0, .handle = get_image },
	{ "GET", "/registry_prefix", false, 0, .handle = get_prefix },
	{ "POST", "/build", false, 0, .begin = no_build },
	{ "GET", "/build_status", false, 0, .begin = no_build },
	{ "GET", "/api/warm-runtime-configs", false, 0, .handle = get_warm_configs },
	{ "GET", "/v1/sessions", false, 0, .handle = native_list },
	{ "POST", "/v1/sessions", false, START_BODY_MAX, .handle = native_create },
	{ "GET", "/v1/sessions/*", false, 0, .handle = native_show },
	{ "DELETE", "/v1/sessions/*", false, 0, .handle = native_stop },
	{ "POST", "/v1/sessions/*/pause", false, BODY_MAX, .handle = native_pause },
	{ "POST", "/v1/sessions/*/resume", false, 0, .handle = native_resume },
	{ "POST", "/v1/sessions/*/exec", false, NATIVE_EXEC_BODY_MAX, .handle = native_exec },
	{ "GET", "/v1/sessions/*/diff", false, 0, .handle = native_diff },
	{ "GET", "/v1/sessions/*/files", false, 0, .begin = native_files },
	{ "POST", "/v1/sessions/*/files", false, 0, .begin = native_files },
	{ "GET", "/v1/sessions/*/events", false, 0, .handle = native_session_events },
	{ "GET", "/v1/events", false, 0, .handle = native_events },
	{ "GET", "/healthz", true, 0, .handle = get_health },
	{ "GET", "/metrics", false, 0, .handle = get_metrics },
};
const size_t api_routes_count = ARRAY_LEN(api_routes);

/* At the socket of ask_daemon.h. */
const struct route api_command_routes[] = {
	{ "POST", "/resume", false, BODY_MAX, .handle = post_resume },
};
const size_t api_command_routes_count = ARRAY_LEN(api_command_routes);
