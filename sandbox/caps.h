/* SPDX-License-Identifier: MIT */
/* caps.h - give up capabilities, and every way to get one back. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Empty the bounding set and lock the securebits, so that neither uid 0 nor a file's capabilities
 * mean anything to an exec from here on; `keep` (a mask of CAP_ numbers) becomes ambient, to be
 * had after the exec all the same. Needs CAP_SETPCAP; takes nothing away from us yet. */
must_check int caps_lock(uint64_t keep, struct err *e);

/* Empty all sets but for `keep`, and set no_new_privs. */
must_check int caps_drop(uint64_t keep, struct err *e);
