/* SPDX-License-Identifier: MIT */
/* encoding.c - see encoding.h. */
#include "sandbox/executor/encoding.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Wider marks first: one of 32 bits begins as one of 16 does. */
static const struct {
	enum encoding encoding;
	const char *name, *mark;
	unsigned mark_len, unit; /* bytes */
	bool big;		 /* the high byte first */
} encodings[] = {
	{ ENCODING_UTF32LE, "utf-32-le", "\xff\xfe\0\0", 4, 4, false },
	{ ENCODING_UTF32BE, "utf-32-be", "\0\0\xfe\xff", 4, 4, true },
	{ ENCODING_UTF16LE, "utf-16-le", "\xff\xfe", 2, 2, false },
	{ ENCODING_UTF16BE, "utf-16-be", "\xfe\xff", 2, 2, true },
	{ ENCODING_UTF8_MARKED, "utf-8", "\xef\xbb\xbf", 3, 1, false },
	{ ENCODING_UTF8, "utf-8", "", 0, 1, false },
};

static size_t row_of(enum encoding encoding)
{
	size_t i = 0;

	while (encodings[i].encoding != encoding)
		i++;
	return i;
}

enum encoding encoding_of(struct text raw)
{
	size_t i = 0;

	while (raw.len < encodings[i].mark_len ||
	       (encodings[i].mark_len &&
		memcmp(raw.at, encodings[i].mark, encodings[i].mark_len) != 0))
		i++;
	return encodings[i].encoding;
}

static int refuse(struct err *e, size_t row, size_t at, const char *why)
{
	return err_code(e, EILSEQ, "'%s' codec can't decode bytes in position %zu: %s",
			encodings[row].name, at, why);
}

static int decode_utf8(struct text raw, size_t mark, struct buf *out, struct err *e)
{
	size_t good = mark + utf8_check(raw.at + mark, raw.len - mark);
	const char *why = "invalid continuation byte";
	unsigned char byte;

	if (good == raw.len) {
		buf_add(out, raw.at + mark, raw.len - mark);
		return 0;
	}
	byte = (unsigned char)raw.at[good];
	if (byte < 0xc2 || byte > 0xf4)
		why = "invalid start byte";
	return err_code(e, EILSEQ, "'utf-8' codec can't decode byte 0x%02x in position %zu: %s",
			byte, good, why);
}

static uint32_t unit_at(const char *bytes, size_t row)
{
	const unsigned char *p = (const unsigned char *)bytes;
	unsigned n = encodings[row].unit;
	uint32_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value = value << 8 | p[encodings[row].big ? i : n - 1 - i];
	return value;
}

static void put_unit(uint32_t value, size_t row, struct buf *out)
{
	unsigned n = encodings[row].unit;
	char bytes[4];

	for (unsigned i = 0; i < n; i++) {
		bytes[encodings[row].big ? n - 1 - i : i] = (char)(value & 0xff);
		value >>= 8;
	}
	buf_add(out, bytes, n);
}

/* One character of 16 or 32 bits a unit. Returns the bytes it takes, or 0 with *why. */
static size_t wide_char(struct text raw, size_t at, size_t row, uint32_t *code, const char **why)
{
	unsigned n = encodings[row].unit;
	uint32_t low;

	*why = "truncated data";
	if (raw.len - at < n)
		return 0;
	*code = unit_at(raw.at + at, row);
	*why = "illegal encoding";
	if (*code < 0xd800 || (*code > 0xdfff && *code < 0x110000))
		return n;
	if (n == 4 || *code > 0xdbff || raw.len - at < 4)
		return 0;
	low = unit_at(raw.at + at + 2, row);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

int encoding_decode(enum encoding encoding, struct text raw, struct buf *out, struct err *e)
{
	size_t row = row_of(encoding), at = encodings[row].mark_len, n;
	const char *why;
	char bytes[4];
	uint32_t code;

	if (encodings[row].unit == 1)
		return decode_utf8(raw, at, out, e);
	for (; at < raw.len; at += n) {
		n = wide_char(raw, at, row, &code, &why);
		if (!n)
			return refuse(e, row, at, why);
		buf_add(out, bytes, utf8_put(code, bytes));
	}
	return 0;
}

void encoding_encode(enum encoding encoding, struct text utf8, struct buf *out)
{
	size_t row = row_of(encoding), n;

	buf_add(out, encodings[row].mark, encodings[row].mark_len);
	if (encodings[row].unit == 1) {
		buf_add(out, utf8.at, utf8.len);
		return;
	}
	for (size_t at = 0; at < utf8.len; at += n) {
		uint32_t code;

		n = utf8_sequence(utf8.at + at, utf8.len - at);
		if (!n)
			n = 1;
		code = utf8_code(utf8.at + at, n);
		if (encodings[row].unit == 2 && code > 0xffff) {
			put_unit(0xd800 + ((code - 0x10000) >> 10), row, out);
			code = 0xdc00 + ((code - 0x10000) & 0x3ff);
		}
		put_unit(code, row, out);
	}
}
