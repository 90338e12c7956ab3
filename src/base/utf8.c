/* SPDX-License-Identifier: MIT */
/* utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <string.h>

static bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_sequence(const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	/* The narrower bounds of the second byte shut out overlong forms, surrogates and the rest. */
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return len >= 2 && continues(p[1]) ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		unsigned char low = p[0] == 0xe0 ? 0xa0 : 0x80, high = p[0] == 0xed ? 0x9f : 0xbf;

		return len >= 3 && p[1] >= low && p[1] <= high && continues(p[2]) ? 3 : 0;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		unsigned char low = p[0] == 0xf0 ? 0x90 : 0x80, high = p[0] == 0xf4 ? 0x8f : 0xbf;

		return len >= 4 && p[1] >= low && p[1] <= high && continues(p[2]) && continues(p[3])
			       ? 4
			       : 0;
	}
	return 0;
}

/* Eight bytes of ASCII at a time: texts are mostly that. */
static bool ascii_word(const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return !(word & 0x8080808080808080ULL);
}

size_t utf8_check(const char *bytes, size_t len)
{
	size_t at = 0, n;

	while (at < len) {
		if (len - at >= 8 && ascii_word(bytes + at)) {
			at += 8;
			continue;
		}
		n = utf8_sequence(bytes + at, len - at);
		if (!n)
			break;
		at += n;
	}
	return at;
}

uint32_t utf8_code(const char *bytes, size_t n)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)bytes[0] & first[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)bytes[i] & 0x3f);
	return code;
}

size_t utf8_put(uint32_t code, char out[4])
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	out[0] = (char)(first[n] | code);
	return n;
}
