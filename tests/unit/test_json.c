/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "unit.h"

static struct json_doc *parse(const char *text)
{
	struct json_doc *doc = NULL;
	struct err e = { 0 };

	assert_ok(json_parse(text, strlen(text), &JSON_LIMITS_DEFAULT, &doc, &e));
	assert_non_null(json_root(doc));
	return doc;
}

static void assert_error(const char *text, size_t len, int code, const char *words)
{
	struct json_doc *doc = NULL;
	struct err e = { 0 };

	assert_int_equal(json_parse(text, len, &JSON_LIMITS_DEFAULT, &doc, &e), -code);
	assert_string_equal(e.text, words);
	assert_null(doc);
}

static void every_type_has_its_place_and_line(void **state)
{
	autojson struct json_doc *doc =
		parse("{\n \"s\": \"t\\u00e4\",\n \"i\": -5,\n\n \"r\": 1.5e3,\n"
		      " \"b\": true, \"n\": null,\n \"a\": [1,\n  [] ],\n \"o\": {}}");
	const struct json *root = json_root(doc), *a = json_get(root, "a");

	(void)state;
	assert_int_equal(root->type, JSON_OBJECT);
	assert_int_equal(root->list.count, 7);
	assert_string_equal(json_get(root, "s")->string.bytes, "t\xc3\xa4");
	assert_int_equal(json_get(root, "s")->string.len, 3);
	assert_int_equal(json_get(root, "i")->integer, -5);
	assert_int_equal(json_get(root, "i")->line, 3);
	assert_true(json_get(root, "r")->real == 1500.0);
	assert_int_equal(json_get(root, "r")->line, 5);
	assert_true(json_get(root, "b")->boolean);
	assert_int_equal(json_get(root, "n")->type, JSON_NULL);
	assert_int_equal(a->list.count, 2);
	assert_int_equal(a->list.first->next->line, 8);
	assert_null(a->list.first->key);
	assert_null(a->next->list.first);
	assert_null(json_get(root, "none"));
	assert_null(json_get(a, "s"));
}

static void errors_name_the_line(void **state)
{
	(void)state;
#define BAD(text, words) assert_error(text, sizeof(text) - 1, EINVAL, words)
	BAD("", "line 1: parse error: premature EOF");
	BAD("  \n ", "line 2: parse error: premature EOF");
	BAD("{\n\"a\": 1,\n}", "line 3: parse error: invalid object key (must be a string)");
	BAD("[1]\n[2]", "line 2: parse error: trailing garbage");
	BAD("{\"a\": 1,\n \"b\": 2,\n\n \"a\": 3}", "line 4: key 'a' stands there twice");
	BAD("\n\"\xff\"", "line 2: not UTF-8");
	BAD("\"\xed\xa0\x80\"", "line 1: not UTF-8");
	BAD("[\n\"\\ud800x\"]", "line 2: half of a surrogate pair");
	BAD("[\"\\udc00\"]", "line 1: half of a surrogate pair");
	BAD("[\"\\ud800\\ud800\"]", "line 1: half of a surrogate pair");
	BAD("[\"\\uD83D\"]", "line 1: half of a surrogate pair");
	BAD("{\"a\\u0000b\": 1}", "line 1: a key holds a NUL");
	BAD("/* no */ 1",
	    "line 1: lexical error: probable comment found in input text, comments are not enabled.");
	BAD("[NaN]", "line 1: lexical error: invalid char in json text.");
	BAD("[01]", "line 1: parse error: after array element, I expect ',' or ']'");
	assert_error("[1e999]", 7, ERANGE, "line 1: '1e999' is too large");
	assert_error("[1]\0", 4, EINVAL, "line 1: parse error: trailing garbage");
#undef BAD
}

static void pairs_and_escapes_are_decoded(void **state)
{
	autojson struct json_doc *doc = parse("[\"\\uD83d\\ude00\", \"\\\\ud800\", \"a\\u0000b\"]");
	const struct json *v = json_root(doc)->list.first;

	(void)state;
	assert_string_equal(v->string.bytes, "\xf0\x9f\x98\x80");
	assert_string_equal(v->next->string.bytes, "\\ud800");
	assert_int_equal(v->next->next->string.len, 3);
	assert_memory_equal(v->next->next->string.bytes, "a\0b", 4);
}

static void whole_numbers_are_exact_up_to_64_bits(void **state)
{
	autojson struct json_doc *top = parse("\n\n12");
	autojson struct json_doc *doc =
		parse("[9223372036854775807, -9223372036854775808, 9223372036854775808]");
	const struct json *v = json_root(doc)->list.first;

	(void)state;
	assert_int_equal(json_root(top)->integer, 12);
	assert_int_equal(json_root(top)->line, 3);
	assert_true(v->integer == INT64_MAX);
	assert_true(v->next->integer == INT64_MIN);
	assert_int_equal(v->next->next->type, JSON_REAL);
}

static void limits_hold(void **state)
{
	const struct json_limits limits = { .bytes = 100, .depth = 3, .values = 5 };
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	char text[200];

	(void)state;
	memset(text, ' ', sizeof(text));
	assert_refused(json_parse(text, 101, &limits, &doc, &e), EFBIG, "larger than 100 bytes");
	assert_refused(json_parse("[[[[]]]]", 8, &limits, &doc, &e), EFBIG,
		       "line 1: nested deeper than 3");
	assert_refused(json_parse("[1,2,3,4,\n5]", 12, &limits, &doc, &e), EFBIG,
		       "line 2: more than 5 values");
	assert_ok(json_parse("[[[1]],2]", 9, &limits, &doc, &e));
	json_free(doc);
}

