/* SPDX-License-Identifier: MIT */
/* test_start_body.c - the body of a start, as each generation of clients sends it, and as none may. */
#include "api/start_body.h"

#include "unit.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "plan/strv.h"

static int parse(const char *text, struct start_body *b, struct err *e)
{
	return start_body_parse(text, strlen(text), b, e);
}

static void first_generation_is_understood(void **state)
{
	struct start_body b;
	struct err e = { 0 };

	(void)state;
	assert_ok(parse(
		"{\"image\":\"img\",\"command\":[\"python\",\"-m\","
		"\"openhands.runtime.action_execution_server\",\"60000\","
		"\"--username\",\"root\"],\"working_dir\":\"/openhands/code/\","
		"\"environment\":{\"K\":\"a=b c\",\"DEBUG\":\"true\"},\"session_id\":\"rt_1\","
		"\"resource_factor\":8,\"runtime_class\":\"sysbox-runc\"}",
		&b, &e));
	assert_string_equal(b.image, "img");
	assert_string_equal(b.session_id, "rt_1");
	assert_string_equal(b.working_dir, "/openhands/code/");
	assert_int_equal(b.command.kind, COMMAND_EXECUTOR);
	assert_string_equal(b.command.username, "root");
	assert_string_equal(strv_env_get(b.environment, "K"), "a=b c");
	assert_string_equal(strv_env_get(b.environment, "DEBUG"), "true");
	assert_int_equal(b.factor, 8);
	assert_int_equal(b.user, -1);
	start_body_clear(&b);
}

static void second_generation_is_understood(void **state)
{
	struct start_body b;
	struct err e = { 0 };

	(void)state;
	assert_ok(parse("{\"image\":\"i\",\"command\":\"/bin/agent --port 60001\","
			"\"working_dir\":\"/\",\"environment\":{},"
			"\"session_id\":\"agent-server-0a\",\"run_as_user\":10001,"
			"\"run_as_group\":0,\"fs_group\":10001,\"image_pull_policy\":\"Never\"}",
			&b, &e));
	assert_int_equal(b.command.kind, COMMAND_PROGRAM);
	assert_string_equal(b.command.argv[0], "/bin/agent");
	assert_int_equal(b.command.port, 60001);
	assert_int_equal(b.user, 10001);
	assert_int_equal(b.group, 0);
	assert_int_equal(b.factor, 1);
	assert_null(b.environment);
	start_body_clear(&b);
}

static void null_is_as_good_as_nothing(void **state)
{
	struct start_body b;
	struct err e = { 0 };

	(void)state;
	assert_ok(
		parse("{\"image\":\"i\",\"session_id\":null,\"command\":null,\"working_dir\":null,"
		      "\"environment\":null,\"resource_factor\":null,\"run_as_user\":null,"
		      "\"run_as_group\":null}",
		      &b, &e));
	assert_null(b.session_id);
	assert_null(b.working_dir);
	assert_null(b.environment);
	assert_int_equal(b.command.kind, COMMAND_NATIVE);
	assert_int_equal(b.factor, 1);
	assert_int_equal(b.user, -1);
	start_body_clear(&b);
}

/* One member beside a good image. */
static void wrong_member_is_named(const char *member, const char *name)
{
	autofree char *text = NULL;
	struct start_body b;
	struct err e = { 0 };

	text = str_fmt(&e, "{\"image\":\"i\",%s}", member);
	assert_non_null(text);
	if (parse(text, &b, &e) >= 0)
		fail_msg("%s is taken", member);
	assert_true(e.code == EINVAL || e.code == E2BIG);
	if (!strstr(e.text, name))
		fail_msg("'%s' does not name %s", e.text, name);
	start_body_clear(&b);
}

