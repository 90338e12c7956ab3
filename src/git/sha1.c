/* SPDX-License-Identifier: MIT */
/* sha1.c - see sha1.h. */
#include "git/sha1.h"

#include <endian.h>
#include <string.h>

static inline uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* The message schedule in a ring of 16 words. */
static inline uint32_t word(uint32_t *w, unsigned t)
{
	if (t >= 16)
		w[t & 15] = rotate(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ w[t & 15], 1);
	return w[t & 15];
}

#define ROUND(t, f, k)                                                          \
	do {                                                                    \
		uint32_t sum_ = rotate(a, 5) + (f) + e + (k) + word(w, (t));    \
		e = d;                                                          \
		d = c;                                                          \
		c = rotate(b, 30);                                              \
		b = a;                                                          \
		a = sum_;                                                       \
	} while (0)

static void block(uint32_t state[5], const uint8_t *bytes)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
	uint32_t w[16];

	memcpy(w, bytes, sizeof(w));
	for (unsigned t = 0; t < 16; t++)
		w[t] = be32toh(w[t]);
	for (unsigned t = 0; t < 20; t++)
		ROUND(t, d ^ (b & (c ^ d)), 0x5a827999u);
	for (unsigned t = 20; t < 40; t++)
		ROUND(t, b ^ c ^ d, 0x6ed9eba1u);
	for (unsigned t = 40; t < 60; t++)
		ROUND(t, (b & c) | (d & (b | c)), 0x8f1bbcdcu);
	for (unsigned t = 60; t < 80; t++)
		ROUND(t, b ^ c ^ d, 0xca62c1d6u);
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1(const void *bytes, size_t len, uint8_t digest[SHA1_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	uint64_t bits = htobe64((uint64_t)len * 8);
	const uint8_t *p = bytes;
	uint8_t last[128] = { 0 };
	size_t rest, n;

	for (n = len; n >= 64; n -= 64, p += 64)
		block(state, p);
	memcpy(last, p, n);
	last[n] = 0x80;
	rest = n < 56 ? 64 : 128;
	memcpy(last + rest - 8, &bits, 8);
	for (p = last; p < last + rest; p += 64)
		block(state, p);
	for (n = 0; n < 5; n++) {
		uint32_t v = htobe32(state[n]);

		memcpy(digest + 4 * n, &v, 4);
	}
}
