/* SPDX-License-Identifier: MIT */
/* split.h - where bash would read one command after the other in a text of several lines.
 *
 * Clients say one command at a time; what holds several is refused before it runs. This is bash's
 * grammar as far as it takes to find the ends: quotes, substitutions, here-documents, compound
 * commands, functions, comments. Pure: no I/O, nothing allocated. */
#pragma once

#include <stddef.h>

/* How many complete commands the text has at its top level; a comment before the first is one of
 * its own, as in the reference. The offsets where they begin go to `starts`, `max` at most; each
 * reaches to the next one. 0: it cannot be parsed, be it wrong or be it one of the constructs that
 * the reference's parser lacks ([[ ]], $(( )), for (( )), select, coproc, time, arrays); it is
 * bash's to judge, as one command. */
unsigned split_commands(const char *text, size_t len, size_t *starts, unsigned max);
