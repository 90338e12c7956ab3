/* SPDX-License-Identifier: MIT */
/* escape.h - texts of any bytes where only printable ASCII may stand, as in JSON of ours.
 *
 * Paths, arguments and variables may hold any byte, JSON may not: bytes outside printable ASCII, and
 * '%' itself, are written as %XX. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Replace what `out` holds by the escaped text. */
void escape_text(const char *text, struct buf *out);

/* Undo it in place: the result is never longer. -EINVAL for what escape_text() does not write. */
must_check int escape_undo(char *text, struct err *e);

/* Lower-case hexadecimal: its value, or -1. */
int escape_hex_digit(char c);
