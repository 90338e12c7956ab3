/* SPDX-License-Identifier: MIT */
/* command.h - what the `command` of a start means. Pure.
 *
 * V0's clients send the command line of the executor that their image holds; what it says is honoured by
 * ours. Anything else is a program of the root file system's own, as V1's agent server, whose port
 * becomes the session's. Nothing said means the native executor as it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"

enum command_limits {
	COMMAND_BYTES_MAX = 64 << 10, /* all words together */
	COMMAND_WORDS_MAX = 1024,
	COMMAND_PORT_DEFAULT = 8000, /* of an agent server that is told none */
};

enum command_kind {
	COMMAND_NATIVE,	  /* no command */
	COMMAND_EXECUTOR, /* V0's command line */
	COMMAND_PROGRAM,  /* any other */
};

enum command_plugin {
	COMMAND_JUPYTER = 1 << 0,
	COMMAND_AGENT_SKILLS = 1 << 1,
	COMMAND_VSCODE = 1 << 2,
};

struct start_command {
	enum command_kind kind;
	uint16_t port; /* the executor's or the program's; 0 for the native one */
	/* The executor's. */
	char *working_dir;    /* absolute; NULL: not said */
	char *username;	      /* "openhands" where it is not said */
	uid_t user_id;	      /* 1000 where it is not said */
	unsigned plugins;     /* enum command_plugin */
	bool browser;	      /* true where it is not said */
	char **browser_words; /* --browsergym-eval-env; NULL: not said */
	/* The program's. */
	char **argv;
	bool has_port, has_host; /* it was told which */
};

/* What it means. `value` NULL, null, an empty text or an empty list is the native executor. -EINVAL
 * or -E2BIG with *e naming `command` and the word; `c` is filled on success alone. */
must_check int command_parse(const struct json *value, struct start_command *c, struct err *e);

/* The same of words that are there already; NULL is an empty list. */
must_check int command_of_words(char *const *words, struct start_command *c, struct err *e);

void command_clear(struct start_command *c);
