/* SPDX-License-Identifier: MIT */
/* stop.h - the end of a session that lives without us. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "session/session.h"

/* End it by its id, or an unambiguous prefix of it: its processes, and all that there is of it;
 * with `keep` its layers stay. Its lock must not be held by the caller. */
must_check int stop_session(int state, const char *id, bool keep, struct err *e);
