/* SPDX-License-Identifier: MIT */
/* sha1.c - see sha1.h. An index of 100,000 files has ten megabytes, so the rounds are unrolled: the
 * five words change their places in the arguments and not in memory. */
#include "session/sha1.h"

#include <endian.h>
#include <string.h>

#include "session/sha1_x86.h"

static inline uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* The message's words, sixteen at a time in a ring. */
#define FIRST(t) (w[t] = be32toh(w[t]))
#define LATER(t)             \
	(w[(t)&15] = rotate( \
		 w[((t) + 13) & 15] ^ w[((t) + 8) & 15] ^ w[((t) + 2) & 15] ^ w[(t)&15], 1))

#define CHOICE(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define PARITY(b, c, d) ((b) ^ (c) ^ (d))
#define MAJORITY(b, c, d) (((b) & (c)) | ((d) & ((b) | (c))))

#define STEP(f, k, word, a, b, c, d, e)                          \
	do {                                                     \
		(e) += rotate(a, 5) + f(b, c, d) + (k) + (word); \
		(b) = rotate(b, 30);                             \
	} while (0)

#define FIVE(f, k, word, t)                               \
	do {                                              \
		STEP(f, k, word((t) + 0), a, b, c, d, e); \
		STEP(f, k, word((t) + 1), e, a, b, c, d); \
		STEP(f, k, word((t) + 2), d, e, a, b, c); \
		STEP(f, k, word((t) + 3), c, d, e, a, b); \
		STEP(f, k, word((t) + 4), b, c, d, e, a); \
	} while (0)

#define TWENTY(f, k, t)                      \
	do {                                 \
		FIVE(f, k, LATER, t);        \
		FIVE(f, k, LATER, (t) + 5);  \
		FIVE(f, k, LATER, (t) + 10); \
		FIVE(f, k, LATER, (t) + 15); \
	} while (0)

static void take_block(uint32_t state[5], const uint8_t *bytes)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
	uint32_t w[16];

	memcpy(w, bytes, sizeof(w));
	FIVE(CHOICE, 0x5a827999u, FIRST, 0);
	FIVE(CHOICE, 0x5a827999u, FIRST, 5);
	FIVE(CHOICE, 0x5a827999u, FIRST, 10);
	STEP(CHOICE, 0x5a827999u, FIRST(15), a, b, c, d, e);
	STEP(CHOICE, 0x5a827999u, LATER(16), e, a, b, c, d);
	STEP(CHOICE, 0x5a827999u, LATER(17), d, e, a, b, c);
	STEP(CHOICE, 0x5a827999u, LATER(18), c, d, e, a, b);
	STEP(CHOICE, 0x5a827999u, LATER(19), b, c, d, e, a);
	TWENTY(PARITY, 0x6ed9eba1u, 20);
	TWENTY(MAJORITY, 0x8f1bbcdcu, 40);
	TWENTY(PARITY, 0xca62c1d6u, 60);
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

static void take_blocks(struct sha1 *s, const uint8_t *bytes, size_t blocks)
{
	if (s->by_processor) {
		sha1_x86_take(s->state, bytes, blocks);
		return;
	}
	for (; blocks; blocks--, bytes += 64)
		take_block(s->state, bytes);
}

void sha1_init(struct sha1 *s)
{
	*s = (struct sha1) { .state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
					0xc3d2e1f0 },
			     .by_processor = sha1_x86_usable() };
}

void sha1_add(struct sha1 *s, const void *bytes, size_t len)
{
	size_t used = s->len % 64, n = 64 - used;
	const uint8_t *p = bytes;

	s->len += len;
	if (used && len >= n) {
		memcpy(s->block + used, p, n);
		take_blocks(s, s->block, 1);
		p += n;
		len -= n;
		used = 0;
	}
	if (!used) {
		take_blocks(s, p, len / 64);
		p += len / 64 * 64;
		len %= 64;
	}
	if (len)
		memcpy(s->block + used, p, len);
}

void sha1_end(struct sha1 *s, uint8_t digest[SHA1_BYTES])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = htobe64(s->len * 8);

	sha1_add(s, padding, 1 + (119 - s->len % 64) % 64);
	sha1_add(s, &bits, sizeof(bits));
	for (size_t i = 0; i < 5; i++) {
		uint32_t word = htobe32(s->state[i]);

		memcpy(digest + 4 * i, &word, sizeof(word));
	}
}
