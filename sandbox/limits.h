/* SPDX-License-Identifier: MIT */
/* limits.h - the rlimits every process of the sandbox inherits, the executor first. */
#pragma once

#include "base/err.h"

/* Only ever lower: CAP_SYS_RESOURCE may be missing. */
must_check int limits_set(struct err *e);
