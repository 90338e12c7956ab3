/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/edit_text.h"

#include "unit.h"

#define NUMBERED "Here's the result of running `cat -n` on "
#define REVIEW \
	"Review the changes and make sure they are as expected. Edit the file again if necessary."
#define REVIEW_INSERT                                                                     \
	"Review the changes and make sure they are as expected (correct indentation, no " \
	"duplicate lines, etc). Edit the file again if necessary."

/* A text in the editor's hands, what came of it and what was said. */
struct hand {
	struct buf plain, changed, said;
	struct edit_text t;
};

static struct hand in_hand(const char *text)
{
	struct hand h = { .plain = { 0 } };

	edit_text_init(&h.t, "/f", text_of(text), &h.plain);
	return h;
}

static void drop(struct hand *h)
{
	buf_clear(&h->plain);
	buf_clear(&h->changed);
	buf_clear(&h->said);
}

static void replaces(const char *text, const char *old, const char *new, const char *changed,
		     const char *said)
{
	struct hand h = in_hand(text);

	assert_true(edit_replace(&h.t, text_of(old), text_of(new), &h.changed, &h.said));
	assert_string_equal(buf_str(&h.changed), changed);
	if (said)
		assert_string_equal(buf_str(&h.said), said);
	drop(&h);
}

static void refuses(const char *text, const char *old, const char *said)
{
	struct hand h = in_hand(text);

	assert_false(edit_replace(&h.t, text_of(old), text_of("new"), &h.changed, &h.said));
	assert_int_equal(h.changed.len, 0);
	assert_string_equal(buf_str(&h.said), said);
	drop(&h);
}

static void inserts(const char *text, int64_t line, const char *new, const char *changed,
		    const char *said)
{
	struct hand h = in_hand(text);

	assert_true(edit_insert(&h.t, line, text_of(new), &h.changed, &h.said));
	assert_string_equal(buf_str(&h.changed), changed);
	if (said)
		assert_string_equal(buf_str(&h.said), said);
	drop(&h);
}

static void views(const char *text, bool good, int64_t first, int64_t last, const char *said)
{
	struct edit_range r = { .given = true,
				.good = true,
				.first = first,
				.last = last,
				.shown = text_of("[a, b]") };
	struct hand h = in_hand(text);

	assert_int_equal(edit_view(&h.t, &r, &h.said), good);
	assert_string_equal(buf_str(&h.said), said);
	drop(&h);
}

/* "line 1" to "line n", the last without an end. */
static char *numbered_lines(int n)
{
	static char text[4096];
	size_t at = 0;

	for (int i = 1; i <= n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%sline %d", i > 1 ? "\n" : "",
				       i);
	return text;
}

/* --- texts ----------------------------------------------------------------------------------- */

static void blanks_of_any_kind_are_stripped(void **state)
{
	struct text t =
		text_strip(text_of(" \t\r\n\x1c\xc2\x85\xe2\x80\xa8\xe3\x80\x80x y\xc2\xa0 \x0b"));

	(void)state;
	assert_int_equal(t.len, 3);
	assert_memory_equal(t.at, "x y", 3);
	assert_int_equal(text_strip(text_of(" \n ")).len, 0);
	/* No blank: a byte of a longer sequence, or of none. */
	assert_int_equal(text_strip(text_of("\xe2\x80")).len, 2);
	assert_int_equal(text_strip(text_of("a\xa0")).len, 2);
}

static void a_text_that_is_missing_is_not_an_empty_one(void **state)
{
	struct text none = { NULL, 0 }, empty = { "", 0 };

	(void)state;
	assert_false(text_eq(none, empty));
	assert_true(text_eq(none, none));
	assert_true(text_eq(empty, text_of("")));
	assert_false(text_eq(text_of("a"), text_of("b")));
}

static void line_ends_have_a_plain_form_and_a_way_back(void **state)
{
	static const char odd[] = "a\r\nb\rc\nd\r\r\n\n";
	struct text t = { odd, sizeof(odd) - 1 };
	struct buf plain = { 0 }, styled = { 0 };

	(void)state;
	newline_plain(t, &plain);
	assert_string_equal(buf_str(&plain), "a\nb\nc\nd\n\n\n");
	assert_int_equal(newline_offset(t, 0), 0);
	assert_int_equal(newline_offset(t, 1), 1);
	assert_int_equal(newline_offset(t, 2), 3);
	assert_int_equal(newline_offset(t, 8), 9);
	assert_int_equal(newline_offset(t, 10), 12);
	assert_int_equal(newline_offset(t, 99), 12);
	newline_styled(text_of("a\n\nb"), NEWLINE_CRLF, &styled);
	assert_string_equal(buf_str(&styled), "a\r\n\r\nb");
	buf_clear(&plain);
	buf_clear(&styled);
}

