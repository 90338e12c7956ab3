/* SPDX-License-Identifier: MIT */
/* wire_v0.c - see wire_v0.h. Texts that clients compare are those of the reference. */
#include "sandbox/executor/wire_v0.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/str.h"
#include "sandbox/executor/dispatch.h"

#define TIMEOUT_MAX_S (366.0 * 24 * 3600)

static int refuse(struct wire_refusal *why, int status, const char *fmt, ...) printf_like(3, 4);

static int refuse(struct wire_refusal *why, int status, const char *fmt, ...)
{
	va_list ap;

	why->status = status;
	va_start(ap, fmt);
	(void)vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The arguments of an action that do not fit; the name is the client's class. */
static int wrong_arguments(struct wire_refusal *why, const char *action, const char *key,
			   const char *what)
{
	return refuse(why, 500,
		      "Internal server error: action '%s' has the wrong arguments: '%s' %s", action,
		      key, what);
}

struct reader {
	const struct json *args;
	const char *action;
	struct wire_refusal *why;
};

/* The member, or NULL where it is missing or null. */
static const struct json *member(const struct json *object, const char *key)
{
	const struct json *value = object ? json_get(object, key) : NULL;

	return value && value->type != JSON_NULL ? value : NULL;
}

static int take_text(const struct reader *r, const char *key, bool required, struct text *out)
{
	const struct json *value = member(r->args, key);

	if (!value && required)
		return wrong_arguments(r->why, r->action, key, "is missing");
	if (!value)
		return 0;
	if (value->type != JSON_STRING)
		return wrong_arguments(r->why, r->action, key, "must be a string");
	out->at = value->string.bytes;
	out->len = value->string.len;
	return 0;
}

/* A path is handed to the kernel: a NUL would cut it short behind what was checked. */
static int take_path(const struct reader *r, const char *key, struct text *out)
{
	if (take_text(r, key, true, out) < 0)
		return -EINVAL;
	if (!out->len || memchr(out->at, '\0', out->len))
		return wrong_arguments(r->why, r->action, key, "is no path");
	return 0;
}

static int take_bool(const struct reader *r, const char *key, bool *out)
{
	const struct json *value = member(r->args, key);

	if (!value)
		return 0;
	if (value->type != JSON_BOOL)
		return wrong_arguments(r->why, r->action, key, "must be true or false");
	*out = value->boolean;
	return 0;
}

static int take_int(const struct reader *r, const char *key, int64_t *out)
{
	const struct json *value = member(r->args, key);

	if (!value)
		return 0;
	if (value->type != JSON_INT)
		return wrong_arguments(r->why, r->action, key, "must be an integer");
	*out = value->integer;
	return 0;
}

static int read_run(const struct reader *r, struct action *a)
{
	struct action_run *run = &a->run;

	*run = (struct action_run) { .is_input = false };
	if (take_text(r, "command", true, &run->command) < 0 ||
	    take_text(r, "cwd", false, &run->cwd) < 0 ||
	    take_bool(r, "is_input", &run->is_input) < 0 ||
	    take_bool(r, "blocking", &run->blocking) < 0 ||
	    take_bool(r, "is_static", &run->is_static) < 0 ||
	    take_bool(r, "hidden", &run->hidden) < 0)
		return -EINVAL;
	if (run->cwd.at && (!run->cwd.len || memchr(run->cwd.at, '\0', run->cwd.len)))
		return wrong_arguments(r->why, r->action, "cwd", "is no path");
	return 0;
}

static int read_read(const struct reader *r, struct action *a)
{
	a->read = (struct action_read) { .end = -1 };
	if (take_path(r, "path", &a->read.path) < 0 || take_int(r, "start", &a->read.start) < 0 ||
	    take_int(r, "end", &a->read.end) < 0)
		return -EINVAL;
	return 0;
}

static int read_write(const struct reader *r, struct action *a)
{
	a->write = (struct action_write) { .end = -1 };
	if (take_path(r, "path", &a->write.path) < 0 ||
	    take_text(r, "content", true, &a->write.content) < 0 ||
	    take_int(r, "start", &a->write.start) < 0 || take_int(r, "end", &a->write.end) < 0)
		return -EINVAL;
	return 0;
}

static int read_needed(const struct reader *r, const char *key)
{
	struct text ignored;

	return take_text(r, key, true, &ignored);
}

static int read_ipython(const struct reader *r, struct action *a)
{
	(void)a;
	return read_needed(r, "code");
}

static int read_browse(const struct reader *r, struct action *a)
{
	(void)a;
	return read_needed(r, "url");
}

static int read_browse_interactive(const struct reader *r, struct action *a)
{
	(void)a;
	return read_needed(r, "browser_actions");
}

/* NULL: the client's vocabulary, but nothing an executor does. */
static const struct {
	const char *name;
	enum action_kind kind;
	int (*read)(const struct reader *r, struct action *a);
} actions[] = {
	{ "run", ACTION_RUN, read_run },
	{ "read", ACTION_READ, read_read },
	{ "write", ACTION_WRITE, read_write },
	{ "run_ipython", ACTION_IPYTHON, read_ipython },
	{ "browse", ACTION_BROWSE, read_browse },
	{ "browse_interactive", ACTION_BROWSE, read_browse_interactive },
	{ .name = "edit" },
	{ .name = "message" },
	{ .name = "system" },
	{ .name = "call_tool_mcp" },
	{ .name = "think" },
	{ .name = "finish" },
	{ .name = "reject" },
	{ .name = "delegate" },
	{ .name = "recall" },
	{ .name = "change_agent_state" },
	{ .name = "condensation" },
	{ .name = "condensation_request" },
	{ .name = "task_tracking" },
	{ .name = "loop_recovery" },
	{ .name = "null" },
};

static int unknown_action(const char *name, struct wire_refusal *why)
{
	autobuf struct buf list = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		buf_printf(&list, "%s'%s'", i ? ", " : "", actions[i].name);
	return refuse(
		why, 500,
		"Internal server error: action '%.60s' is not defined. Available actions: [%s]",
		name, buf_str(&list));
}

static int read_args(const struct json *event, const char *name, struct action *a,
		     struct wire_refusal *why)
{
	struct reader r = { .args = member(event, "args"), .action = name, .why = why };

	if (r.args && r.args->type != JSON_OBJECT)
		return wrong_arguments(why, name, "args", "must be an object");
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (!str_eq(actions[i].name, name))
			continue;
		if (!actions[i].read)
			return refuse(
				why, 500,
				"Internal server error: 'ActionExecutor' object has no attribute '%s'",
				name);
		a->kind = actions[i].kind;
		return actions[i].read(&r, a);
	}
	return unknown_action(name, why);
}

