/* SPDX-License-Identifier: MIT */
/* test_config.c - the operator's file: every key, its defaults, and what is wrong by key and line. */
#include "api/config.h"

#include "unit.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/strv.h"

static struct config *good(const char *text)
{
	struct config *c = NULL;
	struct err e = { 0 };

	assert_ok(config_parse(text, strlen(text), "serve.json", &c, &e));
	return c;
}

static void empty_file_is_all_defaults(void **state)
{
	struct config *c = good("{}"), *none = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(config_new(&none, &e));
	assert_string_equal(c->listen[0], none->listen[0]);
	assert_string_equal(c->advertise, "localhost");
	assert_int_equal(c->pause_to_disk_ms, none->pause_to_disk_ms);
	assert_int_equal(c->drain_ms, none->drain_ms);
	assert_int_equal(c->max_sessions, none->max_sessions);
	assert_null(c->templates);
	assert_null(c->repositories);
	assert_false(c->only_templates);
	assert_false(config_allows(c, "/"));
	assert_null(config_template(c, "any"));
	config_free(none);
	config_free(c);
}

static void every_key_is_taken(void **state)
{
	struct config *c = good(
		"{\"listen\": [\"127.0.0.1:1\", \"[::1]:2\"], \"socket\": \"/run/s\", \"key_file\": \"/k\","
		"\"hosts\": [\"a:80\"], \"advertise\": \"h\", \"url\": \"https://{host}/{runtime_id}\","
		"\"repositories\": [\"/src\"], \"only_templates\": true,"
		"\"pause_to_disk_after\": \"2m\", \"drain_timeout\": 5, \"max_sessions\": 7,"
		"\"log\": \"json\", \"templates\": [{\"name\": \"t\", \"image\": \"py:*\","
		"\"rootfs\": \"/r\", \"repo\": \"/p\", \"rev\": \"main\", \"policy\": \"strict\","
		"\"user\": \"root\", \"working_dir\": \"/w\", \"environment\": {\"A\": \"1\"},"
		"\"command\": [\"x\"], \"limits\": {\"memory\": \"1G\", \"swap\": 0, \"cpus\": 1.5,"
		"\"pids\": 9}, \"net\": \"nat\", \"warm\": 3, \"idle_timeout\": \"1s\","
		"\"lifetime\": \"1h\", \"reclaim\": \"stop\"}]}");
	const struct session_template *t = &c->templates[0];

	(void)state;
	assert_string_equal(c->listen[1], "[::1]:2");
	assert_int_equal(strv_len(c->listen), 2);
	assert_string_equal(c->url, "https://{host}/{runtime_id}");
	assert_int_equal(c->pause_to_disk_ms, 120000);
	assert_int_equal(c->drain_ms, 5000);
	assert_int_equal(c->max_sessions, 7);
	assert_true(c->only_templates && c->log_json);
	assert_int_equal(t->limits.memory_bytes, 1 << 30);
	assert_int_equal(t->limits.swap_bytes, 0);
	assert_int_equal(t->limits.cpu_milli, 1500);
	assert_int_equal(t->limits.pids, 9);
	assert_int_equal(t->net, NET_NAT);
	assert_int_equal(t->warm, 3);
	assert_int_equal(t->idle_ms, 1000);
	assert_int_equal(t->lifetime_ms, 3600000);
	assert_true(t->reclaim_stops);
	assert_string_equal(t->environment[0], "A=1");
	config_free(c);
}

static void first_pattern_that_fits_is_the_template(void **state)
{
	struct config *c = good("{\"templates\": [{\"name\": \"a\", \"image\": \"x[12]\"},"
				"{\"name\": \"b\", \"image\": \"x?\"}, {\"name\": \"c\","
				"\"image\": \"reg/*\"}]}");

	(void)state;
	assert_string_equal(config_template(c, "x1")->name, "a");
	assert_string_equal(config_template(c, "x3")->name, "b");
	assert_string_equal(config_template(c, "reg/a/b:1")->name, "c");
	assert_null(config_template(c, "x"));
	assert_null(config_template(c, ""));
	assert_int_equal(config_template(c, "x1")->net, -1);
	config_free(c);
}

#define A_TEMPLATE "\"name\": \"t\", \"image\": \"i\""

