/* SPDX-License-Identifier: MIT */
/* ask.h - the request of `sudo`, sent, and its first answer. */
#pragma once

#include "base/err.h"
#include "sandbox/sudo.h"
#include "sandbox/sudo/env.h"
#include "sandbox/sudo/people.h"
#include "sandbox/sudo/tty.h"

/* All that is asked for. */
struct ask {
	const struct options *options;
	const struct person *caller, *target;
	struct words words;
	char **env;
	struct tty *tty;
	bool piped, in_front;
};

/* Connect to who can start a process as this user. -ECONNREFUSED, with *e saying why, where this
 * session has nobody to be had. */
must_check int ask_connect(const struct person *target, struct err *e);

/* Ask for the command, or (with `only`) whether it could be asked for. On success the command runs:
 * its pid, 0 with `only`, and its terminal in tty->master. -EPROTO or what the answer says. */
must_check int ask_start(int connection, struct ask *a, bool only, pid_t *pid, struct err *e);