static int read_timeout(const struct json *event, struct action *a, struct wire_refusal *why)
{
	const struct json *value = member(event, "timeout");
	double s;

	if (!value)
		return 0;
	if (value->type != JSON_INT && value->type != JSON_REAL)
		return refuse(why, 500,
			      "Internal server error: 'timeout' must be a number of seconds");
	s = value->type == JSON_INT ? (double)value->integer : value->real;
	if (!(s >= 0 && s <= TIMEOUT_MAX_S))
		return refuse(
			why, 500,
			"Internal server error: 'timeout' must be a number of seconds, up to a year");
	a->timeout_s = s;
	a->timeout_ms = s > 0 && s < 0.001 ? 1 : (uint64_t)(s * 1000);
	return 0;
}

static int check_source(const struct json *event, struct wire_refusal *why)
{
	const struct json *value = member(event, "source");

	if (!value)
		return 0;
	if (value->type != JSON_STRING)
		return refuse(why, 500, "Internal server error: 'source' must be a string");
	if (str_eq(value->string.bytes, "agent") || str_eq(value->string.bytes, "user") ||
	    str_eq(value->string.bytes, "environment"))
		return 0;
	return refuse(why, 500, "Internal server error: '%.60s' is not a valid EventSource",
		      value->string.bytes);
}

static int read_event(const struct json *event, struct action *a, struct wire_refusal *why)
{
	const struct json *name = json_get(event, "action");

	if (!name && json_get(event, "observation"))
		return refuse(why, 500, "Internal server error: 400: Invalid action type");
	if (!name)
		return refuse(why, 500, "Internal server error: Unknown event type: {...}");
	if (name->type != JSON_STRING)
		return refuse(why, 500, "Internal server error: 'action' must be a string");
	if (read_args(event, name->string.bytes, a, why) < 0 || check_source(event, why) < 0)
		return -EINVAL;
	return read_timeout(event, a, why);
}

