/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "unit.h"

static void numbers_are_parsed_whole_or_refused(void **state)
{
	static const char *const bad[] = { "",	   "-1",  "+1",	 " 1",	    "1 ",
					   "0x10", "1e3", "1.0", "\xd9\xa1" };
	struct err e = { 0 };
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(str_u64(bad[i], 0, UINT64_MAX, &n, &e), -EINVAL);
	assert_int_equal(n, 7);
	assert_refused(str_u64("18446744073709551616", 0, UINT64_MAX, &n, &e), ERANGE,
		       "'18446744073709551616' is too large");
	assert_refused(str_u64("65536", 1, 65535, &n, &e), ERANGE,
		       "65536 is not between 1 and 65535");
	assert_ok(str_u64("18446744073709551615", 0, UINT64_MAX, &n, &e));
	assert_true(n == UINT64_MAX);
	assert_ok(str_u64("0012", 0, 20, &n, &e));
	assert_int_equal(n, 12);
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "10B", 10 },
		{ "1K", 1024 },
		{ "1KiB", 1024 },
		{ "512M", 512ULL << 20 },
		{ "2G", 2ULL << 30 },
		{ "1.5G", 3ULL << 29 },
		{ "0.125K", 128 },
		{ "1T", 1ULL << 40 },
		{ "7GB", 7ULL << 30 },
		{ "0.001", 0 },
	};
	static const char *const bad[] = { "",	  "-1",	 "1e9G",    "G",   "1GG", "1g",
					   ".5G", "1.G", "1.2345G", "1 G", "inf" };
	struct err e = { 0 };
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(str_size(bad[i], &n, &e), -EINVAL);
	assert_refused(str_size("1e9G", &n, &e), EINVAL, "'1e9G' is not a size such as 512M or 2G");
	assert_int_equal(str_size("8388608T", &n, &e), -ERANGE);
	assert_int_equal(str_size("99999999999999999T", &n, &e), -ERANGE);
	assert_int_equal(n, 7);
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_ok(str_size(good[i].text, &n, &e));
		assert_int_equal(n, good[i].bytes);
	}
}

static void durations_are_in_milliseconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = { { "500ms", 500 }, { "30s", 30000 }, { "5m", 300000 },  { "2h", 7200000 },
		     { "1.5", 1500 },  { "0.25", 250 },	 { "1d", 86400000 } };
	static const char *const bad[] = { "", "-1s", "1w", "s", "1 s", "1e3" };
	struct err e = { 0 };
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(str_duration(bad[i], &n, &e), -EINVAL);
	assert_refused(str_duration("1000000000d", &n, &e), ERANGE, "'1000000000d' is too long");
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_ok(str_duration(good[i].text, &n, &e));
		assert_int_equal(n, good[i].ms);
	}
}

static void cpus_have_three_decimals(void **state)
{
	struct err e = { 0 };
	uint64_t n = 7;

	(void)state;
	assert_ok(str_milli("1.5", &n, &e));
	assert_int_equal(n, 1500);
	assert_ok(str_milli("0.001", &n, &e));
	assert_int_equal(n, 1);
	assert_refused(str_milli("0.0001", &n, &e), EINVAL,
		       "'0.0001' is not a number such as 2 or 1.5");
	assert_int_equal(str_milli("-1", &n, &e), -EINVAL);
	assert_refused(str_milli("18446744073709551615", &n, &e), ERANGE,
		       "'18446744073709551615' is too large");
}

static void secrets_compare_wholly(void **state)
{
	(void)state;
	assert_true(str_eq_secret("abc", "abc"));
	assert_false(str_eq_secret("abcabc", "abc"));
	assert_false(str_eq_secret("abc", "abcabc"));
	assert_false(str_eq_secret("", "a"));
	assert_false(str_eq_secret("a", ""));
	assert_true(str_eq_secret("", ""));
}

static void names_are_printable_and_of_one_part(void **state)
{
	(void)state;
	assert_true(str_is_name("a-b.c", 5));
	assert_false(str_is_name("a-b.cd", 5));
	assert_false(str_is_name("", 5));
	assert_false(str_is_name("a b", 5));
	assert_false(str_is_name("a/b", 5));
	assert_false(str_is_name("a\n", 5));
	assert_false(str_is_name("\xc3\xa4", 5));
}

static void ends_and_starts_are_found(void **state)
{
	struct err e = { 0 };
	char *text = str_fmt(&e, "%s-%d", "a", 1);

	(void)state;
	assert_true(str_starts("abc", "ab"));
	assert_false(str_starts("a", "ab"));
	assert_true(str_ends("abc", "bc"));
	assert_false(str_ends("c", "bc"));
	assert_true(str_eq("a", "a"));
	assert_false(str_eq(NULL, NULL));
	assert_string_equal(text, "a-1");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_parsed_whole_or_refused),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(durations_are_in_milliseconds),
		cmocka_unit_test(cpus_have_three_decimals),
		cmocka_unit_test(secrets_compare_wholly),
		cmocka_unit_test(names_are_printable_and_of_one_part),
		cmocka_unit_test(ends_and_starts_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
