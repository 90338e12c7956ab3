/* SPDX-License-Identifier: MIT */
#include "base/json_out.h"

#include <math.h>

#include "base/json.h"
#include "unit.h"

static void write_sample(struct json_out *o)
{
	jo_object(o, NULL);
	jo_string(o, "s", "a\"b\\c\n\x01\x7f");
	jo_string(o, "none", NULL);
	jo_int(o, "i", INT64_MIN);
	jo_u64(o, "u", UINT64_MAX);
	jo_bool(o, "t", true);
	jo_array(o, "list");
	jo_null(o, NULL);
	jo_object(o, NULL);
	jo_end_object(o);
	jo_array(o, NULL);
	jo_end_array(o);
	jo_end_array(o);
	jo_object(o, "inner");
	jo_bool(o, "f", false);
	jo_end_object(o);
	jo_end_object(o);
}

static void commas_and_escapes_are_right(void **state)
{
	autobuf struct buf b = { 0 };
	struct json_out o = { .buf = &b };

	(void)state;
	write_sample(&o);
	assert_string_equal(buf_str(&b),
			    "{\"s\":\"a\\\"b\\\\c\\n\\u0001\\u007f\",\"none\":null,"
			    "\"i\":-9223372036854775808,\"u\":18446744073709551615,\"t\":true,"
			    "\"list\":[null,{},[]],\"inner\":{\"f\":false}}");
}

static void the_pretty_form_has_one_value_a_line(void **state)
{
	autobuf struct buf b = { 0 };
	struct json_out o = { .buf = &b, .pretty = true };

	(void)state;
	jo_object(&o, NULL);
	jo_array(&o, "a");
	jo_int(&o, NULL, 1);
	jo_int(&o, NULL, 2);
	jo_end_array(&o);
	jo_array(&o, "e");
	jo_end_array(&o);
	jo_end_object(&o);
	assert_string_equal(buf_str(&b), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": []\n}");
}

static void foreign_bytes_become_valid_text(void **state)
{
	autobuf struct buf b = { 0 };
	struct json_out o = { .buf = &b };

	(void)state;
	jo_string_n(&o, NULL, "a\xff\xe2\x82 \xc3\xa4\xc2\x9b\0z", 11);
	assert_string_equal(buf_str(&b),
			    "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xc3\xa4\\u009b\\u0000z\"");
}

static void reals_have_their_shortest_form(void **state)
{
	static const struct {
		double value;
		const char *text;
	} reals[] = { { 0.1, "0.1" },
		      { 1.5, "1.5" },
		      { 1e300, "1e+300" },
		      { -2, "-2" },
		      { NAN, "null" },
		      { INFINITY, "null" },
		      { 1.0 / 3, "0.3333333333333333" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reals); i++) {
		autobuf struct buf b = { 0 };
		struct json_out o = { .buf = &b };

		jo_real(&o, NULL, reals[i].value);
		assert_string_equal(buf_str(&b), reals[i].text);
	}
}

static void what_is_written_is_read_again(void **state)
{
	autojson struct json_doc *doc = NULL;
	autobuf struct buf b = { 0 };
	struct json_out o = { .buf = &b, .pretty = true };
	struct err e = { 0 };

	(void)state;
	write_sample(&o);
	assert_ok(json_parse(b.data, b.len, &JSON_LIMITS_DEFAULT, &doc, &e));
	assert_string_equal(json_get(json_root(doc), "s")->string.bytes, "a\"b\\c\n\x01\x7f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_escapes_are_right),
		cmocka_unit_test(the_pretty_form_has_one_value_a_line),
		cmocka_unit_test(foreign_bytes_become_valid_text),
		cmocka_unit_test(reals_have_their_shortest_form),
		cmocka_unit_test(what_is_written_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
