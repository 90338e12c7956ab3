/* SPDX-License-Identifier: MIT */
/* start.h - a session that stays: brought up, heard to answer, and left to itself. */
#pragma once

#include "base/err.h"
#include "launch/laps.h"
#include "launch/lifecycle.h"

/* Bring up what launch_init() was given: when this returns the executor answers at its ports, and the
 * session lives without us. On failure, and when a signal said that nobody wants it any more, nothing
 * is left of it; one that was to be brought back rests again. */
must_check int start_session(struct launch *l, struct laps *laps, struct err *e);

/* Another is starting it: wait until it is ready. -ENOENT when nothing comes of it. */
must_check int start_adopt(int state, const char *id, struct err *e);
