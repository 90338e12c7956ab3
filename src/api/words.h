/* SPDX-License-Identifier: MIT */
/* words.h - a command in one text, as the words that a shell would make of it. Pure.
 *
 * Blanks part words; quotes and backslashes mean what POSIX says. Nothing is expanded and nothing is
 * an operator: "$HOME", "*" and ";" are those bytes, as there is no shell to give them to. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Split `len` bytes into at most `max` words, which the caller frees; NULL where there are none.
 * -EINVAL for a quote that is not closed, a backslash at the end and a NUL; -E2BIG for more words. */
must_check int words_split(const char *text, size_t len, size_t max, char ***words, struct err *e);
