/* SPDX-License-Identifier: MIT */
#include "cli/env_file.h"

#include <string.h>

#include "base/str.h"
#include "plan/strv.h"
#include "unit.h"

static const char *callers(const char *name)
{
	return str_eq(name, "TOKEN") ? "s3cret=x" : NULL;
}

static int parse(const char *text, char ***env, struct err *e)
{
	return env_file_parse(text, strlen(text), "vars", callers, env, e);
}

static void values_are_taken_as_they_stand(void **state)
{
	autostrv char **env = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(parse(
		"# comment\n\nA=1\nB= two words \nC=\"quoted\" $HOME\nD=\nE=x=y\r\nTOKEN\nLAST=end",
		&env, &e));
	assert_int_equal(strv_len(env), 7);
	assert_string_equal(env[0], "A=1");
	assert_string_equal(env[1], "B= two words ");
	assert_string_equal(env[2], "C=\"quoted\" $HOME");
	assert_string_equal(env[3], "D=");
	assert_string_equal(env[4], "E=x=y");
	assert_string_equal(env[5], "TOKEN=s3cret=x");
	assert_string_equal(env[6], "LAST=end");
}

static void a_later_value_replaces_an_earlier_one(void **state)
{
	autostrv char **env = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(parse("A=1\nAB=2\nA=3\n", &env, &e));
	assert_ok(env_add("AB=4", callers, &env, &e));
	assert_int_equal(strv_len(env), 2);
	assert_string_equal(env[0], "A=3");
	assert_string_equal(env[1], "AB=4");
}

static void an_error_names_file_and_line_and_no_value(void **state)
{
	autostrv char **env = NULL;
	struct err e = { 0 };

	(void)state;
	assert_refused(parse("A=1\n\n9LIVES=hush\n", &env, &e), EINVAL,
		       "vars: line 3: '9LIVES' is no name of a variable");
	assert_refused(parse("=hush\n", &env, &e), EINVAL,
		       "vars: line 1: '' is no name of a variable");
	assert_refused(parse("export A=hush\n", &env, &e), EINVAL,
		       "vars: line 1: 'export A' is no name of a variable");
	assert_refused(parse("MISSING\n", &env, &e), ENOENT,
		       "vars: line 1: 'MISSING' is not set in your environment");
	assert_refused(env_file_parse("A=\0b", 4, "vars", callers, &env, &e), EINVAL,
		       "vars: holds a NUL byte");
}

static void nothing_is_a_file_too(void **state)
{
	autostrv char **env = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(env_file_parse(NULL, 0, "vars", callers, &env, &e));
	assert_null(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_taken_as_they_stand),
		cmocka_unit_test(a_later_value_replaces_an_earlier_one),
		cmocka_unit_test(an_error_names_file_and_line_and_no_value),
		cmocka_unit_test(nothing_is_a_file_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
