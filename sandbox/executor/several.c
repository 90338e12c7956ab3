/* SPDX-License-Identifier: MIT */
/* several.c - see several.h. Clients and models match on these words. */
#include "sandbox/executor/several.h"

#include <ctype.h>

#include "sandbox/executor/split.h"

enum { SHOWN_MAX = 200 }; /* commands; the words are for a reader */

static void one_command(struct buf *words, unsigned number, const char *at, size_t len)
{
	while (len && isspace((unsigned char)at[len - 1]))
		len--;
	buf_printf(words, "\n(%u) ", number);
	buf_add(words, at, len);
}

void several_words(struct text command, struct buf *words)
{
	size_t starts[SHOWN_MAX + 1];
	unsigned n = split_commands(command.at, command.len, starts, SHOWN_MAX + 1);

	if (n < 2)
		return;
	buf_puts(words, "ERROR: Cannot execute multiple commands at once.\n"
			"Please run each command separately OR chain them into a single command "
			"via && or ;\nProvided commands:");
	for (unsigned i = 0; i < n && i < SHOWN_MAX; i++) {
		size_t end = i + 1 < n ? starts[i + 1] : command.len;

		one_command(words, i + 1, command.at + starts[i], end - starts[i]);
	}
}
