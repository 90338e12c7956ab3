/* SPDX-License-Identifier: MIT */
/* native_calls.c - what /v1 asks of a session's executor, or of its layers; see native.h and call.h. */
#include <netinet/in.h>
#include <string.h>

#include "api/call.h"
#include "api/native.h"
#include "api/outcome.h"
#include "api/reply.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "launch/client.h"

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
	if (x->cwd && *x->cwd)
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
					     .path = "/execute_action?while=connected",
					     .key = call->key,
					     .body = call->text,
					     .body_len = strlen(call->text),
					     .timeout_ms = (int)call->timeout_ms + 5000 };
	autobuf struct buf reply = { .limit = NATIVE_REPLY_MAX }, text = { 0 };
	autoclose int fd = client_connect(INADDR_LOOPBACK, call->port, 5000, e);
	int status = fd;
	bool again;

	(void)fds;
	if (fd >= 0)
		status = client_exchange(fd, &post, &reply, &again, e);
	if (status < 0)
		return call_explain(call, e);
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
	char *const argv[] = { (char *)"ohsandbox", (char *)"diff", call->text,
			       (char *)(uintptr_t)call->id, NULL };

	if (setenv("OHS_STATE_DIR", call->state_path, 1) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(fds[0], STDERR_FILENO) < 0)
		return err_errno(e, "diff");
	j->result->done = true; /* exec leaves no chance to say so; its status says the rest */
	(void)execv("/proc/self/exe", argv);
	j->result->done = false;
	return err_errno(e, "diff: execute '/proc/self/exe'");
}

void native_diff(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct runtime *r = api_session(s, c);
	struct call call = { .is_program = true };
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
