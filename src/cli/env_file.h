/* SPDX-License-Identifier: MIT */
/* env_file.h - variables out of a file and off the command line. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define ENV_FILE_MAX (1u << 20)
#define ENV_COUNT_MAX 4096u

/* Put "NAME=VALUE", or "NAME" for the caller's own value, which `lookup` answers for, into the
 * NULL-terminated heap list *env. A later one replaces an earlier one. */
must_check int env_add(const char *text, const char *(*lookup)(const char *name), char ***env,
		       struct err *e);

/* The same for every line of a file: all behind the first '=' as it stands (no quotes, no
 * expansion). Empty lines and those that start with '#' are skipped. `where` names the file in
 * errors. */
must_check int env_file_parse(const char *text, size_t len, const char *where,
			      const char *(*lookup)(const char *name), char ***env, struct err *e);
