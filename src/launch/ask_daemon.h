/* SPDX-License-Identifier: MIT */
/* ask_daemon.h - what a command cannot do beside a daemon that lives, it asks of that.
 *
 * The daemon listens at a socket in the state directory, which nobody but its owner can enter: who
 * can connect may do all of this by himself. It takes POST /resume of the runtime API, and no key. */
#pragma once

#include "base/err.h"

#define DAEMON_SOCKET "daemon.sock"

/* Let the daemon resume the session of this whole id, and wait until it has. -ECONNREFUSED: there is none;
 * -ECONNRESET: it ended meanwhile. */
must_check int ask_daemon_resume(int state, const char *id, struct err *e);
