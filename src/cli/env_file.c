/* SPDX-License-Identifier: MIT */
/* env_file.c - see env_file.h. Values may be secrets: no error shows one. */
#include "cli/env_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/strv.h"

static bool is_name(const char *text, size_t len)
{
	if (!len || (text[0] >= '0' && text[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '.' || c == '-'))
			return false;
	}
	return true;
}

int env_add(const char *text, const char *(*lookup)(const char *name), char ***env, struct err *e)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	autofree char *whole = NULL;
	const char *value;

	if (!is_name(text, len))
		return err_code(e, EINVAL, "'%.*s' is no name of a variable",
				len < 40 ? (int)len : 40, text);
	if (strv_len(*env) >= ENV_COUNT_MAX)
		return err_code(e, E2BIG, "more than %u variables", ENV_COUNT_MAX);
	if (equals)
		return strv_env_put(env, text, e);
	value = lookup(text);
	if (!value)
		return err_code(e, ENOENT, "'%s' is not set in your environment", text);
	whole = str_fmt(e, "%s=%s", text, value);
	if (!whole)
		return -e->code;
	return strv_env_put(env, whole, e);
}

static int add_line(const char *text, size_t len, const char *(*lookup)(const char *name),
		    char ***env, struct err *e)
{
	autofree char *copy = NULL;

	if (len && text[len - 1] == '\r')
		len--;
	if (!len || text[0] == '#')
		return 0;
	copy = strndup(text, len);
	if (!copy)
		return err_code(e, ENOMEM, "no memory");
	return env_add(copy, lookup, env, e);
}

int env_file_parse(const char *text, size_t len, const char *where,
		   const char *(*lookup)(const char *name), char ***env, struct err *e)
{
	const char *end = text + len;
	unsigned line = 1;

	if (len && memchr(text, '\0', len))
		return err_code(e, EINVAL, "%s: holds a NUL byte", where);
	for (const char *p = text; p < end; line++) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		if (add_line(p, (size_t)(stop - p), lookup, env, e) < 0)
			return err_wrap(e, "%s: line %u", where, line);
		p = stop + 1;
	}
	return 0;
}
