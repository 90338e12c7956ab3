/* SPDX-License-Identifier: MIT */
/* fuzz_json.c - any bytes: parsed within limits or refused; what was parsed is written and read
 * again, and stays the same from then on. */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"

static void write_value(struct json_out *o, const struct json *v)
{
	switch (v->type) {
	case JSON_NULL:
		jo_null(o, v->key);
		break;
	case JSON_BOOL:
		jo_bool(o, v->key, v->boolean);
		break;
	case JSON_INT:
		jo_int(o, v->key, v->integer);
		break;
	case JSON_REAL:
		jo_real(o, v->key, v->real);
		break;
	case JSON_STRING:
		jo_string_n(o, v->key, v->string.bytes, v->string.len);
		break;
	case JSON_ARRAY:
		jo_array(o, v->key);
		for (const struct json *m = v->list.first; m; m = m->next)
			write_value(o, m);
		jo_end_array(o);
		break;
	case JSON_OBJECT:
		jo_object(o, v->key);
		for (const struct json *m = v->list.first; m; m = m->next)
			write_value(o, m);
		jo_end_object(o);
		break;
	}
}

/* Written once, read, written again: both texts must be equal. */
static void round_trip(const struct json_doc *doc)
{
	autobuf struct buf first = { 0 }, second = { 0 };
	autojson struct json_doc *again = NULL;
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	struct err e = { 0 };

	limits.bytes = 64 << 20;
	write_value(&(struct json_out) { .buf = &first }, json_root(doc));
	if (json_parse(buf_str(&first), first.len, &limits, &again, &e) < 0)
		__builtin_trap();
	write_value(&(struct json_out) { .buf = &second }, json_root(again));
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		__builtin_trap();
}

struct record {
	char *name;
	char **words;
	uint64_t count;
	bool on;
};

static void fill(const struct json *root)
{
	static const struct field table[] = {
		{ .key = "name", .kind = FIELD_STRING, .offset = offsetof(struct record, name) },
		{ .key = "words", .kind = FIELD_STRINGS, .offset = offsetof(struct record, words) },
		{ .key = "count",
		  .kind = FIELD_U64,
		  .offset = offsetof(struct record, count),
		  .max = 9 },
		{ .key = "on",
		  .kind = FIELD_BOOL,
		  .offset = offsetof(struct record, on),
		  .required = true },
	};
	struct record r = { 0 };
	struct err e = { 0 };

	if (json_fields(root, table, ARRAY_LEN(table), &r, "fuzz", &e) < 0 && !e.code)
		__builtin_trap();
	for (char **w = r.words; w && *w; w++)
		free(*w);
	free(r.words);
	free(r.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autojson struct json_doc *doc = NULL;
	struct err e = { 0 };

	if (json_parse((const char *)data, size, &JSON_LIMITS_DEFAULT, &doc, &e) < 0) {
		if (!e.code || !e.text[0] || doc)
			__builtin_trap();
		return 0;
	}
	round_trip(doc);
	fill(json_root(doc));
	return 0;
}