static void what_is_wrong_is_told_by_key_and_line(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "{\n\"lisen\": []}", "line 2: unknown key 'lisen'" },
		{ "{\n\n\"max_sessions\": 0}", "line 3: 'max_sessions'" },
		{ "{\"max_sessions\": 4001}", "'max_sessions'" },
		{ "{\"max_sessions\": \"7\"}", "'max_sessions'" },
		{ "{\"listen\": \"a:1\"}", "'listen'" },
		{ "{\"listen\": [1]}", "'listen'" },
		{ "{\"listen\": [\"a\",\"b\",\"c\",\"d\"]}", "at most 3 addresses" },
		{ "{\"key_file\": \"k\"}", "must be an absolute path" },
		{ "{\"socket\": \"k\"}", "must be an absolute path" },
		{ "{\"repositories\": [\"src\"]}", "must be an absolute path" },
		{ "{\"repositories\": {}}", "must be an array" },
		{ "{\"url\": \"http://h/\"}", "'url'" },
		{ "{\"url\": \"ftp://{port}\"}", "'url'" },
		{ "{\"url\": \"http://one-for-all\"}", "'url'" },
		{ "{\"log\": \"xml\"}", "'log'" },
		{ "{\"log\": true}", "'log'" },
		{ "{\"drain_timeout\": -1}", "'drain_timeout'" },
		{ "{\"drain_timeout\": \"soon\"}", "'drain_timeout'" },
		{ "{\"templates\": {}}", "'templates'" },
		{ "{\"templates\": [1]}", "object" },
		{ "{\"templates\": [{\"name\": \"a\"}]}", "'image'" },
		{ "{\"templates\": [{" A_TEMPLATE "},\n{" A_TEMPLATE "}]}",
		  "line 2: the name 't'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"dir\": \"/d\", \"repo\": \"/r\"}]}",
		  "'repo' and 'dir' exclude each other" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"dir\": \"/d\", \"warm\": 1}]}",
		  "'warm' does not go with 'dir'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"rev\": \"x\"}]}", "'rev' wants a 'repo'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"warm\": 257}]}", "'warm'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"net\": \"host\"}]}", "'net'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"reclaim\": \"kill\"}]}", "'reclaim'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"limits\": {\"memroy\": 1}}]}", "'memroy'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"limits\": {\"pids\": 0}}]}", "'pids'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"limits\": {\"cpus\": -0.5}}]}", "'cpus'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"environment\": {\"A=\": \"\"}}]}", "'A='" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"environment\": {\"A\": 1}}]}", "'A'" },
		{ "{\"templates\": [{" A_TEMPLATE ", \"rootfs\": \"x\\u0000\"}]}", "'rootfs'" },
		{ "[]", "object" },
		{ "", "serve.json" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c = NULL;
		struct err e = { 0 };

		if (config_parse(cases[i].text, strlen(cases[i].text), "serve.json", &c, &e) >= 0)
			fail_msg("%s is taken", cases[i].text);
		assert_null(c);
		if (!strstr(e.text, cases[i].part) || strncmp(e.text, "serve.json", 10) != 0)
			fail_msg("%s: '%s' does not say '%s'", cases[i].text, e.text,
				 cases[i].part);
	}
}

static void what_is_below_a_repository_directory_is_allowed(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	autofree char *text =
		str_fmt(&e, "{\"repositories\": [\"%s/link\", \"/nowhere\"]}", s->path);
	autofree char *real = str_fmt(&e, "%s/src", s->path);
	autofree char *below = str_fmt(&e, "%s/src/a/b", s->path);
	autofree char *beside = str_fmt(&e, "%s/src2", s->path);
	struct config *c = good(text);

	assert_int_equal(mkdirat(s->dir, "src", 0755), 0);
	assert_int_equal(symlinkat("src", s->dir, "link"), 0);
	assert_true(config_allows(c, real));
	assert_true(config_allows(c, below));
	assert_false(config_allows(c, beside));
	assert_false(config_allows(c, s->path));
	assert_false(config_allows(c, "/nowhere"));
	config_free(c);
}

static void verify_names_what_is_not_there(void **state)
{
	static const char *const texts[] = {
		"{\"repositories\": [\"/nowhere/x\"]}",
		"{\"templates\": [{" A_TEMPLATE ", \"rootfs\": \"/nowhere/x\"}]}",
		"{\"templates\": [{" A_TEMPLATE ", \"dir\": \"/dev/null\"}]}",
		"{\"templates\": [{" A_TEMPLATE ", \"policy\": \"/nowhere/x\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct config *c = good(texts[i]);
		struct err e = { 0 };

		assert_true(config_verify(c, &e) < 0);
		if (!strstr(e.text, "/nowhere/x") && !strstr(e.text, "/dev/null"))
			fail_msg("'%s'", e.text);
		config_free(c);
	}
}

static void file_that_is_none_is_named(void **state)
{
	const struct scratch *s = *state;
	struct config *c = NULL;
	struct err e = { 0 };
	autofree char *path = str_fmt(&e, "%s/serve.json", s->path);
	autofree char *words = str_fmt(&e, "open '%s': No such file or directory", path);

	assert_refused(config_load(path, &c, &e), ENOENT, words);
	assert_null(c);
	assert_true(config_load(s->path, &c, &e) < 0);
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_file_is_all_defaults),
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(first_pattern_that_fits_is_the_template),
		cmocka_unit_test(what_is_wrong_is_told_by_key_and_line),
		scratch_test(what_is_below_a_repository_directory_is_allowed),
		cmocka_unit_test(verify_names_what_is_not_there),
		scratch_test(file_that_is_none_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
