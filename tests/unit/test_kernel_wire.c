/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/kernel_wire.h"

#include "unit.h"

#define DECODE(bytes, r) kernel_reply_decode((bytes), sizeof(bytes) - 1, (r))

static void a_cell_is_five_numbers_and_three_texts(void **state)
{
	struct kernel_cell cell = { .sequence = 0x01020304,
				    .interrupts = 2,
				    .cwd = "/a",
				    .first = { "f", 1 },
				    .code = { "x\0y", 3 } };
	struct buf out = { 0 };

	(void)state;
	kernel_cell_encode(&cell, &out);
	assert_int_equal(out.len, 26);
	assert_memory_equal(out.data,
			    "\1\2\3\4\0\0\0\2\0\0\0\2\0\0\0\1\0\0\0\3"
			    "/afx\0y",
			    26);
	buf_clear(&out);
}

static void nothing_to_run_first_is_nothing(void **state)
{
	struct kernel_cell cell = { .cwd = "" };
	struct buf out = { 0 };

	(void)state;
	kernel_cell_encode(&cell, &out);
	assert_int_equal(out.len, 20);
	buf_clear(&out);
}

static void a_whole_reply_is_taken_and_no_more(void **state)
{
	static const char two[] = "i\0\0\0\3PNGd\0\0\0\4\1\2\3\4d";
	struct kernel_reply r;

	(void)state;
	assert_int_equal(DECODE(two, &r), 8);
	assert_int_equal(r.said, KERNEL_SAID_IMAGE);
	assert_int_equal(r.text.len, 3);
	assert_memory_equal(r.text.at, "PNG", 3);
	assert_int_equal(kernel_reply_decode(two + 8, sizeof(two) - 9, &r), 9);
	assert_int_equal(r.said, KERNEL_SAID_DONE);
	assert_int_equal(r.sequence, 0x01020304);
	assert_int_equal(DECODE("h\0\0\0\0", &r), 5);
	assert_int_equal(r.said, KERNEL_SAID_UP);
	assert_int_equal(r.text.len, 0);
}

static void part_of_a_reply_asks_for_more(void **state)
{
	static const char reply[] = "d\0\0\0\4\1\2\3\4";
	struct kernel_reply r;

	(void)state;
	for (size_t len = 0; len < sizeof(reply) - 1; len++)
		assert_int_equal(kernel_reply_decode(reply, len, &r), 0);
	/* Of the longest image, too. */
	assert_int_equal(DECODE("i\0\x80\0\0abc", &r), 0);
}

static void nonsense_is_refused_by_its_head(void **state)
{
	struct kernel_reply r;

	(void)state;
	assert_int_equal(DECODE("x", &r), -EPROTO);
	assert_int_equal(DECODE("\xff\xff\xff\xff\xff", &r), -EPROTO);
	assert_int_equal(DECODE("i\xff\xff\xff\xff", &r), -EPROTO);
	assert_int_equal(DECODE("i\0\x80\0\1", &r), -EPROTO);
	assert_int_equal(DECODE("i\0\0\0\0", &r), -EPROTO);
	assert_int_equal(DECODE("h\0\0\x10\1", &r), -EPROTO);
	assert_int_equal(DECODE("d\0\0\0\3abc", &r), -EPROTO);
	assert_int_equal(DECODE("d\0\0\0\5abcde", &r), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_is_five_numbers_and_three_texts),
		cmocka_unit_test(nothing_to_run_first_is_nothing),
		cmocka_unit_test(a_whole_reply_is_taken_and_no_more),
		cmocka_unit_test(part_of_a_reply_asks_for_more),
		cmocka_unit_test(nonsense_is_refused_by_its_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