static void endless_nesting_overflows_nothing(void **state)
{
	const struct json_limits limits = { .bytes = 1 << 20, .depth = 400000, .values = 400001 };
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	size_t half = 400000;
	char *text = malloc(2 * half);

	(void)state;
	memset(text, '[', half);
	memset(text + half, ']', half);
	assert_ok(json_parse(text, 2 * half, &limits, &doc, &e));
	json_free(doc);
	free(text);
}

static void many_keys_are_compared_in_time(void **state)
{
	struct json_doc *doc = NULL;
	struct err e = { 0 };
	char *text = malloc(1 << 20), *p = text;

	(void)state;
	*p++ = '{';
	for (int i = 0; i < 19000; i++)
		p += sprintf(p, "\"key%d\":%d,\n", i, i);
	p += sprintf(p, "\"key7\":0}");
	assert_refused(json_parse(text, (size_t)(p - text), &JSON_LIMITS_DEFAULT, &doc, &e), EINVAL,
		       "line 19001: key 'key7' stands there twice");
	free(text);
}

/* ---- tables ------------------------------------------------------------------------------ */

struct thing {
	char *name;
	bool on;
	uint64_t count;
	char **words;
	int custom;
};

static int parse_custom(const struct json *value, void *record, struct err *e)
{
	struct thing *t = record;

	if (value->type != JSON_INT)
		return json_error(value, "thing", e, "custom is a number");
	t->custom = (int)value->integer;
	return 0;
}

static const struct field table[] = {
	{ .key = "name",
	  .kind = FIELD_STRING,
	  .offset = offsetof(struct thing, name),
	  .required = true },
	{ .key = "on", .kind = FIELD_BOOL, .offset = offsetof(struct thing, on) },
	{ .key = "count",
	  .kind = FIELD_U64,
	  .offset = offsetof(struct thing, count),
	  .min = 1,
	  .max = 10 },
	{ .key = "words", .kind = FIELD_STRINGS, .offset = offsetof(struct thing, words) },
	{ .key = "custom", .kind = FIELD_CUSTOM, .parse = parse_custom },
};

static void thing_clear(struct thing *t)
{
	for (char **w = t->words; w && *w; w++)
		free(*w);
	free(t->words);
	free(t->name);
}

static int fill(const char *text, struct thing *t, struct err *e)
{
	autojson struct json_doc *doc = parse(text);

	return json_fields(json_root(doc), table, ARRAY_LEN(table), t, "thing", e);
}

static void a_table_fills_a_struct_and_replaces_what_was_there(void **state)
{
	struct thing t = { .name = strdup("old"), .count = 3 };
	struct err e = { 0 };

	(void)state;
	assert_ok(
		fill("{\"name\":\"n\",\"on\":true,\"words\":[\"a\",\"b\"],\"custom\":4}", &t, &e));
	assert_string_equal(t.name, "n");
	assert_true(t.on);
	assert_int_equal(t.count, 3);
	assert_string_equal(t.words[1], "b");
	assert_null(t.words[2]);
	assert_int_equal(t.custom, 4);
	assert_ok(fill("{\"name\":\"m\",\"words\":[],\"count\":10}", &t, &e));
	assert_null(t.words[0]);
	assert_int_equal(t.count, 10);
	thing_clear(&t);
}

static void a_wrong_field_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "[]", "thing: line 1: must be an object" },
		{ "{\n\"on\":true}", "thing: line 1: key 'name' is missing" },
		{ "{\"name\":\"n\",\n\n\"memroy\":1}", "thing: line 3: unknown key 'memroy'" },
		{ "{\"name\":1}", "thing: line 1: 'name': must be a string" },
		{ "{\"name\":null}", "thing: line 1: 'name': must be a string" },
		{ "{\"name\":\"a\\u0000\"}", "thing: line 1: 'name': must not hold a NUL" },
		{ "{\"on\":1}", "thing: line 1: 'on': must be true or false" },
		{ "{\"count\":11}", "thing: line 1: 'count': 11 is not between 1 and 10" },
		{ "{\"count\":-1}", "thing: line 1: 'count': -1 is not between 1 and 10" },
		{ "{\"count\":1.5}", "thing: line 1: 'count': must be a whole number" },
		{ "{\"count\":\"5\"}", "thing: line 1: 'count': must be a whole number" },
		{ "{\"words\":\"a\"}", "thing: line 1: 'words': must be an array of strings" },
		{ "{\"words\":[\"a\",\n2]}", "thing: line 1: 'words': element 2 must be a string" },
		{ "{\n\"custom\":\"x\"}", "thing: line 2: 'custom': custom is a number" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct thing t = { 0 };
		struct err e = { 0 };

		assert_refused(fill(bad[i].text, &t, &e), EINVAL, bad[i].words);
		thing_clear(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_its_place_and_line),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(pairs_and_escapes_are_decoded),
		cmocka_unit_test(whole_numbers_are_exact_up_to_64_bits),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(endless_nesting_overflows_nothing),
		cmocka_unit_test(many_keys_are_compared_in_time),
		cmocka_unit_test(a_table_fills_a_struct_and_replaces_what_was_there),
		cmocka_unit_test(a_wrong_field_is_named_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
