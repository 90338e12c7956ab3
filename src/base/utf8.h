/* SPDX-License-Identifier: MIT */
/* utf8.h - is it UTF-8? As strict as the standard: no overlong form, no surrogate, nothing above
 * U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed sequence at the start of `bytes`: 1 to 4, or 0 where there is none. */
size_t utf8_sequence(const char *bytes, size_t len);

/* Offset of the first byte that is not part of a well-formed sequence; `len` when all is well. */
size_t utf8_check(const char *bytes, size_t len);

/* The code point of a well-formed sequence of `n` bytes. */
uint32_t utf8_code(const char *bytes, size_t n);

/* The sequence of a code point. Returns its bytes. */
size_t utf8_put(uint32_t code, char out[4]);
