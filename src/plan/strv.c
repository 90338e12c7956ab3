/* SPDX-License-Identifier: MIT */
/* strv.c - NULL-terminated lists of texts: environments, search paths, names. */
#include "plan/strv.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

size_t strv_len(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

void strv_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

int strv_take(char ***list, char *text, struct err *e)
{
	autofree char *owned = text;
	size_t n = strv_len(*list);
	char **grown;

	if (!owned)
		return err_code(e, ENOMEM, "no memory for a list of texts");
	grown = reallocarray(*list, n + 2, sizeof(*grown));
	if (!grown)
		return err_code(e, ENOMEM, "no memory for a list of %zu texts", n + 1);
	grown[n] = take_ptr(&owned);
	grown[n + 1] = NULL;
	*list = grown;
	return 0;
}

int strv_add(char ***list, const char *text, struct err *e)
{
	return strv_take(list, strdup(text), e);
}

int strv_extend(char ***list, char *const *more, struct err *e)
{
	for (size_t i = 0; more && more[i]; i++)
		if (strv_add(list, more[i], e) < 0)
			return -e->code;
	return 0;
}

bool strv_has(char *const *list, const char *text)
{
	for (size_t i = 0; list && list[i]; i++)
		if (str_eq(list[i], text))
			return true;
	return false;
}

static bool same_name(const char *a, const char *b)
{
	size_t name_len = strcspn(a, "=");

	return name_len == strcspn(b, "=") && memcmp(a, b, name_len) == 0;
}

int strv_env_put(char ***env, const char *assignment, struct err *e)
{
	for (size_t i = 0; *env && (*env)[i]; i++) {
		char *copy;

		if (!same_name((*env)[i], assignment))
			continue;
		copy = str_dup(assignment, e);
		if (!copy)
			return -e->code;
		free((*env)[i]);
		(*env)[i] = copy;
		return 0;
	}
	return strv_add(env, assignment, e);
}

const char *strv_env_get(char *const *env, const char *name)
{
	for (size_t i = 0; env && env[i]; i++)
		if (same_name(env[i], name))
			return env[i][strcspn(env[i], "=")] ? env[i] + strcspn(env[i], "=") + 1
							    : "";
	return NULL;
}
