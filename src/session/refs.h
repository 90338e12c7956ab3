/* SPDX-License-Identifier: MIT */
/* refs.h - git's references as plain files: one each ("loose"), or a line of packed-refs.
 *
 * The caller sees to the rights it reads with. All content is foreign. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define GIT_ID_MAX 64	 /* hexadecimal digits of a SHA-256 id */
#define GIT_REF_MAX 1024 /* bytes of a reference's name */

/* Is it a full object id, lower case? */
bool git_id_ok(const char *text);

/* May a reference have this name? Then it is also a path that stays below its directory. */
bool git_ref_ok(const char *name);

/* Read a small regular file into `text`, NUL-terminated, white space at its end removed. Returns
 * its length or a negative errno; -EFBIG when it does not fit, -EINVAL when it is no file. */
int git_read_small(int dir, const char *path, char *text, size_t size);

/* Find the id a reference leads to, through symbolic ones. `git` is the work tree's own directory,
 * `common` the shared one. 1: found; 0: there is none; negative: cannot tell, ask git. */
int git_ref_find(int git, int common, const char *name, char id[GIT_ID_MAX + 1]);

/* The same in the packed references alone. */
int git_packed_find(int common, const char *name, char id[GIT_ID_MAX + 1]);
