/* SPDX-License-Identifier: MIT */
/* sha1.h - SHA-1, because git names files by it and ends its index with it. It guards against nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

struct sha1 {
	uint32_t state[5];
	uint64_t len;	   /* bytes taken so far */
	uint8_t block[64]; /* the last len % 64 of them */
	bool by_processor; /* false: in plain C; a test sets it so */
};

void sha1_init(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *bytes, size_t len);

/* The digest of all that was added. `s` must be initialised again before another use. */
void sha1_end(struct sha1 *s, uint8_t digest[SHA1_BYTES]);
