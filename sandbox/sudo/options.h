/* SPDX-License-Identifier: MIT */
/* options.h - what `sudo` was asked on its command line. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct options {
	const char *user; /* NULL: root */
	const char *dir;  /* --chdir */
	const char *keep; /* --preserve-env=LIST: names between commas */
	bool login, shell, keep_all, set_home, background, list, validate, forget, help, version;
	char **assignments; /* VAR=value, in their order; NULL-terminated, the texts are argv's */
	char **command;	    /* the rest of argv; its first is NULL where there is no command */
};

/* Parse; the texts stay argv's. What is not known, or cannot be had here, is refused by name. */
must_check int options_parse(int argc, char **argv, struct options *o, struct err *e);
void options_clear(struct options *o);

/* How it is used; a few lines. */
extern const char options_usage[];
