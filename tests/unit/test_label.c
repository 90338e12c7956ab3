/* SPDX-License-Identifier: MIT */
/* test_label.c - what a daemon writes of a session is what a later one reads. */
#include "api/label.h"

#include "unit.h"

#include "base/auto.h"

static char *words[] = { (char *)"python3", (char *)"-m", (char *)"a \"quoted\"\nword", NULL };

static void what_was_written_is_read(void **state)
{
	struct label l = { .template = (char *)"py",
			   .image = (char *)"reg/img:1",
			   .program = words,
			   .directory = (char *)"/workspace/project",
			   .program_key = (char *)"0123",
			   .shape = (char *)"aa",
			   .fresh = (char *)"bb",
			   .program_port = 60000 };
	struct label got;
	autobuf struct buf text = { 0 };
	struct err e = { 0 };

	(void)state;
	label_write(&l, &text);
	assert_ok(label_parse(buf_str(&text), &got, &e));
	assert_string_equal(got.template, "py");
	assert_string_equal(got.image, "reg/img:1");
	assert_string_equal(got.directory, "/workspace/project");
	assert_string_equal(got.program_key, "0123");
	assert_string_equal(got.shape, "aa");
	assert_string_equal(got.fresh, "bb");
	assert_int_equal(got.program_port, 60000);
	for (size_t i = 0; words[i]; i++)
		assert_string_equal(got.program[i], words[i]);
	assert_null(got.program[3]);
	label_clear(&got);
	assert_null(got.program_key);
}

static void nothing_is_the_label_of_nobody(void **state)
{
	static const char *const texts[] = { NULL, "{}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct label l = { .program_port = 7 };
		struct err e = { 0 };

		assert_ok(label_parse(texts[i], &l, &e));
		assert_null(l.template);
		assert_null(l.image);
		assert_null(l.program);
		assert_int_equal(l.program_port, 0);
		label_clear(&l);
	}
}

static void what_cannot_be_ours_is_refused_and_leaves_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"program\":[\"a\"],\"program_port\":65536}",
		"{\"image\":\"i\",\"program_port\":\"1\"}",
		"{\"image\":\"i\",\"program\":\"a\"}",
		"{\"image\":\"i\",\"more\":1}",
		"{\"image\":\"a\\u0000b\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct label l;
		struct err e = { 0 };

		assert_int_equal(label_parse(texts[i], &l, &e), -EINVAL);
		assert_true(strstr(e.text, "label") == e.text);
		assert_null(l.image);
		assert_null(l.program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(nothing_is_the_label_of_nobody),
		cmocka_unit_test(what_cannot_be_ours_is_refused_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
