/* SPDX-License-Identifier: MIT */
/* sha256.h - SHA-256 of bytes as they come, for names of what is cached. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX_BYTES 65 /* with the NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t len;	   /* bytes taken so far */
	uint8_t block[64]; /* the last len % 64 of them */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t len);

/* A text with its end, so that two in turn are no other two. NULL is no text, and not the empty one. */
void sha256_add_text(struct sha256 *s, const char *text);

/* The digest of all that was added. `s` must be initialised again before another use. */
void sha256_end(struct sha256 *s, uint8_t digest[SHA256_BYTES]);

/* The same as lower-case hexadecimal digits and a NUL. */
void sha256_end_hex(struct sha256 *s, char hex[SHA256_HEX_BYTES]);

/* Of one block of bytes. */
void sha256_hex(const void *bytes, size_t len, char hex[SHA256_HEX_BYTES]);
