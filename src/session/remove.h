/* SPDX-License-Identifier: MIT */
/* remove.h - the end of a session's directory. */
#pragma once

#include "base/err.h"
#include "session/session.h"

/* Take sessions/ID away: removed wholly, or left to a later session where this one wrote nothing (see
 * spare.h). No process of the session may live. What an ordinary
 * user's session left to subordinate ids is removed by a helper process that stands in a user
 * namespace with the recorded maps. Idempotent. */
must_check int layers_remove(struct session *s, struct err *e);

/* Make its layers fit to be mounted again. No process of the session may live. */
must_check int layers_unmark(struct session *s, struct err *e);

/* The session is over and its layers stay: take the kernel's mark of a volatile mount away and
 * write everything to the disk. This may take long: do it when the answer has been given. */
must_check int layers_keep(struct session *s, struct err *e);
