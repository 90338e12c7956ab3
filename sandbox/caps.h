/* SPDX-License-Identifier: MIT */
/* caps.h - give up every capability, and every way to get one back. */
#pragma once

#include "base/err.h"

/* Empty the bounding set and lock the securebits, so that neither uid 0 nor a file's capabilities
 * mean anything to an exec from here on. Needs CAP_SETPCAP; takes no capability away yet. */
must_check int caps_lock(struct err *e);

/* Empty the ambient, inheritable, effective and permitted sets, and set no_new_privs. */
must_check int caps_drop(struct err *e);
