/* SPDX-License-Identifier: MIT */
/* relay.h - stand for a command that runs elsewhere: its terminal, its signals, its stops, its end. */
#pragma once

#include "base/err.h"
#include "sandbox/sudo.h"
#include "sandbox/sudo/tty.h"

struct relay {
	int connection;
	struct tty *tty;
	bool piped;    /* others of the same job have the terminal too: only for the asking */
	bool in_front; /* the command was started in its terminal's foreground */
	pid_t command;
	int signals; /* a signalfd; -1 before relay_run */
	bool input_over, output_over, ended;
	int wait_status;
	struct relay_bytes {
		char bytes[8192];
		size_t from, len;
	} in, out;
};

/* From STARTED on: until the command has ended. 0 and *wait_status as waitpid gives it. */
must_check int relay_run(struct relay *r, int *wait_status, struct err *e);
