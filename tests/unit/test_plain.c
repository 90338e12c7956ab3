/* SPDX-License-Identifier: MIT */
#include "cli/plain.h"

#include "unit.h"

static void shows(const char *text, size_t len, const char *expected)
{
	/* In one piece, and byte by byte. */
	for (size_t step = len; step; step = step > 1 ? 1 : 0) {
		autobuf struct buf out = { 0 };
		struct plain p = { .led = false };

		for (size_t at = 0; at < len; at += step)
			plain_add(&p, &out, text + at, step);
		plain_end(&p, &out);
		assert_string_equal(buf_str(&out), expected);
	}
}

static void text_stays_as_it_is(void **state)
{
	static const char text[] = "+\tint a; /* \xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa9 */\n";

	(void)state;
	shows(text, sizeof(text) - 1, text);
	shows("\xc2", 1, "\xc2");
	shows("\xc2\xc2x", 3, "\xc2\xc2x");
}

static void nothing_is_left_that_a_terminal_obeys(void **state)
{
	(void)state;
	shows("\033]52;c;ZXZpbA==\a", 16, "^[]52;c;ZXZpbA==^G");
	shows("a\rb\0c\177", 6, "a^Mb^@c^?");
	shows("\xc2\x9b"
	      "2J",
	      4, "<U+009B>2J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays_as_it_is),
		cmocka_unit_test(nothing_is_left_that_a_terminal_obeys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
