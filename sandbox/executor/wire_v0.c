/* SPDX-License-Identifier: MIT */
/* wire_v0.c - see wire_v0.h. Texts that clients compare are those of the reference. */
#include "sandbox/executor/wire_v0.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/wire_v0_values.h"

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

/* The editor has its own words for an empty one. */
static int take_edit_path(const struct reader *r, struct text *out)
{
	const struct json *value = member(r->args, "path");

	if (!value || value->type != JSON_STRING || value->string.len)
		return take_path(r, "path", out);
	*out = (struct text) { "", 0 };
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

/* *editor: it is the editor's to do. `otherwise` is what else it may be. */
static int take_source(const struct reader *r, const char *otherwise, bool *editor)
{
	struct text given = { NULL, 0 };

	if (take_text(r, "impl_source", false, &given) < 0)
		return -EINVAL;
	if (!given.at)
		return 0;
	*editor = text_eq(given, text_of("oh_aci"));
	if (*editor || text_eq(given, text_of(otherwise)))
		return 0;
	return wrong_arguments(r->why, r->action, "impl_source", "is none that is known");
}

static int read_editor(const struct reader *r, struct action_read *a)
{
	const struct json *range = member(r->args, "view_range");

	if (take_edit_path(r, &a->path) < 0)
		return -EINVAL;
	if (range && range->type != JSON_ARRAY)
		return wrong_arguments(r->why, r->action, "view_range", "must be a list");
	if (range && range->list.count) /* an empty one is none */
		wire_v0_range(range, &a->range);
	return 0;
}

static int read_read(const struct reader *r, struct action *a)
{
	a->read = (struct action_read) { .end = -1 };
	if (take_source(r, "default", &a->read.editor) < 0)
		return -EINVAL;
	if (a->read.editor)
		return read_editor(r, &a->read);
	if (take_path(r, "path", &a->read.path) < 0 || take_int(r, "start", &a->read.start) < 0 ||
	    take_int(r, "end", &a->read.end) < 0)
		return -EINVAL;
	return 0;
}

static int take_line(const struct reader *r, struct action_edit *a)
{
	const struct json *value = member(r->args, "insert_line");

	if (!value)
		return 0;
	a->line_given = true;
	if (value->type == JSON_INT)
		a->line = value->integer;
	else if (value->type != JSON_STRING)
		return wrong_arguments(r->why, r->action, "insert_line", "must be an integer");
	else if (!wire_v0_integer((struct text) { value->string.bytes, value->string.len },
				  &a->line))
		a->bad_line = (struct text) { value->string.bytes, value->string.len };
	return 0;
}

static int read_edit(const struct reader *r, struct action *a)
{
	struct action_edit *edit = &a->edit;
	bool editor = true;

	*edit = (struct action_edit) { .command = { "", 0 } };
	if (take_source(r, "llm_based_edit", &editor) < 0)
		return -EINVAL;
	if (!editor)
		return refuse(r->why, 500,
			      "Internal server error: an 'edit' of impl_source 'llm_based_edit' is "
			      "the client's to do");
	if (take_edit_path(r, &edit->path) < 0 ||
	    take_text(r, "command", false, &edit->command) < 0 ||
	    take_text(r, "file_text", false, &edit->file_text) < 0 ||
	    take_text(r, "old_str", false, &edit->old_str) < 0 ||
	    take_text(r, "new_str", false, &edit->new_str) < 0)
		return -EINVAL;
	return take_line(r, edit);
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

static int read_ipython(const struct reader *r, struct action *a)
{
	a->ipython = (struct action_ipython) { .with_places = true };
	if (take_text(r, "code", true, &a->ipython.code) < 0 ||
	    take_text(r, "kernel_init_code", false, &a->ipython.first) < 0 ||
	    take_bool(r, "include_extra", &a->ipython.with_places) < 0)
		return -EINVAL;
	return 0;
}

/* What a browser would be told: looked at, and not kept while there is none. */
static int read_browse(const struct reader *r, struct action *a)
{
	bool tree = false;
	struct text url;

	(void)a;
	if (take_text(r, "url", true, &url) < 0 || take_bool(r, "return_axtree", &tree) < 0)
		return -EINVAL;
	return 0;
}

static int read_browse_interactive(const struct reader *r, struct action *a)
{
	struct text script, message;
	bool tree = false;

	(void)a;
	if (take_text(r, "browser_actions", true, &script) < 0 ||
	    take_text(r, "browsergym_send_msg_to_user", false, &message) < 0 ||
	    take_bool(r, "return_axtree", &tree) < 0)
		return -EINVAL;
	return 0;
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
	{ "edit", ACTION_EDIT, read_edit },
	{ "run_ipython", ACTION_IPYTHON, read_ipython },
	{ "browse", ACTION_BROWSE, read_browse },
	{ "browse_interactive", ACTION_BROWSE, read_browse_interactive },
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
