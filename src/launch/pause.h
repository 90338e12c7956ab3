/* SPDX-License-Identifier: MIT */
/* pause.h - a session that stays is stopped and brought back.
 *
 * Frozen, everything stays in memory and nothing of the workload runs. On disk, its processes, groups,
 * link and network end; its layers, directory, slot (so its ids and address), ports and key stay, and
 * it is started on them again. */
#pragma once

#include "base/err.h"
#include "launch/laps.h"
#include "launch/listen.h"

enum pause_form {
	PAUSE_FREEZE,
	PAUSE_DISK,
	PAUSE_ASLEEP, /* on disk, by nobody's wish: whoever has the ports wakes it for the next request */
};

/* Pause it, by its id, an unambiguous prefix of it, or its name. One that is paused already stays as it
 * is, but a frozen one can be paused to disk, and one that sleeps sleeps no more. Waits for another that pauses or resumes it. Killed
 * half-way, it leaves a session that runs or can be resumed. Its lock must not be held. */
must_check int pause_session(int state, const char *id, enum pause_form form, struct err *e);

/* Thaw it, or start its executor again on the same layers with the same id, key, address and ports.
 * One that runs stays as it is. A failure leaves it paused. */
must_check int resume_session(int state, const char *id, struct laps *laps, struct err *e);

/* The same where the caller listens on the session's port of the host meanwhile: these listeners are
 * what its server accepts on. They stay the caller's, who closes them when this has succeeded. */
must_check int resume_session_on(int state, const char *id,
				 const int listeners[LISTEN_LOOPBACK_MAX], unsigned n_listeners,
				 struct laps *laps, struct err *e);
