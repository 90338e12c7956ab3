/* SPDX-License-Identifier: MIT */
/* env.h - the environment that a command gets from `sudo`, and the words it is started with. */
#pragma once

#include "base/err.h"
#include "sandbox/sudo/options.h"
#include "sandbox/sudo/people.h"

/* Where commands are looked for, whatever the caller's own PATH says. */
#define ENV_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct env_case {
	const struct options *options;
	char *const *from; /* the caller's */
	const struct person *caller, *target;
	char *const *words; /* of the command: for SUDO_COMMAND */
};

/* A NULL-terminated list; all of it goes with list_free(). NULL with *e filled on failure.
 *
 * What the session gives every process (the policy's variables) is added by who starts the command, as
 * /etc/environment is elsewhere: it is not the caller's. */
char **env_make(const struct env_case *c, struct err *e);

struct words {
	char *program;
	char **argv;
};

/* What is executed: the command, or a shell for it (-s, -i). */
must_check int words_make(const struct options *o, char *const *from, const struct person *caller,
			  const struct person *target, struct words *out, struct err *e);
void words_clear(struct words *w);

void list_free(char **list);