static void each_wrong_type_and_range_names_its_key(void **state)
{
	static const struct {
		const char *name, *values[10];
	} keys[] = {
		{ "session_id",
		  { "1", "true", "[]", "{}", "\"\"", "\"a/b\"", "\"-a\"", "\"..\"",
		    "\"a\\u0000\"" } },
		{ "command", { "1", "true", "{}", "[1]", "[null]", "\"a 'b\"", "[\"\"]" } },
		{ "working_dir", { "1", "[]", "\"\"", "\"tmp\"", "\"/a\\u0000b\"" } },
		{ "environment", { "1", "[]", "\"A=1\"", "[\"A=1\"]" } },
		{ "resource_factor", { "0", "-1", "65", "1.5", "\"1\"", "true", "1e9" } },
		{ "run_as_user", { "-1", "4294967295", "\"0\"", "0.5", "[]" } },
		{ "run_as_group", { "-2", "4294967295", "true" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (size_t n = 0; keys[i].values[n]; n++) {
			struct err e = { 0 };
			autofree char *member =
				str_fmt(&e, "\"%s\":%s", keys[i].name, keys[i].values[n]);

			assert_non_null(member);
			wrong_member_is_named(member, keys[i].name);
		}
	wrong_member_is_named("\"environment\":{\"A\":1}", "'A'");
	wrong_member_is_named("\"environment\":{\"A=B\":\"\"}", "'A=B'");
	wrong_member_is_named("\"environment\":{\"A\":\"x\\u0000\"}", "'A'");
}

static void what_is_no_start_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"null",
		"[]",
		"\"x\"",
		"{}",
		"{\"image\":1}",
		"{\"image\":null}",
		"{\"image\":\"\"}",
		"{\"a",
		"{\"image\":\"i\"} x",
		"{\"image\":\"i\",\"image\":\"j\"}",
		"{\"image\":\"a\\u0000b\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct start_body b;
		struct err e = { 0 };

		if (parse(texts[i], &b, &e) != -EINVAL)
			fail_msg("%s is taken", texts[i]);
		start_body_clear(&b);
	}
}

static void more_than_the_limits_is_refused(void **state)
{
	autobuf struct buf many = { 0 }, image = { 0 };
	struct start_body b;
	struct err e = { 0 };

	(void)state;
	buf_puts(&many, "{\"image\":\"i\",\"environment\":{");
	for (int i = 0; i <= START_VARIABLES_MAX; i++)
		buf_printf(&many, "%s\"A%d\":\"\"", i ? "," : "", i);
	buf_puts(&many, "}}");
	assert_int_equal(parse(buf_str(&many), &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 1024 variables"));
	start_body_clear(&b);
	buf_printf(&image, "{\"image\":\"%0*d\"}", START_IMAGE_MAX + 1, 0);
	assert_int_equal(parse(buf_str(&image), &b, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer than 512 bytes"));
	start_body_clear(&b);
}

static void shape(const char *text, char out[SHA256_HEX_BYTES])
{
	struct start_body b;
	struct err e = { 0 };

	if (parse(text, &b, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	start_body_shape(&b, out);
	start_body_clear(&b);
}

static void shape_is_all_but_the_name(void **state)
{
	static const char *const others[] = {
		"{\"image\":\"j\"}",
		"{\"image\":\"i\",\"working_dir\":\"/w\"}",
		"{\"image\":\"i\",\"environment\":{\"A\":\"\"}}",
		"{\"image\":\"i\",\"environment\":{\"A\":\"1\"}}",
		"{\"image\":\"i\",\"environment\":{\"A\":\"1\",\"B\":\"2\"}}",
		"{\"image\":\"i\",\"environment\":{\"A\":\"1B=2\"}}",
		"{\"image\":\"i\",\"resource_factor\":2}",
		"{\"image\":\"i\",\"run_as_user\":0}",
		"{\"image\":\"i\",\"run_as_group\":0}",
		"{\"image\":\"i\",\"command\":\"a b\"}",
		"{\"image\":\"i\",\"command\":[\"a b\"]}",
		"{\"image\":\"i\",\"command\":[\"a\",\"b\",\"\"]}",
		"{\"image\":\"i\",\"command\":[\"a\",\"b\",\"--port\",\"9\"]}",
	};
	char seen[ARRAY_LEN(others) + 1][SHA256_HEX_BYTES], again[SHA256_HEX_BYTES];

	(void)state;
	shape("{\"image\":\"i\"}", seen[0]);
	shape("{\"session_id\":\"s\", \"image\":\"i\", \"command\":null}", again);
	assert_string_equal(seen[0], again);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		shape(others[i], seen[i + 1]);
		for (size_t j = 0; j <= i; j++)
			if (str_eq(seen[j], seen[i + 1]))
				fail_msg("the same shape: %s", others[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_generation_is_understood),
		cmocka_unit_test(second_generation_is_understood),
		cmocka_unit_test(null_is_as_good_as_nothing),
		cmocka_unit_test(each_wrong_type_and_range_names_its_key),
		cmocka_unit_test(what_is_no_start_is_refused),
		cmocka_unit_test(more_than_the_limits_is_refused),
		cmocka_unit_test(shape_is_all_but_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
