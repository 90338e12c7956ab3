/* SPDX-License-Identifier: MIT */
/* ruleset.h - the one static ruleset; sessions only come and go as elements of its sets. */
#pragma once

#include "base/err.h"

/* For tests: the text `ruleset_up` loads. */
extern const char ruleset_text[];

/* Lay both tables, in one transaction; what was there of them before is replaced. */
must_check int ruleset_up(struct err *e);

/* Take both away. Missing ones are no error. */
must_check int ruleset_down(struct err *e);