int wire_v0_action(const char *body, size_t len, struct action *a, struct wire_refusal *why)
{
	static const struct json_limits limits = { .bytes = DISPATCH_BODY_MAX,
						   .depth = 64,
						   .values = 200000 };
	autojson struct json_doc *doc = NULL;
	struct action made = { .timeout_ms = 0 };
	const struct json *root, *event;
	struct err e = { 0 };

	if (json_parse(body, len, &limits, &doc, &e) < 0)
		return refuse(why, 422, "%s", e.text);
	root = json_root(doc);
	event = root->type == JSON_OBJECT ? json_get(root, "action") : NULL;
	if (!event)
		return refuse(why, 422, "'action' is missing");
	if (event->type != JSON_OBJECT)
		return refuse(why, 422, "'action' must be an object");
	if (read_event(event, &made, why) < 0)
		return -EINVAL;
	made.doc = take_ptr(&doc);
	*a = made;
	return 0;
}

/* --- observations ---------------------------------------------------------------------------- */

static void put_buf(struct json_out *j, const char *key, const struct buf *b)
{
	jo_string_n(j, key, buf_str(b), b->len);
}

static void put_metadata(struct json_out *j, const struct observation *o)
{
	jo_object(j, "metadata");
	jo_int(j, "exit_code", o->exit_code);
	jo_int(j, "pid", o->background);
	jo_string(j, "username", o->user);
	jo_string(j, "hostname", o->hostname);
	jo_string(j, "working_dir", o->cwd);
	jo_string(j, "py_interpreter_path", o->python);
	put_buf(j, "prefix", &o->prefix);
	put_buf(j, "suffix", &o->suffix);
	jo_end_object(j);
}

static void say_run(const struct observation *o, struct buf *out)
{
	buf_puts(out, "Command `");
	buf_add(out, o->command.at ? o->command.at : "", o->command.len);
	buf_printf(out, "` executed with exit code %d.", o->exit_code);
}

static void extras_run(const struct observation *o, struct json_out *j)
{
	jo_string_n(j, "command", o->command.at ? o->command.at : "", o->command.len);
	put_metadata(j, o);
	jo_bool(j, "hidden", o->hidden);
}

static void say_read(const struct observation *o, struct buf *out)
{
	buf_printf(out, "I read the file %s.", buf_str(&o->path));
}

static void extras_read(const struct observation *o, struct json_out *j)
{
	put_buf(j, "path", &o->path);
	jo_string(j, "impl_source", "default");
}

static void say_write(const struct observation *o, struct buf *out)
{
	buf_printf(out, "I wrote to the file %s.", buf_str(&o->path));
}

static void extras_write(const struct observation *o, struct json_out *j)
{
	put_buf(j, "path", &o->path);
}

static void say_error(const struct observation *o, struct buf *out)
{
	buf_add(out, buf_str(&o->content), o->content.len);
}

static void extras_error(const struct observation *o, struct json_out *j)
{
	(void)o;
	jo_string(j, "error_id", "");
}

/* Clients refuse a key they do not know in every kind but "run". */
static const struct {
	const char *name;
	void (*say)(const struct observation *o, struct buf *out);
	void (*extras)(const struct observation *o, struct json_out *j);
} observations[] = {
	[OBSERVED_RUN] = { "run", say_run, extras_run },
	[OBSERVED_READ] = { "read", say_read, extras_read },
	[OBSERVED_WRITE] = { "write", say_write, extras_write },
	[OBSERVED_ERROR] = { "error", say_error, extras_error },
};

void wire_v0_observation(const struct observation *o, struct buf *out)
{
	struct json_out j = { .buf = out };
	autobuf struct buf message = { 0 };

	observations[o->kind].say(o, &message);
	jo_object(&j, NULL);
	put_buf(&j, "message", &message);
	jo_string(&j, "observation", observations[o->kind].name);
	put_buf(&j, "content", &o->content);
	jo_object(&j, "extras");
	observations[o->kind].extras(o, &j);
	jo_end_object(&j);
	if (o->kind == OBSERVED_RUN)
		jo_bool(&j, "success", o->exit_code == 0);
	jo_end_object(&j);
}
