/* SPDX-License-Identifier: MIT */
/* json_fields.c - a tree of JSON into a struct, by a table; see json.h. */
#define OHS_JSON_DEFINITIONS
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

int json_error(const struct json *value, const char *where, struct err *e, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (value->key)
		return err_code(e, EINVAL, "%s%sline %u: '%.60s': %s", where ? where : "",
				where ? ": " : "", value->line, value->key, text);
	return err_code(e, EINVAL, "%s%sline %u: %s", where ? where : "", where ? ": " : "",
			value->line, text);
}

/* Why `value` is no C string, or NULL. */
static const char *not_a_string(const struct json *value)
{
	if (value->type != JSON_STRING)
		return "must be a string";
	if (memchr(value->string.bytes, 0, value->string.len))
		return "must not hold a NUL";
	return NULL;
}

static int put_string(const struct json *v, char **member, const char *where, struct err *e)
{
	const char *why = not_a_string(v);
	char *copy;

	if (why)
		return json_error(v, where, e, "%s", why);
	copy = str_dup(v->string.bytes, e);
	if (!copy)
		return -e->code;
	free(*member);
	*member = copy;
	return 0;
}

static void strings_free(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
}

static int put_strings(const struct json *v, char ***member, const char *where, struct err *e)
{
	char **list;
	size_t n = 0;

	if (v->type != JSON_ARRAY)
		return json_error(v, where, e, "must be an array of strings");
	list = calloc(v->list.count + 1, sizeof(*list));
	if (!list)
		return err_code(e, ENOMEM, "out of memory");
	for (const struct json *item = v->list.first; item; item = item->next) {
		const char *why = not_a_string(item);

		list[n] = why ? NULL : str_dup(item->string.bytes, e);
		if (!list[n]) {
			strings_free(list);
			return why ? json_error(v, where, e, "element %zu %s", n + 1, why)
				   : -e->code;
		}
		n++;
	}
	strings_free(*member);
	*member = list;
	return 0;
}

static int put_u64(const struct json *v, const struct field *f, uint64_t *member, const char *where,
		   struct err *e)
{
	if (v->type != JSON_INT)
		return json_error(v, where, e, "must be a whole number");
	if (v->integer < 0 || (uint64_t)v->integer < f->min || (uint64_t)v->integer > f->max)
		return json_error(v, where, e,
				  "%" PRId64 " is not between %" PRIu64 " and %" PRIu64, v->integer,
				  f->min, f->max);
	*member = (uint64_t)v->integer;
	return 0;
}

static int put(const struct json *v, const struct field *f, void *record, const char *where,
	       struct err *e)
{
	void *member = (char *)record + f->offset;

	switch (f->kind) {
	case FIELD_STRING:
		return put_string(v, member, where, e);
	case FIELD_STRINGS:
		return put_strings(v, member, where, e);
	case FIELD_U64:
		return put_u64(v, f, member, where, e);
	case FIELD_BOOL:
		if (v->type != JSON_BOOL)
			return json_error(v, where, e, "must be true or false");
		*(bool *)member = v->boolean;
		return 0;
	case FIELD_CUSTOM:
		return f->parse(v, record, e);
	}
	return json_error(v, where, e, "no such kind of field");
}

static const struct field *find(const struct field *table, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].key, key) == 0)
			return &table[i];
	return NULL;
}

int json_fields(const struct json *object, const struct field *table, size_t n, void *record,
		const char *where, struct err *e)
{
	const struct json anonymous = { .line = object->line };

	if (object->type != JSON_OBJECT)
		return json_error(object, where, e, "must be an object");
	for (const struct json *m = object->list.first; m; m = m->next) {
		const struct field *f = find(table, n, m->key);
		struct json place = { .line = m->line };
		int r;

		if (!f)
			return json_error(&place, where, e, "unknown key '%.60s'", m->key);
		r = put(m, f, record, where, e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++)
		if (table[i].required && !json_get(object, table[i].key))
			return json_error(&anonymous, where, e, "key '%s' is missing",
					  table[i].key);
	return 0;
}
