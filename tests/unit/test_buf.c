/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "unit.h"

static void appended_bytes_stand_behind_each_other_with_a_nul(void **state)
{
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_string_equal(buf_str(&b), "");
	buf_puts(&b, "ab");
	buf_putc(&b, 'c');
	buf_printf(&b, "%05d", 42);
	buf_add(&b, "\0x", 2);
	buf_add(&b, NULL, 0);
	assert_ok(buf_check(&b, &e));
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "abc00042\0x", 11);
}

static void beyond_the_limit_everything_fails_at_the_end(void **state)
{
	autobuf struct buf b = { .limit = 4 };
	struct err e = { 0 };

	(void)state;
	buf_puts(&b, "1234");
	assert_ok(buf_check(&b, &e));
	buf_putc(&b, '5');
	assert_refused(buf_check(&b, &e), EFBIG,
		       "text does not fit in memory or in its limit of 4 bytes");
	buf_reset(&b);
	buf_puts(&b, "12");
	buf_printf(&b, "%s", "345");
	buf_puts(&b, "3");
	assert_true(b.failed);
	assert_string_equal(buf_str(&b), "12");
	assert_null(buf_take(&b));
}

static void sizes_that_would_wrap_are_refused(void **state)
{
	autobuf struct buf b = { .limit = SIZE_MAX };

	(void)state;
	buf_puts(&b, "1");
	buf_add(&b, "x", SIZE_MAX - 1);
	assert_true(b.failed);
	assert_int_equal(b.len, 1);
}

static void taken_bytes_are_the_callers(void **state)
{
	autobuf struct buf b = { .limit = 100 };
	char *taken = buf_take(&b);

	(void)state;
	assert_string_equal(taken, "");
	free(taken);
	buf_puts(&b, "x");
	taken = buf_take(&b);
	assert_string_equal(taken, "x");
	assert_int_equal(b.len, 0);
	assert_int_equal(b.limit, 100);
	free(taken);
}

static void growth_keeps_what_is_there(void **state)
{
	autobuf struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%04d", i);
	assert_int_equal(b.len, 40000);
	assert_memory_equal(b.data + 4 * 1234, "1234", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_bytes_stand_behind_each_other_with_a_nul),
		cmocka_unit_test(beyond_the_limit_everything_fails_at_the_end),
		cmocka_unit_test(sizes_that_would_wrap_are_refused),
		cmocka_unit_test(taken_bytes_are_the_callers),
		cmocka_unit_test(growth_keeps_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
