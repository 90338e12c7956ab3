/* SPDX-License-Identifier: MIT */
/* char_width.h - how many columns a terminal gives a character. The C library's own answer depends on
 * a locale, which a static program has not. */
#pragma once

#include <stdint.h>

/* 0 for what joins the character before it, 2 for wide ones, else 1. */
unsigned char_width(uint32_t code);
