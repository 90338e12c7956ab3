/* SPDX-License-Identifier: MIT */
/* docs/openapi.json against what the daemon answers, both ways. */
#include <ctype.h>

#include "api/native.h"
#include "api/runtime.h"
#include "api/server.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "http/conn.h"

#include "unit.h"

static int load(void **state)
{
	autofree char *path = NULL;
	autobuf struct buf text = { 0 };
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	autoclose int fd = -1;

	assert_true(asprintf(&path, "%s/docs/openapi.json", getenv("OHS_SRCDIR")) > 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(io_read_all(fd, 1 << 20, &text, &e));
	assert_ok(json_parse(buf_str(&text), text.len, &JSON_LIMITS_DEFAULT, &doc, &e));
	*state = doc;
	return 0;
}

static int unload(void **state)
{
	json_free(*state);
	return 0;
}

/* The value that a reference such as "#/components/schemas/Error" leads to, or NULL. */
static const struct json *at(const struct json *root, const char *reference)
{
	autofree char *copy = strdup(reference);
	char *rest = copy, *name = strsep(&rest, "/");

	if (!str_eq(name, "#"))
		return NULL;
	while (root && (name = strsep(&rest, "/")))
		root = root->type == JSON_OBJECT ? json_get(root, name) : NULL;
	return root;
}

/* --- routes ---------------------------------------------------------------------------------- */

static bool is_of(const struct route *r, const char *path, const char *method)
{
	autobuf struct buf text = { 0 };

	for (const char *c = r->path; *c; c++)
		buf_puts(&text, *c == '*' ? "{id}" : (char[]) { *c, '\0' });
	return str_eq(buf_str(&text), path) && strcasecmp(r->method, method) == 0;
}

static const struct json *operation_of(const struct json *paths, const struct route *r)
{
	for (const struct json *path = paths->list.first; path; path = path->next)
		for (const struct json *op = path->list.first; op; op = op->next)
			if (is_of(r, path->key, op->key))
				return op;
	return NULL;
}

static void every_route_is_described(void **state)
{
	const struct json *paths = at(json_root(*state), "#/paths");

	assert_non_null(paths);
	for (size_t i = 0; i < api_routes_count; i++) {
		const struct route *r = &api_routes[i];
		const struct json *op = operation_of(paths, r), *security;

		if (!op)
			fail_msg("%s %s is not described", r->method, r->path);
		security = json_get(op, "security");
		if (r->open != (security && security->list.count == 0))
			fail_msg("%s %s: whether it wants the key", r->method, r->path);
		if (!json_get(op, "requestBody") != !r->body_max)
			fail_msg("%s %s: whether it takes a body", r->method, r->path);
	}
}

static void nothing_is_described_that_is_not_answered(void **state)
{
	const struct json *paths = at(json_root(*state), "#/paths");

	for (const struct json *path = paths->list.first; path; path = path->next)
		for (const struct json *op = path->list.first; op; op = op->next) {
			size_t i = 0;

			while (i < api_routes_count && !is_of(&api_routes[i], path->key, op->key))
				i++;
			if (i == api_routes_count)
				fail_msg("%s %s is answered by nobody", op->key, path->key);
		}
}

static void look_at_references(const struct json *root, const struct json *v)
{
	if (v->key && str_eq(v->key, "$ref") && !at(root, v->string.bytes))
		fail_msg("line %u: '%s' leads nowhere", v->line, v->string.bytes);
	if (v->type == JSON_OBJECT || v->type == JSON_ARRAY)
		for (const struct json *m = v->list.first; m; m = m->next)
			look_at_references(root, m);
}

static void every_reference_leads_somewhere(void **state)
{
	look_at_references(json_root(*state), json_root(*state));
}

/* --- objects --------------------------------------------------------------------------------- */

static bool is_type(const struct json *schema, const char *name)
{
	const struct json *type = json_get(schema, "type");

	if (!type)
		return json_get(schema, "enum") && str_eq(name, "string");
	if (type->type == JSON_STRING)
		return str_eq(type->string.bytes, name);
	for (const struct json *one = type->list.first; one; one = one->next)
		if (str_eq(one->string.bytes, name))
			return true;
	return false;
}

static bool is_among(const struct json *list, const struct json *text)
{
	for (const struct json *one = list->list.first; one; one = one->next)
		if (str_eq(one->string.bytes, text->string.bytes))
			return true;
	return false;
}

static void compare(const struct json *schema, const struct json *shown)
{
	static const char *const types[] = {
		[JSON_NULL] = "null",	  [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
		[JSON_REAL] = "number",	  [JSON_STRING] = "string", [JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};
	const struct json *properties = json_get(schema, "properties");

	for (const struct json *m = shown->list.first; m; m = m->next) {
		const struct json *told = json_get(properties, m->key), *values;

		if (!told)
			fail_msg("'%s' is not described", m->key);
		if (!is_type(told, types[m->type]))
			fail_msg("'%s' is told to be no %s", m->key, types[m->type]);
		values = json_get(told, "enum");
		if (values && !is_among(values, m))
			fail_msg("'%s' may not be '%s'", m->key, m->string.bytes);
	}
	for (const struct json *p = properties->list.first; p; p = p->next)
		if (!json_get(shown, p->key))
			fail_msg("'%s' is described, and not there", p->key);
}

static void compare_all(const struct json *schema,
			void (*show)(struct json_out *, const char *, const struct runtime *))
{
	struct server s = { 0 };
	struct runtime r = { .server = &s, .name = (char *)"name", .n_ports = 1 };
	struct err e = { 0 };

	assert_non_null(schema);
	assert_ok(config_new(&s.config, &e));
	/* Once with nothing but a name, then with all there is. */
	for (int state = 0; state < 2 * RUNTIME_STATES; state++) {
		autobuf struct buf text = { 0 };
		struct json_out o = { .buf = &text };
		autojson struct json_doc *doc = NULL;

		r.state = (enum runtime_state)(state % RUNTIME_STATES);
		show(&o, NULL, &r);
		assert_ok(json_parse(buf_str(&text), text.len, &JSON_LIMITS_DEFAULT, &doc, &e));
		compare(schema, json_root(doc));
		(void)strcpy(r.id, "0123456789ab");
		r.template = r.created = r.detail = r.logs = r.program_key = (char *)"text";
		r.port = r.url_port = r.ports[0].host = 40000;
	}
	config_free(s.config);
}

static void the_runtime_object_is_as_described(void **state)
{
	compare_all(at(json_root(*state), "#/components/schemas/Runtime"), runtime_json);
}

static void the_native_session_is_as_described(void **state)
{
	compare_all(at(json_root(*state), "#/components/schemas/Session"), native_json);
}

/* --- URLs ------------------------------------------------------------------------------------ */

static void assert_url(const struct runtime *r, uint16_t port, const char *text)
{
	autobuf struct buf url = { 0 };

	runtime_url(r, port, &url);
	assert_string_equal(buf_str(&url), text);
}

static void urls_are_of_the_operators_pattern(void **state)
{
	struct server s = { 0 };
	struct runtime r = { .server = &s, .id = "0123456789ab", .url_port = 4000 };
	struct err e = { 0 };

	(void)state;
	assert_ok(config_new(&s.config, &e));
	assert_url(&r, 4001, "http://localhost:4001");
	s.config->url = strdup("https://{port}-{runtime_id}.example");
	assert_url(&r, 4000, "https://4000-0123456789ab.example");
	assert_url(&r, 4001, "https://4001-0123456789ab.example");
	free(s.config->url);
	s.config->url = strdup("https://{host}/{runtime_id}");
	assert_url(&r, 4000, "https://localhost/0123456789ab");
	assert_url(&r, 4001, "http://localhost:4001"); /* no id tells two ports apart */
	config_free(s.config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_route_is_described),
		cmocka_unit_test(nothing_is_described_that_is_not_answered),
		cmocka_unit_test(every_reference_leads_somewhere),
		cmocka_unit_test(the_runtime_object_is_as_described),
		cmocka_unit_test(the_native_session_is_as_described),
		cmocka_unit_test(urls_are_of_the_operators_pattern),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
