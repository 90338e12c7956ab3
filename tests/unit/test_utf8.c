/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "unit.h"

static void well_formed_sequences_have_their_length(void **state)
{
	(void)state;
	assert_int_equal(utf8_sequence("a", 1), 1);
	assert_int_equal(utf8_sequence("\0", 1), 1);
	assert_int_equal(utf8_sequence("\xc2\x80", 2), 2);
	assert_int_equal(utf8_sequence("\xe0\xa0\x80", 3), 3);
	assert_int_equal(utf8_sequence("\xed\x9f\xbf", 3), 3);
	assert_int_equal(utf8_sequence("\xf0\x90\x80\x80", 4), 4);
	assert_int_equal(utf8_sequence("\xf4\x8f\xbf\xbf", 4), 4);
}

static void ill_formed_ones_have_none(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2 ",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xe2\x82",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf0\x9f\x98",
		"\xff",
	};

	(void)state;
	assert_int_equal(utf8_sequence("", 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(utf8_sequence(bad[i], strlen(bad[i])), 0);
}

static void the_first_bad_byte_is_found_anywhere(void **state)
{
	char text[40];

	(void)state;
	for (size_t at = 0; at < sizeof(text); at++) {
		memset(text, 'a', sizeof(text));
		text[at] = '\xff';
		assert_int_equal(utf8_check(text, sizeof(text)), at);
	}
	assert_int_equal(utf8_check("abcdefg\xc3\xa4hi", 11), 11);
	assert_int_equal(utf8_check("", 0), 0);
}

static void code_points_become_sequences_and_back(void **state)
{
	static const uint32_t codes[] = { 0,	 0x41,	 0x7f,	  0x80,	   0x7ff,
					  0x800, 0xffff, 0x10000, 0x10ffff };
	char bytes[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		size_t n = utf8_put(codes[i], bytes);

		assert_int_equal(utf8_sequence(bytes, n), n);
		assert_int_equal(utf8_code(bytes, n), codes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_sequences_have_their_length),
		cmocka_unit_test(code_points_become_sequences_and_back),
		cmocka_unit_test(ill_formed_ones_have_none),
		cmocka_unit_test(the_first_bad_byte_is_found_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
