/* SPDX-License-Identifier: MIT */
/* sha1_x86.h - see sha1.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does this processor have the instructions? */
bool sha1_x86_usable(void);

/* Take whole blocks of 64 bytes. Only where they are. */
void sha1_x86_take(uint32_t state[5], const uint8_t *bytes, size_t blocks);
