/* SPDX-License-Identifier: MIT */
/* limits.h - the rlimits every process of the sandbox inherits, the executor first. */
#pragma once

#include "base/err.h"

/* Lower them. Only RLIMIT_CORE is raised, to 1, where it is 0 and the host lets us. */
must_check int limits_set(struct err *e);
