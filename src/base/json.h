/* SPDX-License-Identifier: MIT */
/* json.h - foreign JSON becomes a tree of ours, within limits, and then a struct by a table.
 *
 * Parsing is yajl's, over its SAX interface; the tree lives in one arena and is freed at once,
 * so no depth of nesting can overflow the stack. Texts are UTF-8, checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	unsigned line;	   /* 1-based line the value starts on */
	const char *key;   /* within an object, else NULL */
	struct json *next; /* next member or element */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct {
			const char *bytes; /* NUL-terminated; may hold further NULs */
			size_t len;
		} string;
		struct {
			struct json *first;
			size_t count;
		} list; /* arrays and objects */
	};
};

struct json_limits {
	size_t bytes;	/* of the text */
	unsigned depth; /* of nesting */
	size_t values;	/* in the whole tree */
};

#define JSON_LIMITS_DEFAULT \
	((struct json_limits) { .bytes = 1 << 20, .depth = 32, .values = 20000 })

struct json_doc; /* owns a tree */

/* Parse one whole value. -EINVAL, -EFBIG or -ENOMEM with *e naming the line, else the tree's
 * owner. A duplicate key, an invalid UTF-8 sequence and trailing text are errors. */
must_check int json_parse(const char *text, size_t len, const struct json_limits *limits,
			  struct json_doc **out, struct err *e);
void json_free(struct json_doc *doc);
const struct json *json_root(const struct json_doc *doc);

static inline void auto_json(struct json_doc **doc)
{
	json_free(*doc);
}
#define autojson __attribute__((cleanup(auto_json)))

/* The member of an object, or NULL. */
const struct json *json_get(const struct json *object, const char *key);

/* A field of an object that goes into a struct member.
 *   FIELD_STRING   char *, heap, no NUL inside
 *   FIELD_BOOL     bool
 *   FIELD_U64      uint64_t within [min, max]
 *   FIELD_STRINGS  char **, heap, NULL-terminated, from an array of strings
 *   FIELD_CUSTOM   parse() is called with the value and the whole struct */
enum field_kind { FIELD_STRING, FIELD_BOOL, FIELD_U64, FIELD_STRINGS, FIELD_CUSTOM };

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	bool required;
	uint64_t min, max;
	int (*parse)(const struct json *value, void *record, struct err *e);
};

/* Fill `record` from `object` by the table. Unknown keys, missing required ones, wrong types and
 * ranges are errors: "<where>: line 3: unknown key 'memroy'". Strings already in the record are
 * freed and replaced. */
must_check int json_fields(const struct json *object, const struct field *table, size_t n,
			   void *record, const char *where, struct err *e);

/* An error at a value: "<where>: line N: 'key': <text>". Returns -EINVAL. */
int json_error(const struct json *value, const char *where, struct err *e, const char *fmt, ...)
	printf_like(4, 5);

/* For static analysers, as in err.h. */
#if (defined(__clang_analyzer__) || defined(OHS_ANALYZER)) && !defined(OHS_JSON_DEFINITIONS)
#define json_error(...) ((void)json_error(__VA_ARGS__), -1)
#endif