static void most_lines_decide_on_the_style(void **state)
{
	(void)state;
	assert_int_equal(newline_style(text_of("")), NEWLINE_LF);
	assert_int_equal(newline_style(text_of("a\nb\r\nc\n")), NEWLINE_LF);
	assert_int_equal(newline_style(text_of("a\r\nb\r\nc\n")), NEWLINE_CRLF);
	assert_int_equal(newline_style(text_of("a\rb\rc")), NEWLINE_CR);
	assert_int_equal(newline_style(text_of("a\rb\n")), NEWLINE_LF);
}

/* --- numbers --------------------------------------------------------------------------------- */

static void lines_are_numbered_the_empty_one_at_the_end_too(void **state)
{
	struct buf b = { 0 };

	(void)state;
	edit_number(text_of("a\n\nb\n"), "/f", 1, &b);
	assert_string_equal(buf_str(&b),
			    NUMBERED "/f:\n     1\ta\n     2\t\n     3\tb\n     4\t\n");
	buf_reset(&b);
	edit_number(text_of(""), "/f", 1, &b);
	assert_string_equal(buf_str(&b), NUMBERED "/f:\n     1\t\n");
	buf_reset(&b);
	edit_number(text_of("x"), "/f", 1234567, &b);
	assert_string_equal(buf_str(&b), NUMBERED "/f:\n1234567\tx\n");
	buf_clear(&b);
}

static void long_texts_are_cut_by_characters_before_they_are_numbered(void **state)
{
	static char text[2 * EDIT_SHOWN_CHARS + 10];
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < EDIT_SHOWN_CHARS; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	edit_number((struct text) { text, 2 * EDIT_SHOWN_CHARS }, "/f", 1, &b);
	assert_null(strstr(buf_str(&b), "clipped"));
	buf_reset(&b);
	text[2 * EDIT_SHOWN_CHARS] = '\n';
	edit_number((struct text) { text, 2 * EDIT_SHOWN_CHARS + 1 }, "/f", 1, &b);
	assert_non_null(strstr(
		buf_str(&b),
		"\xc3\xa9<response clipped><NOTE>Due to the max output limit, only part of this file "
		"has been shown to you. You should retry this tool after you have searched inside "
		"the file with `grep -n` in order to find the line numbers of what you are looking "
		"for.</NOTE>\n"));
	buf_clear(&b);
}

/* --- view ------------------------------------------------------------------------------------ */

static void a_range_of_lines_is_shown_without_an_empty_one_behind(void **state)
{
	(void)state;
	views("a\nb\nc\n", true, 2, 3, NUMBERED "/f:\n     2\tb\n     3\tc\n");
	views("a\nb\nc", true, 3, -1, NUMBERED "/f:\n     3\tc\n");
	views("a\n\nc\n", true, 2, 2, NUMBERED "/f:\n     2\t\n");
	views("a\nb\n", true, 1, 5,
	      "NOTE: We only show up to 2 since there're only 2 lines in this file.\n" NUMBERED
	      "/f:\n     1\ta\n     2\tb\n");
}

static void a_range_that_is_none_is_refused_with_its_elements(void **state)
{
	struct edit_range r = { .given = true, .shown = text_of("[1]") };
	struct hand h = in_hand("a\n");

	(void)state;
	assert_false(edit_view(&h.t, &r, &h.said));
	assert_string_equal(buf_str(&h.said), "Invalid `view_range` parameter: [1]. It should be a "
					      "list of two integers.");
	drop(&h);
	views("a\nb\n", false, 0, 1,
	      "Invalid `view_range` parameter: [a, b]. Its first element `0` should be within the "
	      "range of lines of the file: [1, 2].");
	views("a\nb\n", false, 3, 3,
	      "Invalid `view_range` parameter: [a, b]. Its first element `3` should be within the "
	      "range of lines of the file: [1, 2].");
	views("", false, 1, 1,
	      "Invalid `view_range` parameter: [a, b]. Its first element `1` should be within the "
	      "range of lines of the file: [1, 0].");
	views("a\nb\n", false, 2, 1,
	      "Invalid `view_range` parameter: [a, b]. Its second element `1` should be greater than "
	      "or equal to the first element `2`.");
	views("a\nb\n", false, 2, -2,
	      "Invalid `view_range` parameter: [a, b]. Its second element `-2` should be greater "
	      "than or equal to the first element `2`.");
}

