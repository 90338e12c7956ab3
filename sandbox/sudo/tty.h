/* SPDX-License-Identifier: MIT */
/* tty.h - the caller's terminal, and the command's own behind it.
 *
 * While the command has the foreground, the caller's terminal passes every byte on as it is, and the
 * command's own does what a terminal does: echo, lines, signals. Else the caller's does all that, and
 * only what the command writes is passed on. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "base/err.h"
#include "sandbox/sudo.h"

struct tty {
	int fd; /* our own opening of the controlling terminal, non-blocking; -1: there is none */
	int master; /* of the command's; -1: not yet, or no more */
	bool raw;
	bool settled;  /* the command's was set as the caller's is */
	bool post_off; /* we switched the command's output processing off: the caller's does it */
	struct termios saved;
};

/* Open the controlling terminal, where there is one. */
must_check int tty_open(struct tty *t, struct err *e);

/* Is `fd` the controlling terminal? */
bool tty_is_ours(int fd);

/* Is our process group in its foreground? */
bool tty_in_front(const struct tty *t);

/* How it is set, for the command's own. `front`: that one begins in the foreground. */
must_check int tty_describe(struct tty *t, bool front, struct sudo_terminal *out, struct err *e);

/* Pass bytes on as they are; with `signals` those that send one still do so here. */
must_check int tty_raw(struct tty *t, bool signals, struct err *e);

/* As it was. */
void tty_restore(struct tty *t);

/* Give the command's the size of the caller's. */
void tty_resize(const struct tty *t);
