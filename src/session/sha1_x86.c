/* SPDX-License-Identifier: MIT */
/* sha1_x86.c - SHA-1 by the processor's own instructions, where it has them: four rounds each.
 * See sha1.c. */
#include "session/sha1_x86.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define NI __attribute__((target("sha,sse4.1")))

bool sha1_x86_usable(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

struct work {
	__m128i abcd, e, words[4];
};

/* Rounds 4 * i to 4 * i + 3. `e` is always the last but one state's first word. */
#define FOUR(w, i)                                                                                 \
	do {                                                                                       \
		__m128i add_ = next_words(w, i);                                                   \
                                                                                                   \
		add_ = (i) == 0 ? _mm_add_epi32((w)->e, add_) : _mm_sha1nexte_epu32((w)->e, add_); \
		(w)->e = (w)->abcd;                                                                \
		(w)->abcd = _mm_sha1rnds4_epu32((w)->abcd, add_, (i) / 5);                         \
	} while (0)

#define TWENTY(w, i)              \
	do {                      \
		FOUR(w, i);       \
		FOUR(w, (i) + 1); \
		FOUR(w, (i) + 2); \
		FOUR(w, (i) + 3); \
		FOUR(w, (i) + 4); \
	} while (0)

/* The message itself for the first four, then what follows from the last sixteen words. */
NI static inline __m128i next_words(struct work *w, int i)
{
	__m128i *at = &w->words[i & 3];

	if (i >= 4)
		*at = _mm_sha1msg2_epu32(
			_mm_xor_si128(_mm_sha1msg1_epu32(*at, w->words[(i + 1) & 3]),
				      w->words[(i + 2) & 3]),
			w->words[(i + 3) & 3]);
	return *at;
}

NI void sha1_x86_take(uint32_t state[5], const uint8_t *bytes, size_t blocks)
{
	const __m128i swap = _mm_set_epi64x(0x0001020304050607LL, 0x08090a0b0c0d0e0fLL);
	__m128i abcd =
		_mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0x1b);
	__m128i e = _mm_set_epi32((int)state[4], 0, 0, 0);

	for (; blocks; blocks--, bytes += 64) {
		struct work w = { .abcd = abcd, .e = e };

		for (int i = 0; i < 4; i++)
			w.words[i] = _mm_shuffle_epi8(
				_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i)),
				swap);
		TWENTY(&w, 0);
		TWENTY(&w, 5);
		TWENTY(&w, 10);
		TWENTY(&w, 15);
		e = _mm_sha1nexte_epu32(w.e, e);
		abcd = _mm_add_epi32(w.abcd, abcd);
	}
	_mm_storeu_si128((__m128i *)(void *)state, _mm_shuffle_epi32(abcd, 0x1b));
	state[4] = (uint32_t)_mm_extract_epi32(e, 3);
}

#else

bool sha1_x86_usable(void)
{
	return false;
}

void sha1_x86_take(uint32_t state[5], const uint8_t *bytes, size_t blocks)
{
	(void)state;
	(void)bytes;
	(void)blocks;
}

#endif
