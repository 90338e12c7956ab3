/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/udiff.h"

#include "sandbox/executor/udiff_match.h"
#include "unit.h"

static void differ(const char *before, const char *after, const char *hunks)
{
	struct buf want = { 0 }, out = { 0 };

	if (*hunks)
		buf_printf(&want, "--- /f\n+++ /f\n%s", hunks);
	udiff(text_of("/f"), text_of(before), text_of(after), &out);
	assert_string_equal(buf_str(&out), buf_str(&want));
	buf_clear(&want);
	buf_clear(&out);
}

static void equal_texts_have_no_difference(void **state)
{
	(void)state;
	differ("", "", "");
	differ("a\nb\n", "a\nb\n", "");
}

static void what_a_new_file_has_stands_against_one_empty_line(void **state)
{
	(void)state;
	differ("", "a\nb", "@@ -1 +1,2 @@\n-\n+a\n+b");
	/* The line behind the last line feed is a line, and is there already. */
	differ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b");
	differ("a", "", "@@ -1 +1 @@\n-a\n+");
}

static void hunks_have_no_lines_around_them(void **state)
{
	(void)state;
	differ("1\n2\n3\n4\n5\n6", "1\nx\n3\n4\n5\ny\nz",
	       "@@ -2 +2 @@\n-2\n+x\n@@ -6 +6,2 @@\n-6\n+y\n+z");
	differ("1\n2\n3", "1\n3", "@@ -2 +1,0 @@\n-2");
	differ("1\n3", "1\n2\n2\n3", "@@ -1,0 +2,2 @@\n+2\n+2");
	differ("2\n3", "1\n2\n3", "@@ -0,0 +1 @@\n+1");
}

static void blanks_at_the_end_of_lines_are_not_shown(void **state)
{
	(void)state;
	differ("a  \nb", "a\t\nb", "@@ -1 +1 @@\n-a\n+a");
	differ("x\n   \n", "x\ny \xc2\xa0\n", "@@ -2 +2 @@\n-\n+y");
}

static void the_longest_common_block_is_matched_first(void **state)
{
	(void)state;
	/* "p" alone at the beginning would match, too. */
	differ("p\n1\n2\n3", "p\np\n1\n2\n3", "@@ -0,0 +1 @@\n+p");
	differ("a\nb\nc\nd\ne\nf", "c\nd\ne\nf\na\nb",
	       "@@ -1,2 +0,0 @@\n-a\n-b\n@@ -6,0 +5,2 @@\n+a\n+b");
	/* Of two as long, the first. */
	differ("a\nx\nb", "b\nx\na", "@@ -0,0 +1,2 @@\n+b\n+x\n@@ -2,2 +3,0 @@\n-x\n-b");
}

/* 300 lines of which every other is the same; what begins no match may continue one. */
static void frequent_lines_begin_no_block(void **state)
{
	struct buf before = { 0 }, after = { 0 }, out = { 0 };

	(void)state;
	for (int i = 0; i < 150; i++) {
		buf_printf(&before, "}\nline %d\n", i);
		buf_printf(&after, "}\nline %d\n%s", i, i == 70 ? "}\n" : "");
	}
	udiff(text_of("/f"), text_of(buf_str(&before)), text_of(buf_str(&after)), &out);
	assert_string_equal(buf_str(&out), "--- /f\n+++ /f\n@@ -142,0 +143 @@\n+}");
	buf_reset(&out);
	buf_reset(&after);
	/* Nothing but such lines in common: they are no match, but at the beginning. */
	for (int i = 0; i < 150; i++)
		buf_printf(&after, "}\nother %d\n", i);
	udiff(text_of("/f"), text_of(buf_str(&before)), text_of(buf_str(&after)), &out);
	assert_int_equal(
		strncmp(buf_str(&out), "--- /f\n+++ /f\n@@ -2,299 +2,299 @@\n-line 0\n-}\n", 45),
		0);
	buf_clear(&before);
	buf_clear(&after);
	buf_clear(&out);
}

static void texts_of_very_many_lines_lose_their_common_ends_first(void **state)
{
	struct buf before = { 0 }, after = { 0 }, out = { 0 };

	(void)state;
	for (int i = 0; i < UDIFF_LINES_MAX; i++) {
		buf_printf(&before, "%d\n", i);
		buf_printf(&after, i == 777 ? "x\n" : "%d\n", i);
	}
	udiff(text_of("/f"), text_of(buf_str(&before)), text_of(buf_str(&after)), &out);
	assert_string_equal(buf_str(&out), "--- /f\n+++ /f\n@@ -778 +778 @@\n-777\n+x");
	buf_clear(&before);
	buf_clear(&after);
	buf_clear(&out);
}

static void hunks_that_are_too_large_are_left_out(void **state)
{
	struct buf before = { 0 }, after = { 0 }, out = { 0 };
	char *large = calloc(1, UDIFF_BYTES_MAX + 1);

	(void)state;
	memset(large, 'x', UDIFF_BYTES_MAX);
	differ("a", large, "");
	buf_printf(&before, "a\nb\nc");
	buf_printf(&after, "A\nb\n%s", large);
	udiff(text_of("/f"), text_of(buf_str(&before)), text_of(buf_str(&after)), &out);
	assert_string_equal(buf_str(&out), "--- /f\n+++ /f\n@@ -1 +1 @@\n-a\n+A");
	buf_clear(&before);
	buf_clear(&after);
	buf_clear(&out);
	free(large);
}

/* The blocks are right, though few, however little work is allowed. */
static void without_steps_only_what_stands_next_to_each_other_is_matched(void **state)
{
	static const uint32_t before[] = { 1, 2, 3, 4, 5, 6, 7 }, after[] = { 1, 2, 9, 4, 9, 6, 7 };
	struct udiff_lines lines = { before, after, 7, 7, 10 };

	(void)state;
	for (uint64_t steps = 0; steps < 60; steps++) {
		struct udiff_blocks blocks;
		uint32_t at = 0;

		assert_int_equal(udiff_match(&lines, steps, &blocks), 0);
		for (uint32_t i = 0; i < blocks.n; i++) {
			const struct udiff_block *b = &blocks.block[i];

			assert_true(b->before >= at);
			for (uint32_t k = 0; k < b->n; k++)
				assert_int_equal(before[b->before + k], after[b->after + k]);
			at = b->before + b->n;
		}
		if (steps == 0 || steps == 59)
			assert_int_equal(blocks.n, steps ? 3 : 2);
		free(blocks.block);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_have_no_difference),
		cmocka_unit_test(what_a_new_file_has_stands_against_one_empty_line),
		cmocka_unit_test(hunks_have_no_lines_around_them),
		cmocka_unit_test(blanks_at_the_end_of_lines_are_not_shown),
		cmocka_unit_test(the_longest_common_block_is_matched_first),
		cmocka_unit_test(frequent_lines_begin_no_block),
		cmocka_unit_test(texts_of_very_many_lines_lose_their_common_ends_first),
		cmocka_unit_test(hunks_that_are_too_large_are_left_out),
		cmocka_unit_test(without_steps_only_what_stands_next_to_each_other_is_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
