/* SPDX-License-Identifier: MIT */
/* outcome.c - see outcome.h. */
#include "api/outcome.h"

#include "base/json.h"
#include "launch/client.h"

static const struct json *member(const struct json *object, const char *key, enum json_type type)
{
	const struct json *v = object && object->type == JSON_OBJECT ? json_get(object, key) : NULL;

	return v && v->type == type ? v : NULL;
}

int outcome_read(const char *reply, size_t len, struct buf *content, int *status, struct err *e)
{
	struct json_limits limits = { .bytes = CLIENT_BODY_MAX, .depth = 16, .values = 1000 };
	autojson struct json_doc *doc = NULL;
	const struct json *root, *text, *code, *detail;

	if (json_parse(reply, len, &limits, &doc, e) < 0)
		return err_wrap(e, "the executor's answer");
	root = json_root(doc);
	text = member(root, "content", JSON_STRING);
	code = member(member(member(root, "extras", JSON_OBJECT), "metadata", JSON_OBJECT),
		      "exit_code", JSON_INT);
	detail = member(root, "detail", JSON_STRING);
	if (detail)
		return err_code(e, EPROTO, "the executor refuses: %.200s", detail->string.bytes);
	if (!text || !code || code->integer < -1 || code->integer > 255)
		return err_code(e, EPROTO, "the executor's answer is no observation of a command");
	buf_add(content, text->string.bytes, text->string.len);
	*status = (int)code->integer;
	return buf_check(content, e);
}
