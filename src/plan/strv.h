/* SPDX-License-Identifier: MIT */
/* strv.h - NULL-terminated lists of texts on the heap. A NULL list is an empty one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

size_t strv_len(char *const *list);
void strv_free(char **list);

/* Append a copy of `text`. */
must_check int strv_add(char ***list, const char *text, struct err *e);

/* Append, and own `text`, which is freed on failure too. NULL (no memory) is an error. */
must_check int strv_take(char ***list, char *text, struct err *e);

/* Append copies of all of `more`. */
must_check int strv_extend(char ***list, char *const *more, struct err *e);

bool strv_has(char *const *list, const char *text);

/* Put "K=V" into an environment, in the place of another value of K. */
must_check int strv_env_put(char ***env, const char *assignment, struct err *e);

/* The value of `name` in an environment, or NULL. */
const char *strv_env_get(char *const *env, const char *name);

static inline void auto_strv(char ***list)
{
	strv_free(*list);
}
#define autostrv __attribute__((cleanup(auto_strv)))
