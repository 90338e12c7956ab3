/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/encoding.h"

#include "unit.h"

struct sample {
	enum encoding encoding;
	const char *raw;
	size_t len;
};

#define SAMPLE(encoding, raw)                  \
	{                                      \
		encoding, raw, sizeof(raw) - 1 \
	}

/* "aé\U0001f600" in each. */
static const struct sample samples[] = {
	SAMPLE(ENCODING_UTF8, "a\xc3\xa9\xf0\x9f\x98\x80"),
	SAMPLE(ENCODING_UTF8_MARKED, "\xef\xbb\xbf"
				     "a\xc3\xa9\xf0\x9f\x98\x80"),
	SAMPLE(ENCODING_UTF16LE, "\xff\xfe"
				 "a\0\xe9\0\x3d\xd8\x00\xde"),
	SAMPLE(ENCODING_UTF16BE, "\xfe\xff"
				 "\0a\0\xe9\xd8\x3d\xde\x00"),
	SAMPLE(ENCODING_UTF32LE, "\xff\xfe\0\0"
				 "a\0\0\0\xe9\0\0\0\x00\xf6\x01\0"),
	SAMPLE(ENCODING_UTF32BE, "\0\0\xfe\xff"
				 "\0\0\0a\0\0\0\xe9\0\x01\xf6\x00"),
};

static void the_mark_says_what_it_is_and_is_no_part_of_the_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct text raw = { samples[i].raw, samples[i].len };
		struct buf out = { 0 };
		struct err e = { 0 };

		assert_int_equal(encoding_of(raw), samples[i].encoding);
		assert_ok(encoding_decode(samples[i].encoding, raw, &out, &e));
		assert_string_equal(buf_str(&out), "a\xc3\xa9\xf0\x9f\x98\x80");
		buf_clear(&out);
	}
}

static void what_was_decoded_becomes_the_same_bytes_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buf out = { 0 };

		encoding_encode(samples[i].encoding, text_of("a\xc3\xa9\xf0\x9f\x98\x80"), &out);
		assert_int_equal(out.len, samples[i].len);
		assert_memory_equal(out.data, samples[i].raw, out.len);
		buf_clear(&out);
	}
}

static void refused(const char *raw, size_t len, const char *words)
{
	struct text t = { raw, len };
	struct buf out = { 0 };
	struct err e = { 0 };

	assert_refused(encoding_decode(encoding_of(t), t, &out, &e), EILSEQ, words);
	buf_clear(&out);
}

static void what_is_no_text_is_refused_with_its_place(void **state)
{
	(void)state;
	refused("caf\xe9 x", 6,
		"'utf-8' codec can't decode byte 0xe9 in position 3: invalid continuation byte");
	refused("\x80", 1,
		"'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte");
	refused("\xff\xfe\x3d\xd8", 4,
		"'utf-16-le' codec can't decode bytes in position 2: illegal encoding");
	refused("\xff\xfe\x00\xde\0a", 6,
		"'utf-16-le' codec can't decode bytes in position 2: illegal encoding");
	refused("\xfe\xff\xd8\x3d\0a", 6,
		"'utf-16-be' codec can't decode bytes in position 2: illegal encoding");
	refused("\xff\xfe"
		"a\0b",
		5, "'utf-16-le' codec can't decode bytes in position 4: truncated data");
	refused("\0\0\xfe\xff\0\x11\0\0", 8,
		"'utf-32-be' codec can't decode bytes in position 4: illegal encoding");
}

static void nothing_is_utf8(void **state)
{
	struct text none = { "", 0 };
	struct buf out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(encoding_of(none), ENCODING_UTF8);
	assert_ok(encoding_decode(ENCODING_UTF8, none, &out, &e));
	assert_int_equal(out.len, 0);
	buf_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mark_says_what_it_is_and_is_no_part_of_the_text),
		cmocka_unit_test(what_was_decoded_becomes_the_same_bytes_again),
		cmocka_unit_test(what_is_no_text_is_refused_with_its_place),
		cmocka_unit_test(nothing_is_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
