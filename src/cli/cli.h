/* SPDX-License-Identifier: MIT */
/* cli.h - what a command is: one row of main.c's table, one file.
 *
 * Exit statuses are one list, here and in ohsandbox(1). Commands that run something leave every
 * status but four to what they run; those that run nothing use 1 and 2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/options.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,     /* of a command that runs nothing */
	EXIT_USAGE = 2,	     /* of a command that runs nothing */
	EXIT_DEADLINE = 124, /* run: the time was over */
	EXIT_OURS = 125,     /* run: usage, refusal, our own failure */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL = 128, /* plus the signal's number */
};

struct command {
	const char *name;
	const char *operands; /* "[--] COMMAND [ARG...]" */
	const char *summary;  /* one line, no full stop */
	const char *examples; /* whole lines; shown by --help */
	const struct opt *options;
	bool runs_something;	 /* usage errors are EXIT_OURS, not EXIT_USAGE */
	bool first_operand_ends; /* options stop at the first operand: the rest is the command's */
	int (*main)(const struct command *c, int argc,
		    char **argv); /* argv[0] is the command's name */
};

/* Each lives in the file of its name. */
extern const struct command command_run, command_start, command_stop, command_list, command_show,
	command_act, command_diff, command_pause, command_resume, command_policy, command_doctor,
	command_clean, command_serve;

/* Parse the command's options into `into` and move the operands to argv[0...]. Returns their
 * number. A negative answer means that the command is over, with *status its exit status: the help
 * was asked for and printed, or the usage was wrong and it has been said what. */
must_check int cli_options(const struct command *c, int argc, char **argv, void *into, int *status);

/* Print the command's help; gives the exit status. */
int cli_help(const struct command *c);

/* Say on standard error what went wrong; gives the exit status of a failure of ours. */
int cli_fail(const struct command *c, const struct err *e);

/* What else there is to say of an error that a system call gave without a reason: a clause, or "". */
const char *cli_cure(const struct err *e);

/* The same for wrong usage, with the way to the help. */
int cli_usage(const struct command *c, const char *fmt, ...) printf_like(2, 3);

/* Write a command's output to standard output, whole. EXIT_OK, or the status of a failure that it
 * has reported. */
int cli_print(const struct command *c, const struct buf *out);

/* Open the caller's state directory and take down what dead sessions left. Returns an fd. */
must_check int cli_state(struct err *e);
