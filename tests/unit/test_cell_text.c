/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/cell_text.h"

#include "unit.h"

static void says(struct cell_text *t, const char *want)
{
	struct buf out = { 0 };

	cell_text_take(t, &out);
	assert_string_equal(buf_str(&out), want);
	buf_clear(&out);
	assert_true(cell_text_empty(t));
}

static void adds(struct cell_text *t, const char *text)
{
	cell_text_add(t, text, strlen(text));
}

static void blanks_at_the_end_go_and_those_at_the_start_stay(void **state)
{
	struct cell_text t = { 0 };

	(void)state;
	assert_true(cell_text_empty(&t));
	adds(&t, "  a\n");
	adds(&t, "b \t\r\n\n");
	assert_false(cell_text_empty(&t));
	says(&t, "  a\nb");
	adds(&t, "\n");
	assert_false(cell_text_empty(&t));
	says(&t, "");
	says(&t, "");
}

static void colours_go_and_other_escapes_stay(void **state)
{
	struct cell_text t = { 0 };

	(void)state;
	adds(&t, "\033[0;31mred\033[0m \033[38;5;28;01mgreen\033[m \033[2K \033[31");
	says(&t, "red green \033[2K \033[31");
	adds(&t, "\033[1mbold\033[0m\n");
	says(&t, "bold");
}

/* Numbered, so that any gap or repetition shows. */
static void fill(struct cell_text *t, unsigned from, unsigned to)
{
	char line[16];

	for (unsigned i = from; i < to; i++)
		cell_text_add(t, line, (size_t)snprintf(line, sizeof(line), "%07u\n", i));
}

static void text_of_the_most_length_is_whole(void **state)
{
	enum { LINES = (CELL_HEAD_BYTES + CELL_TAIL_BYTES) / 8 };
	struct cell_text t = { 0 };
	struct buf out = { 0 };
	char line[16];

	(void)state;
	fill(&t, 0, LINES);
	cell_text_take(&t, &out);
	assert_int_equal(out.len, (size_t)LINES * 8 - 1);
	for (unsigned i = 0; i < LINES; i++) {
		(void)snprintf(line, sizeof(line), "%07u", i);
		assert_memory_equal(out.data + (size_t)i * 8, line, 7);
	}
	buf_clear(&out);
}

static void of_more_the_first_and_the_last_are_kept(void **state)
{
	static const char mark[] = "\n[... Observation truncated due to length ...]\n";
	struct cell_text t = { 0 };
	struct buf out = { 0 };

	(void)state;
	fill(&t, 0, 1000000);
	cell_text_take(&t, &out);
	assert_int_equal(out.len, CELL_HEAD_BYTES + CELL_TAIL_BYTES + strlen(mark) - 1);
	assert_memory_equal(out.data, "0000000\n0000001\n", 16);
	assert_memory_equal(out.data + CELL_HEAD_BYTES, mark, strlen(mark));
	assert_string_equal(out.data + out.len - 15, "0999998\n0999999");
	buf_clear(&out);
}

/* One long piece, longer than all that is kept of the end. */
static void one_piece_may_be_longer_than_all_that_is_kept(void **state)
{
	size_t len = CELL_HEAD_BYTES + 3 * CELL_TAIL_BYTES + 5;
	struct cell_text t = { 0 };
	struct buf out = { 0 };
	char *bytes = malloc(len);

	(void)state;
	memset(bytes, 'a', len);
	memcpy(bytes + len - 3, "end", 3);
	cell_text_add(&t, bytes, len);
	cell_text_take(&t, &out);
	assert_true(out.len < CELL_HEAD_BYTES + CELL_TAIL_BYTES + 100);
	assert_string_equal(out.data + out.len - 5, "aaend");
	buf_clear(&out);
	free(bytes);
}

static void no_character_is_cut_in_two(void **state)
{
	struct cell_text t = { 0 };
	struct buf out = { 0 };

	(void)state;
	adds(&t, "x"); /* so that neither cut is between two of them */
	for (int i = 0; i < 600000; i++)
		cell_text_add(&t, "\xe2\x82\xac", 3);
	adds(&t, "yy");
	cell_text_take(&t, &out);
	assert_null(strstr(out.data, "\xe2\n"));
	assert_null(strstr(out.data, "\xe2\x82\n"));
	assert_non_null(strstr(out.data, "\xe2\x82\xac\n[..."));
	assert_non_null(strstr(out.data, "...]\n\xe2\x82\xac"));
	buf_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_at_the_end_go_and_those_at_the_start_stay),
		cmocka_unit_test(colours_go_and_other_escapes_stay),
		cmocka_unit_test(text_of_the_most_length_is_whole),
		cmocka_unit_test(of_more_the_first_and_the_last_are_kept),
		cmocka_unit_test(one_piece_may_be_longer_than_all_that_is_kept),
		cmocka_unit_test(no_character_is_cut_in_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
