/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/observation.h"

#include "unit.h"

static void seconds_are_floats_in_their_shortest_form(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = { { 1, "1.0" },	{ 1.5, "1.5" },
		      { 120, "120.0" }, { 0.1, "0.1" },
		      { 2.25, "2.25" }, { 0.30000000000000004, "0.30000000000000004" },
		      { 600, "600.0" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = { 0 };

		observation_seconds(&out, cases[i].value);
		assert_string_equal(buf_str(&out), cases[i].text);
		buf_clear(&out);
	}
}

static void long_output_keeps_both_ends(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < OBSERVED_CHARS; i++)
		buf_puts(&b, "\xc3\xa4"); /* counted in characters, not bytes */
	observation_shorten(&b);
	assert_int_equal(b.len, 2 * OBSERVED_CHARS);
	buf_puts(&b, "end");
	observation_shorten(&b);
	assert_non_null(strstr(
		b.data, "\xc3\xa4\n[... Observation truncated due to length ...]\n\xc3\xa4"));
	assert_string_equal(b.data + b.len - 3, "end");
	assert_int_equal(b.len,
			 2 * OBSERVED_CHARS - 3 +
				 strlen("\n[... Observation truncated due to length ...]\n"));
	buf_clear(&b);
}

static void blanks_go_at_both_ends_alone(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_puts(&b, "\n\n  a\n\n  b \n\n");
	observation_trim(&b);
	assert_string_equal(buf_str(&b), "a\n\n  b");
	buf_reset(&b);
	observation_trim(&b);
	assert_string_equal(buf_str(&b), "");
	buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_floats_in_their_shortest_form),
		cmocka_unit_test(long_output_keeps_both_ends),
		cmocka_unit_test(blanks_go_at_both_ends_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
