/* SPDX-License-Identifier: MIT */
/* native.c - see native.h. What needs the session's executor or its layers is in native_calls.c. */
#include "api/native.h"

#include <string.h>

#include "api/events.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "base/json.h"

static const char *const state_names[RUNTIME_STATES] = {
	[RUNTIME_STARTING] = "starting", [RUNTIME_RUNNING] = "running", [RUNTIME_FROZEN] = "frozen",
	[RUNTIME_PAUSED] = "paused",	 [RUNTIME_ENDED] = "ended",	[RUNTIME_FAILED] = "failed",
};

/* --- as it is shown -------------------------------------------------------------------------- */

void native_json(struct json_out *o, const char *key, const struct runtime *r)
{
	autobuf struct buf url = { 0 };

	runtime_url(r, r->url_port, &url);
	jo_object(o, key);
	jo_string(o, "id", r->id[0] ? r->id : NULL);
	jo_string(o, "name", r->name);
	jo_string(o, "state", state_names[r->state]);
	jo_string(o, "detail", r->detail);
	jo_string(o, "url", r->url_port ? buf_str(&url) : NULL);
	jo_string(o, "session_api_key",
		  r->program_key ? r->program_key
		  : r->key[0]	 ? r->key
				 : NULL);
	jo_string(o, "template", r->template);
	jo_string(o, "created", r->created);
	jo_array(o, "ports");
	for (unsigned i = 0; i < r->n_ports; i++) {
		jo_object(o, NULL);
		jo_u64(o, "host", r->ports[i].host);
		jo_u64(o, "inside", r->ports[i].inside);
		jo_end_object(o);
	}
	jo_end_array(o);
	jo_end_object(o);
}

static void words(struct json_out *o, const char *key, char *const *list)
{
	if (!list) {
		jo_null(o, key);
		return;
	}
	jo_array(o, key);
	for (; *list; list++)
		jo_string(o, NULL, *list);
	jo_end_array(o);
}

void template_json(struct json_out *o, const struct session_template *t)
{
	jo_object(o, NULL);
	jo_string(o, "name", t->name);
	jo_string(o, "image", t->image);
	words(o, "command", t->command);
	jo_object(o, "environment");
	for (char *const *pair = t->environment; pair && *pair; pair++) {
		const char *equals = strchr(*pair, '=');
		autofree char *name = strndup(*pair, (size_t)(equals - *pair));

		if (name)
			jo_string(o, name, equals + 1);
	}
	jo_end_object(o);
	jo_string(o, "working_dir", t->working_dir ? t->working_dir : "/workspace");
	jo_end_object(o);
}

void native_list(struct server *s, struct conn *c, const char *body, size_t len)
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
	jo_array(&o, "sessions");
	for (const struct runtime *r = s->runtimes; r; r = r->next)
		if (!r->shape)
			native_json(&o, NULL, r);
	jo_end_array(&o);
	jo_end_object(&o);
	if (text.failed)
		conn_reply_detail(c, 503, "no memory");
	else
		conn_reply(c, 200, NULL, buf_str(&text), text.len);
}

void native_create(struct server *s, struct conn *c, const char *body, size_t len)
{
	api_start(s, c, body, len, ANSWER_NATIVE);
}

void native_show(struct server *s, struct conn *c, const char *body, size_t len)
{
	const struct runtime *r = api_session(s, c);

	(void)body;
	(void)len;
	if (r)
		reply_runtime(c, r, ANSWER_NATIVE);
}

void native_stop(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct runtime *r = api_session(s, c);

	(void)body;
	(void)len;
	if (r)
		operate(r, OPERATION_STOP, NULL, c, ANSWER_EMPTY);
}

/* {"to_disk": true}, or nothing. */
void native_pause(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const struct field fields[] = { { "to_disk", FIELD_BOOL, 0, false, 0, 0, NULL } };
	struct runtime *r = api_session(s, c);
	autojson struct json_doc *doc = NULL;
	struct err e = { 0 };
	bool to_disk = false;

	if (!r)
		return;
	if (len && (json_parse(body, len, &JSON_LIMITS_DEFAULT, &doc, &e) < 0 ||
		    json_fields(json_root(doc), fields, ARRAY_LEN(fields), &to_disk, NULL, &e) < 0))
		conn_reply_detail(c, 422, e.text);
	else
		operate(r, to_disk ? OPERATION_PAUSE : OPERATION_FREEZE, NULL, c, ANSWER_NATIVE);
}

void native_resume(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct runtime *r = api_session(s, c);

	(void)body;
	(void)len;
	if (r)
		operate(r, OPERATION_RESUME, NULL, c, ANSWER_NATIVE);
}

/* --- files and events ------------------------------------------------------------------------ */

/* Their bytes do not pass through the daemon: the session's own server moves them. */
void native_files(struct server *s, struct conn *c)
{
	const struct http_request *q = conn_request(c);
	struct runtime *r = api_session(s, c);
	autobuf struct buf line = { 0 };
	struct conn_head head = { .status = 307, .length = 2 };

	if (!r)
		return;
	if (r->state != RUNTIME_RUNNING) {
		conn_reply_detail(c, 409, "the session does not run");
		return;
	}
	buf_puts(&line, "location: ");
	runtime_url(r, r->port, &line);
	buf_puts(&line, http_text_is(q->method, "GET") ? "/download_files" : "/upload_file");
	if (q->query.len)
		buf_printf(&line, "?%.*s", (int)q->query.len, q->query.at);
	buf_puts(&line, "\r\n");
	head.lines = buf_str(&line);
	conn_reply_as(c, &head, "{}");
}

void native_events(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	events_open(s, c, NULL);
}

void native_session_events(struct server *s, struct conn *c, const char *body, size_t len)
{
	const struct runtime *r = api_session(s, c);

	(void)body;
	(void)len;
	if (r)
		events_open(s, c, r->name); /* its id comes with its record, and changes with it */
}