/* --- str_replace ----------------------------------------------------------------------------- */

static void a_replacement_shows_the_lines_around_it(void **state)
{
	(void)state;
	replaces(numbered_lines(20), "line 10\nline 11", "A\nB\nC",
		 "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nA\nB\nC\n"
		 "line 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\nline 19\nline 20",
		 "The file /f has been edited. " NUMBERED
		 "a snippet of /f:\n     7\tline 7\n     8\tline 8\n     9\tline 9\n    10\tA\n"
		 "    11\tB\n    12\tC\n    13\tline 12\n    14\tline 13\n    15\tline 14\n"
		 "    16\tline 15\n    17\t\n" REVIEW);
	replaces("a\nb", "b", "c", "a\nc",
		 "The file /f has been edited. " NUMBERED
		 "a snippet of /f:\n     1\ta\n     2\tc\n" REVIEW);
	replaces("a\nb\n", "a\nb\n", "", "",
		 "The file /f has been edited. " NUMBERED "a snippet of /f:\n     1\t\n" REVIEW);
}

static void what_is_not_there_is_looked_for_without_the_blanks_around(void **state)
{
	(void)state;
	replaces("  x = 1\n", "\n x = 1 ", " y = 2\n\n", "  y = 2\n", NULL);
	refuses("a\n", " b\n",
		"No replacement was performed, old_str `b` did not appear verbatim in /f.");
	/* Nothing is left of it: it stands everywhere. */
	refuses("a\nb", " \t ",
		"No replacement was performed. Multiple occurrences of old_str `` in lines [1, 2]. "
		"Please ensure it is unique.");
	replaces("", "  ", "x", "x", NULL);
}

static void what_is_there_more_than_once_is_refused_with_its_lines(void **state)
{
	(void)state;
	refuses("a b a\nc\na\n", "a",
		"No replacement was performed. Multiple occurrences of old_str `a` in lines [1, 3]. "
		"Please ensure it is unique.");
	refuses("aaa", "a",
		"No replacement was performed. Multiple occurrences of old_str `a` in lines [1]. "
		"Please ensure it is unique.");
	refuses("1\n2\n3\n", "",
		"No replacement was performed. Multiple occurrences of old_str `` in lines "
		"[1, 2, 3, 4]. Please ensure it is unique.");
	/* Not overlapping, they are one. */
	replaces("xaaa", "aa", "b", "xba", NULL);
}

static void very_many_lines_are_not_all_listed(void **state)
{
	struct hand h;
	char *text = calloc(1, 40001);

	(void)state;
	memset(text, '\n', 40000);
	h = in_hand(text);
	assert_false(edit_replace(&h.t, text_of(""), text_of("x"), &h.changed, &h.said));
	assert_non_null(strstr(buf_str(&h.said), ", 999, 1000, ...]. Please"));
	drop(&h);
	free(text);
}

static void replacing_keeps_the_line_ends_of_the_file(void **state)
{
	(void)state;
	replaces("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n",
		 "The file /f has been edited. " NUMBERED
		 "a snippet of /f:\n     1\tx\n     2\ty\n     3\tz\n     4\tc\n     5\t\n" REVIEW);
	replaces("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", NULL);
	/* What is not touched keeps its bytes, also where a file has several kinds. */
	replaces("a\r\nb\nc\nd\n", "c", "x\ny", "a\r\nb\nx\ny\nd\n", NULL);
	replaces("a\rb\r", "b", "c\nd", "a\rc\rd\r", NULL);
}

/* --- insert ---------------------------------------------------------------------------------- */

