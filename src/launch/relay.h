/* SPDX-License-Identifier: MIT */
/* relay.h - the caller's standard input, output and error, moved, not inherited.
 *
 * What a session holds is the other end of pipes (or of a terminal) made for it. A directory or a
 * log opened for appending, as somebody's descriptor, would be a way out.
 *
 * The caller's open files are shared with others (a shell, a pipeline), so their flags stay as they
 * are: O_NONBLOCK is never set on them. Pipes and sockets can be told with each call not to block;
 * a terminal is opened again by /proc/self/fd where that is allowed, which gives a description of
 * our own; what is left is polled and then used in pieces that its readiness covers. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#include "base/err.h"
#include "launch/pump.h"

enum { PUMP_IN, PUMP_OUT, PUMP_ERR, PUMP_COUNT };
#define RELAY_POLLS (2 * PUMP_COUNT)
#define RELAY_BACKGROUND_MS 300 /* how often to look whether the terminal is ours again */

struct relay {
	struct pump pump[PUMP_COUNT];
	bool wants_tty; /* the session's terminal is still to come */
	bool tty;
	bool hung_up;	 /* tty: the caller's terminal is gone */
	bool background; /* the caller's terminal has input, but for somebody else */
	bool raw;	 /* tty: `before` has to be put back */
	struct termios before;
	int master;	   /* tty: the session's end, ours; -1 */
	struct err failed; /* output that could not be written, other than to a closed pipe */
};

/* Make sure that 0, 1 and 2 are open, so that nothing of ours ever gets those numbers; refuse a
 * directory among them. Called before anything else is opened. */
must_check int relay_check(struct err *e);

/* Are all three the caller's terminal? */
bool relay_has_terminal(void);

void relay_init(struct relay *r);

/* Make three pipes, our ends in the relay; `session` gets the command's ends, close-on-exec, the
 * caller's to close once they are sent. They belong to `uid`, so that the command can open
 * /dev/stdout; -1 leaves them ours. */
must_check int relay_pipes(struct relay *r, uid_t uid, gid_t gid, int session[3], struct err *e);

/* Use the terminal of the session, whose master end is given and becomes the relay's: the caller's
 * goes into raw mode. */
must_check int relay_terminal(struct relay *r, int master, struct err *e);

/* Size of the caller's terminal; 24x80 where it does not say. */
void relay_window(unsigned short *rows, unsigned short *cols);

/* The caller's window has changed: so does the session's. */
void relay_resize(struct relay *r);

/* Back from the background or from a stop: raw again, where this is a terminal and ours. */
void relay_resume(struct relay *r);

/* Give the caller's terminal back as it was. Every way out calls it; more than once is fine. */
void relay_restore(struct relay *r);

/* Append what to wait for to `polls`; returns how many. */
size_t relay_polls(struct relay *r, struct pollfd *polls);

/* Move what can be moved, after poll(2) filled the array that relay_polls() made. */
void relay_move(struct relay *r, const struct pollfd *polls);

/* Is output of the session still on its way? */
bool relay_pending(const struct relay *r);

/* Close our end of the command's input. */
void relay_end_input(struct relay *r);

void relay_clear(struct relay *r);
