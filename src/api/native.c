/* SPDX-License-Identifier: MIT */
/* native.c - see native.h. What needs the session's executor or its layers is a job. */
#include "api/native.h"

#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/events.h"
#include "api/outcome.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "launch/client.h"
#include "plan/strv.h"

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

/* --- calls that take their time -------------------------------------------------------------- */

/* One that a client waits for. */
struct call {
	struct conn *conn;   /* NULL when the client went away */
	const char *type;    /* of the answer */
	struct runtime copy; /* as it was: what the job needs of it */
	char *text;	     /* what was asked for */
	uint64_t timeout_ms;
	char *const *argv;
};

static void call_done(struct job *j)
{
	struct call *call = j->arg;
	struct err e = j->result->error;

	if (j->output.failed) /* whatever became of it then */
		(void)err_code(&e, EFBIG, "the answer is larger than %d bytes", JOB_OUTPUT_MAX);
	if (call->conn && e.code)
		reply_error(call->conn, &e);
	else if (call->conn)
		conn_reply(call->conn, 200, call->type, buf_str(&j->output), j->output.len);
	free(call->text);
	free(call);
}

/* `text` is taken over. */
static void call_begin(struct runtime *r, struct conn *c, struct call like,
		       int (*run)(struct job *, int, const int *, struct err *))
{
	struct call *call = malloc(sizeof(*call));
	struct job *j = call ? job_new(run, call_done, call) : NULL;

	if (!j) {
		free(call);
		free(like.text);
		conn_reply_detail(c, 503, "no memory");
		return;
	}
	*call = like;
	call->copy = *r;
	conn_hold(c, &call->conn);
	job_start(&r->server->calls, j);
}

/* --- exec ------------------------------------------------------------------------------------ */

struct exec {
	char *command, *cwd;
	uint64_t timeout_ms;
};

static int take_timeout(const struct json *v, void *record, struct err *e)
{
	struct exec *x = record;
	double seconds = v->type == JSON_INT ? (double)v->integer : v->real;

	if ((v->type != JSON_INT && v->type != JSON_REAL) || seconds <= 0 ||
	    seconds * 1000 > NATIVE_EXEC_MS)
		return json_error(v, NULL, e, "must be seconds, up to %d", NATIVE_EXEC_MS / 1000);
	x->timeout_ms = (uint64_t)(seconds * 1000);
	return 0;
}

static const struct field exec_fields[] = {
	{ "command", FIELD_STRING, offsetof(struct exec, command), true, 0, 0, NULL },
	{ "cwd", FIELD_STRING, offsetof(struct exec, cwd), false, 0, 0, NULL },
	{ "timeout", FIELD_CUSTOM, 0, false, 0, 0, take_timeout },
};

/* In a shell of its own, so that nobody waits for somebody else's command. */
static char *action_of(const struct exec *x, struct err *e)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	jo_object(&o, NULL);
	jo_object(&o, "action");
	jo_string(&o, "action", "run");
	jo_object(&o, "args");
	jo_string(&o, "command", x->command);
	if (x->cwd)
		jo_string(&o, "cwd", x->cwd);
	jo_bool(&o, "is_static", true);
	jo_bool(&o, "blocking", true);
	jo_end_object(&o);
	jo_real(&o, "timeout", (double)x->timeout_ms / 1000);
	jo_end_object(&o);
	jo_end_object(&o);
	return buf_check(&text, e) < 0 ? NULL : str_dup(buf_str(&text), e);
}

static int show_outcome(const struct buf *reply, struct buf *out, struct err *e)
{
	struct json_out o = { .buf = out };
	autobuf struct buf content = { 0 };
	int status = 0;

	if (outcome_read(buf_str(reply), reply->len, &content, &status, e) < 0)
		return -e->code;
	jo_object(&o, NULL);
	jo_int(&o, "exit_code", status);
	jo_string_n(&o, "output", buf_str(&content), content.len);
	jo_end_object(&o);
	return buf_check(out, e);
}

static int run_exec(struct job *j, int out, const int *fds, struct err *e)
{
	const struct call *call = j->arg;
	const struct client_request post = { .method = "POST",
					     .path = "/execute_action",
					     .key = call->copy.key,
					     .body = call->text,
					     .body_len = strlen(call->text),
					     .timeout_ms = (int)call->timeout_ms + 5000 };
	autobuf struct buf reply = { 0 }, text = { 0 };
	autoclose int fd = client_connect(INADDR_LOOPBACK, call->copy.port, 5000, e);
	int status;
	bool again;

	(void)fds;
	if (fd < 0)
		return fd;
	status = client_exchange(fd, &post, &reply, &again, e);
	if (status < 0)
		return status;
	if (status == 503)
		return err_code(e, EBUSY, "the session is about to be paused");
	if (status != 200)
		return err_code(e, EPROTO, "the executor answers %d", status);
	if (show_outcome(&reply, &text, e) < 0)
		return -e->code;
	return io_write_all(out, text.data, text.len, e);
}

void native_exec(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct runtime *r = api_session(s, c);
	struct exec x = { .timeout_ms = NATIVE_EXEC_DEFAULT_MS };
	struct call call = { 0 };
	autojson struct json_doc *doc = NULL;
	struct err e = { 0 };

	if (!r)
		return;
	if (json_parse(body, len, &JSON_LIMITS_DEFAULT, &doc, &e) < 0 ||
	    json_fields(json_root(doc), exec_fields, ARRAY_LEN(exec_fields), &x, NULL, &e) < 0) {
		conn_reply_detail(c, 422, e.text);
	} else if (r->state != RUNTIME_RUNNING) {
		conn_reply_detail(c, 409, "the session does not run");
	} else {
		call.text = action_of(&x, &e);
		call.timeout_ms = x.timeout_ms;
		if (call.text)
			call_begin(r, c, call, run_exec);
		else
			reply_error(c, &e);
	}
	free(x.command);
	free(x.cwd);
}

/* --- diff ------------------------------------------------------------------------------------ */

/* The command does it: what it prints is what a user would see. */
static int run_diff(struct job *j, int out, const int *fds, struct err *e)
{
	const struct call *call = j->arg;
	char *const argv[] = { (char *)"ohsandbox", (char *)"diff", (char *)(uintptr_t)call->text,
			       (char *)(uintptr_t)call->copy.id, NULL };

	(void)fds;
	if (setenv("OHS_STATE_DIR", call->copy.server->state_path, 1) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0)
		return err_errno(e, "diff");
	j->result->done = true; /* exec leaves no chance to say so; its status says the rest */
	(void)execv("/proc/self/exe", argv);
	j->result->done = false;
	return err_errno(e, "diff: execute '/proc/self/exe'");
}

void native_diff(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct runtime *r = api_session(s, c);
	struct call call = { 0 };
	struct err e = { 0 };
	bool patch;
	autobuf struct buf format = { 0 };

	(void)body;
	(void)len;
	if (!r)
		return;
	patch = http_query(conn_request(c)->query, "format", &format) &&
		str_eq(buf_str(&format), "patch");
	call.type = patch ? "text/x-patch; charset=utf-8" : NULL;
	call.text = str_dup(patch ? "--patch" : "--json", &e);
	if (!call.text || !r->id[0])
		conn_reply_detail(c, call.text ? 404 : 503, "there is nothing of this session");
	if (!call.text || !r->id[0]) {
		free(call.text);
		return;
	}
	call_begin(r, c, call, run_diff);
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
