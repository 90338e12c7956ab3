/* SPDX-License-Identifier: MIT */
/* start_body.c - see start_body.h. */
#include "api/start_body.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/strv.h"

struct key {
	const char *name;
	int (*take)(const struct json *v, struct start_body *b, struct err *e);
};

static int text_of(const struct json *v, size_t max, const char **text, struct err *e)
{
	if (v->type != JSON_STRING || memchr(v->string.bytes, 0, v->string.len))
		return json_error(v, NULL, e, "must be a string");
	if (v->string.len > max)
		return json_error(v, NULL, e, "is longer than %zu bytes", max);
	*text = v->string.bytes;
	return 0;
}

static int copy(const struct json *v, size_t max, char **into, struct err *e)
{
	const char *text;

	if (text_of(v, max, &text, e) < 0)
		return -e->code;
	*into = str_dup(text, e);
	return *into ? 0 : -e->code;
}

static int take_image(const struct json *v, struct start_body *b, struct err *e)
{
	if (copy(v, START_IMAGE_MAX, &b->image, e) < 0)
		return -e->code;
	return *b->image ? 0 : json_error(v, NULL, e, "must not be empty");
}

static int take_session_id(const struct json *v, struct start_body *b, struct err *e)
{
	if (copy(v, START_BODY_MAX, &b->session_id, e) < 0)
		return -e->code;
	if (request_name_ok(b->session_id))
		return 0;
	return json_error(v, NULL, e,
			  "must be 1 to %u letters, digits, '.', '_' or '-', the first of them no "
			  "'-', and not look like a runtime_id",
			  REQUEST_NAME_MAX);
}

static int take_command(const struct json *v, struct start_body *b, struct err *e)
{
	return command_parse(v, &b->command, e);
}

static int take_working_dir(const struct json *v, struct start_body *b, struct err *e)
{
	if (copy(v, 4096, &b->working_dir, e) < 0)
		return -e->code;
	return b->working_dir[0] == '/' ? 0 : json_error(v, NULL, e, "must be an absolute path");
}

static int take_environment(const struct json *v, struct start_body *b, struct err *e)
{
	if (v->type != JSON_OBJECT)
		return json_error(v, NULL, e, "must be an object of strings");
	if (v->list.count > START_VARIABLES_MAX)
		return json_error(v, NULL, e, "has more than %d variables", START_VARIABLES_MAX);
	for (const struct json *m = v->list.first; m; m = m->next) {
		const char *text;
		char *pair;

		if (!*m->key || strchr(m->key, '='))
			return json_error(m, NULL, e, "is no name of a variable");
		if (text_of(m, START_BODY_MAX, &text, e) < 0)
			return -e->code;
		pair = str_fmt(e, "%s=%s", m->key, text);
		if (strv_take(&b->environment, pair, e) < 0)
			return -e->code;
	}
	return 0;
}

static int whole_number(const struct json *v, int64_t min, int64_t max, int64_t *out, struct err *e)
{
	if (v->type != JSON_INT || v->integer < min || v->integer > max)
		return json_error(v, NULL, e, "must be a whole number from %lld to %lld",
				  (long long)min, (long long)max);
	*out = v->integer;
	return 0;
}

static int take_factor(const struct json *v, struct start_body *b, struct err *e)
{
	int64_t factor = 0;

	if (whole_number(v, 1, START_FACTOR_MAX, &factor, e) < 0)
		return -e->code;
	b->factor = (uint64_t)factor;
	return 0;
}

static int take_user(const struct json *v, struct start_body *b, struct err *e)
{
	return whole_number(v, 0, UINT32_MAX - 1, &b->user, e);
}

static int take_group(const struct json *v, struct start_body *b, struct err *e)
{
	return whole_number(v, 0, UINT32_MAX - 1, &b->group, e);
}

/* null is as good as nothing, for every one of them. */
static const struct key keys[] = {
	{ "image", take_image },
	{ "session_id", take_session_id },
	{ "command", take_command },
	{ "working_dir", take_working_dir },
	{ "environment", take_environment },
	{ "resource_factor", take_factor },
	{ "run_as_user", take_user },
	{ "run_as_group", take_group },
};

static int take_keys(const struct json *root, struct start_body *b, struct err *e)
{
	if (root->type != JSON_OBJECT)
		return json_error(root, NULL, e, "must be an object");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct json *v = json_get(root, keys[i].name);

		if (v && v->type != JSON_NULL && keys[i].take(v, b, e) < 0)
			return -e->code;
	}
	if (!b->image)
		return json_error(root, NULL, e, "key 'image' is missing");
	return 0;
}

int start_body_parse(const char *text, size_t len, struct start_body *b, struct err *e)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	autojson struct json_doc *doc = NULL;

	*b = (struct start_body) { .factor = 1, .user = -1, .group = -1 };
	limits.bytes = START_BODY_MAX;
	if (json_parse(text, len, &limits, &doc, e) < 0)
		return -e->code;
	return take_keys(json_root(doc), b, e);
}

void start_body_clear(struct start_body *b)
{
	free(b->image);
	free(b->session_id);
	command_clear(&b->command);
	free(b->working_dir);
	strv_free(b->environment);
	*b = (struct start_body) { 0 };
}

/* --- as a digest ----------------------------------------------------------------------------- */

static void add_list(struct sha256 *s, char *const *list)
{
	for (; list && *list; list++)
		sha256_add_text(s, *list);
	sha256_add_text(s, NULL);
}

static void add_command(struct sha256 *s, const struct start_command *c)
{
	const int64_t numbers[] = { c->kind,	(int64_t)c->user_id, c->port,	 c->plugins,
				    c->browser, c->has_port,	     c->has_host };

	sha256_add_text(s, c->working_dir);
	sha256_add_text(s, c->username);
	add_list(s, c->browser_words);
	add_list(s, c->argv);
	sha256_add(s, numbers, sizeof(numbers));
}

void start_body_shape(const struct start_body *b, char out[SHA256_HEX_BYTES])
{
	const int64_t numbers[] = { (int64_t)b->factor, b->user, b->group };
	struct sha256 s;

	sha256_init(&s);
	sha256_add_text(&s, b->image);
	sha256_add_text(&s, b->working_dir);
	add_list(&s, b->environment);
	add_command(&s, &b->command);
	sha256_add(&s, numbers, sizeof(numbers));
	sha256_end_hex(&s, out);
}
