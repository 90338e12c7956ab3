/* SPDX-License-Identifier: MIT */
#include "unit.h"

static void errno_becomes_code_and_words(void **state)
{
	struct err e = { 0 };

	(void)state;
	errno = ENOENT;
	assert_refused(err_errno(&e, "open '%s'", "a"), ENOENT,
		       "open 'a': No such file or directory");
}

static void no_errno_is_still_an_error(void **state)
{
	struct err e = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(err_errno(&e, "x"), -EIO);
}

static void our_own_refusal_is_told_as_it_is(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_refused(err_code(&e, EINVAL, "limit %d", 5), EINVAL, "limit 5");
}

static void wrapping_keeps_the_code_and_puts_words_before(void **state)
{
	struct err e = { 0 };

	(void)state;
	(void)err_code(&e, EBUSY, "inner");
	assert_refused(err_wrap(&e, "outer %d", 1), EBUSY, "outer 1: inner");
}

static void long_texts_are_cut_not_overrun(void **state)
{
	struct err e = { 0 };
	char words[2 * ERR_TEXT_BYTES];

	(void)state;
	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	errno = EPERM;
	(void)err_errno(&e, "%s", words);
	assert_int_equal(strlen(e.text), ERR_TEXT_BYTES - 1);
	(void)err_wrap(&e, "%s", words);
	(void)err_wrap(&e, "first");
	assert_int_equal(strlen(e.text), ERR_TEXT_BYTES - 1);
	assert_memory_equal(e.text, "first: www", 10);
	assert_int_equal(e.code, EPERM);
}

static void the_first_error_is_kept(void **state)
{
	struct err first = { 0 }, next = { 0 };

	(void)state;
	(void)err_code(&next, EPERM, "one");
	err_keep(&first, &next);
	(void)err_code(&next, EBUSY, "two");
	err_keep(&first, &next);
	assert_int_equal(first.code, EPERM);
	assert_string_equal(first.text, "one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errno_becomes_code_and_words),
		cmocka_unit_test(no_errno_is_still_an_error),
		cmocka_unit_test(our_own_refusal_is_told_as_it_is),
		cmocka_unit_test(wrapping_keeps_the_code_and_puts_words_before),
		cmocka_unit_test(long_texts_are_cut_not_overrun),
		cmocka_unit_test(the_first_error_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