static void an_insertion_shows_the_lines_around_it(void **state)
{
	(void)state;
	inserts("line 1\n\nline 4\nline 5\n", 0, "TOP", "TOP\nline 1\n\nline 4\nline 5\n",
		"The file /f has been edited. " NUMBERED
		"a snippet of the edited file:\n     1\tTOP\n     2\tline 1\n     3\t\n"
		"     4\tline 4\n     5\tline 5\n     6\t\n" REVIEW_INSERT);
	inserts(numbered_lines(20), 10, "A\nB",
		"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n"
		"A\nB\nline 11\nline 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18\n"
		"line 19\nline 20",
		"The file /f has been edited. " NUMBERED
		"a snippet of the edited file:\n     7\tline 7\n     8\tline 8\n     9\tline 9\n"
		"    10\tline 10\n    11\tA\n    12\tB\n    13\tline 11\n    14\tline 12\n"
		"    15\tline 13\n    16\tline 14\n    17\t\n" REVIEW_INSERT);
	inserts("", 0, "", "\n", NULL);
	inserts("a\n", 1, "", "a\n\n", NULL);
}

static void an_insertion_behind_an_open_line_is_a_line_of_its_own(void **state)
{
	(void)state;
	inserts("a\nb", 2, "END", "a\nb\nEND\n",
		"The file /f has been edited. " NUMBERED
		"a snippet of the edited file:\n     1\ta\n     2\tb\n     3\tEND\n     4\t\n" REVIEW_INSERT);
	inserts("a\r\nb", 2, "END", "a\r\nb\r\nEND\r\n", NULL);
}

static void inserting_keeps_the_line_ends_of_the_file(void **state)
{
	(void)state;
	inserts("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n", NULL);
	inserts("a\nb\r\nc\n", 2, "x", "a\nb\r\nx\nc\n", NULL);
}

static void returns_and_line_feeds_that_meet_stay_two_line_ends(void **state)
{
	(void)state;
	inserts("a\nb\rc\r\nd", 2, "", "a\nb\n\nc\r\nd", NULL);
	inserts("a\n\r\rb\n\n", 3, "", "a\n\n\n\nb\n\n", NULL);
	replaces("a\n\rX\nb\n", "X", "", "a\n\n\nb\n", NULL);
	replaces("a\rb\rc\rX\n", "X", "y\n", "a\rb\rc\ry\n\n", NULL);
	/* What a client writes is what it wants. */
	replaces("a\nb\n", "b", "b\r", "a\nb\r\n", NULL);
}

static void a_line_out_of_range_is_refused_with_the_range(void **state)
{
	static const int64_t lines[] = { -1, 3, INT64_MAX, INT64_MIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct hand h = in_hand("a\nb\n");
		char want[200];

		(void)snprintf(
			want, sizeof(want),
			"Invalid `insert_line` parameter: %lld. It should be within the range "
			"of allowed values: [0, 2]",
			(long long)lines[i]);
		assert_false(edit_insert(&h.t, lines[i], text_of("x"), &h.changed, &h.said));
		assert_string_equal(buf_str(&h.said), want);
		assert_int_equal(h.changed.len, 0);
		drop(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_of_any_kind_are_stripped),
		cmocka_unit_test(a_text_that_is_missing_is_not_an_empty_one),
		cmocka_unit_test(line_ends_have_a_plain_form_and_a_way_back),
		cmocka_unit_test(most_lines_decide_on_the_style),
		cmocka_unit_test(lines_are_numbered_the_empty_one_at_the_end_too),
		cmocka_unit_test(long_texts_are_cut_by_characters_before_they_are_numbered),
		cmocka_unit_test(a_range_of_lines_is_shown_without_an_empty_one_behind),
		cmocka_unit_test(a_range_that_is_none_is_refused_with_its_elements),
		cmocka_unit_test(a_replacement_shows_the_lines_around_it),
		cmocka_unit_test(what_is_not_there_is_looked_for_without_the_blanks_around),
		cmocka_unit_test(what_is_there_more_than_once_is_refused_with_its_lines),
		cmocka_unit_test(very_many_lines_are_not_all_listed),
		cmocka_unit_test(replacing_keeps_the_line_ends_of_the_file),
		cmocka_unit_test(an_insertion_shows_the_lines_around_it),
		cmocka_unit_test(an_insertion_behind_an_open_line_is_a_line_of_its_own),
		cmocka_unit_test(inserting_keeps_the_line_ends_of_the_file),
		cmocka_unit_test(returns_and_line_feeds_that_meet_stay_two_line_ends),
		cmocka_unit_test(a_line_out_of_range_is_refused_with_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
