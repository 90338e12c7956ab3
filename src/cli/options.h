/* SPDX-License-Identifier: MIT */
/* options.h - a command's options, by table.
 *
 *	--name VALUE  --name=VALUE  -n VALUE  -nVALUE  --flag  --
 *
 * Long names are never shortened: a script that works today means the same tomorrow. An unknown
 * one is answered with the nearest there is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum opt_kind {
	OPT_END,  /* behind the last row */
	OPT_FLAG, /* bool at offset becomes true */
	OPT_TEXT, /* const char * at offset: the argument itself, not copied; given once */
	OPT_CALL, /* call(into, value, e), as often as it is given; value is NULL for one without */
};

struct opt {
	const char *name; /* without the dashes */
	char letter;	  /* 0: none */
	enum opt_kind kind;
	size_t offset;
	const char *value; /* what the help calls the value; NULL: takes none */
	const char *help;  /* one line */
	int (*call)(void *into, const char *value, struct err *e);
};

enum { OPTS_HELP = -1000 }; /* --help or -h was met */

/* Fill `into` and move the operands to argv[0...]; returns their number, OPTS_HELP, or a negative
 * errno with *e naming the option: what is right behind that one is taken all the same, so that
 * --json holds for the refusal, too. argv[0] is skipped. With `first_operand_ends` everything from the first
 * operand on is left as it is. */
must_check int opts_parse(const struct opt *table, bool first_operand_ends, int argc, char **argv,
			  void *into, struct err *e);

/* The table as the help shows it. */
void opts_describe(const struct opt *table, struct buf *out);

/* The nearest name of a list to what was typed, or NULL where none is near. `next` gives the i-th
 * name and NULL behind the last. */
const char *nearest_name(const char *typed, const char *(*next)(const void *list, size_t i),
			 const void *list);
