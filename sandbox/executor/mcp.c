/* SPDX-License-Identifier: MIT */
/* mcp.c - see mcp.h. The list is read all the same: a client learns here what is wrong with it. */
#include "sandbox/executor/mcp.h"

#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "http/conn.h"

static int wrong(unsigned at, const char *key, const char *what, struct err *e)
{
	return err_code(e, EINVAL, "[%u]%s%s %s", at, key[0] ? "." : "", key, what);
}

static bool is_text(const struct json *value)
{
	return value && value->type == JSON_STRING && value->string.len &&
	       strlen(value->string.bytes) == value->string.len;
}

static int check_name(const struct json *entry, unsigned at, struct err *e)
{
	const struct json *name = json_get(entry, "name");

	if (!is_text(name))
		return wrong(at, "name", "must be a string that is not empty", e);
	if (name->string
		    .bytes[strspn(name->string.bytes, "abcdefghijklmnopqrstuvwxyz"
						      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return wrong(at, "name", "may hold letters, digits, '_' and '-'", e);
	return 0;
}

static int check_command(const struct json *entry, unsigned at, struct err *e)
{
	const struct json *command = json_get(entry, "command");

	if (!is_text(command))
		return wrong(at, "command", "must be a string that is not empty", e);
	if (strchr(command->string.bytes, ' '))
		return wrong(at, "command", "must be one word; the rest belongs into 'args'", e);
	return 0;
}

/* Strings alone, in a list of that type, where there is one. */
static int check_strings(const struct json *entry, const char *key, enum json_type type,
			 const char *what, unsigned at, struct err *e)
{
	const struct json *list = json_get(entry, key);

	if (!list)
		return 0;
	if (list->type != type)
		return wrong(at, key, what, e);
	for (const struct json *value = list->list.first; value; value = value->next)
		if (value->type != JSON_STRING)
			return wrong(at, key, what, e);
	return 0;
}

static int check_entry(const struct json *entry, unsigned at, struct err *e)
{
	if (entry->type != JSON_OBJECT)
		return wrong(at, "", "must be an object", e);
	if (check_name(entry, at, e) < 0 || check_command(entry, at, e) < 0 ||
	    check_strings(entry, "args", JSON_ARRAY, "must be an array of strings", at, e) < 0 ||
	    check_strings(entry, "env", JSON_OBJECT, "must be an object of strings", at, e) < 0)
		return -e->code;
	return 0;
}

static void reply(struct conn *c, int status, const char *detail, const char *key, const char *text)
{
	autobuf struct buf body = { 0 };
	struct json_out o = { .buf = &body };

	jo_object(&o, NULL);
	jo_string(&o, "detail", detail);
	jo_string(&o, key, text);
	jo_end_object(&o);
	conn_reply(c, status, NULL, buf_str(&body), body.len);
}

void mcp_update(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const struct json_limits limits = { .bytes = MCP_BODY_MAX,
						   .depth = 16,
						   .values = 20000 };
	autojson struct json_doc *doc = NULL;
	struct err e = { 0 };
	unsigned at = 0;

	(void)s;
	if (json_parse(body, len, &limits, &doc, &e) < 0) {
		conn_reply_invalid(c, e.text);
		return;
	}
	if (json_root(doc)->type != JSON_ARRAY) {
		conn_reply_detail(c, 400, "Request must be a list of MCP tools to sync");
		return;
	}
	for (const struct json *entry = json_root(doc)->list.first; entry; entry = entry->next)
		if (check_entry(entry, at++, &e) < 0) {
			reply(c, 500, CONN_UNEXPECTED, "errors", e.text);
			return;
		}
	reply(c, 200, "MCP server updated successfully", "router_error_log",
	      "this executor starts no MCP servers");
}
