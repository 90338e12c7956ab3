/* SPDX-License-Identifier: MIT */
/* patch.h - changes shown as git shows them, by ohsandbox-git.
 *
 * The contents are foreign and compared by libgit2: so it is done by a process that gets them as
 * bytes, holds no descriptor but its pipes, and as root is nobody. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "session/changes.h"

struct patch;

/* Start it. With `summary` it writes "added\tdeleted\tname\0" for each change ("-" for binary
 * ones), else a patch. To `out`, which stays the caller's. */
must_check int patch_new(bool summary, int out, struct patch **p, struct err *e);

/* Show one change, made with CHANGES_FILES. */
must_check int patch_add(struct patch *p, const struct change *c, struct err *e);

/* Wait for its end and free it. What it complains of comes back here. */
must_check int patch_end(struct patch *p, struct err *e);
