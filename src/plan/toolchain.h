/* SPDX-License-Identifier: MIT */
/* toolchain.h - compilers and interpreters that live in somebody's home. */
#pragma once

#include "plan/plan.h"

/* Find the directories of rustup, cargo, pyenv, nvm and go in `path` (a PATH) and add them to the
 * request: read-only mounts at the same place, PATH entries, variables. Only the parts that run are
 * taken: never ~/.cargo as a whole, which holds credentials. */
must_check int toolchain_find(struct request *r, const char *path, const struct host *h,
			      struct err *e);
