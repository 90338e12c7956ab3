/* SPDX-License-Identifier: MIT */
/* name.h - what callers call their sessions: STATE/names/NAME is a link whose text is an id.
 *
 * A look-up reads one link, however many sessions there are. A link says nothing by itself: it counts
 * only where the session's record has the name too. So one that a killed process left does no harm. */
#pragma once

#include "base/err.h"
#include "session/session.h"

/* Take the name that its record has, if any. -EEXIST while another session that lives or is paused has
 * it; one that was merely kept loses it. */
must_check int name_take(const struct session *s, struct err *e);

/* Give a session that nobody has a name for to somebody: it is called so from now on, and persists.
 * -EBUSY while another pauses, resumes or stops it, -ENOENT when it has ended, -EEXIST as above; it is
 * nobody's still then. */
must_check int name_give(int state, const char *id, const char *name, struct err *e);

/* Give it back, where it is still this session's. */
void name_drop(const struct session *s);
