/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/screen.h"

#include "unit.h"

static void shows(const char *bytes, const char *text)
{
	/* In one piece, and byte by byte: the parser keeps its place. */
	for (int piecewise = 0; piecewise < 2; piecewise++) {
		struct screen s = { 0 };
		struct buf out = { 0 };
		size_t len = strlen(bytes);

		for (size_t i = 0; piecewise && i < len; i++)
			screen_feed(&s, bytes + i, 1);
		if (!piecewise)
			screen_feed(&s, bytes, len);
		(void)screen_text(&s, &out);
		assert_string_equal(buf_str(&out), text);
		buf_clear(&out);
		screen_clear(&s);
	}
}

static void lines_are_as_they_were_written(void **state)
{
	(void)state;
	shows("", "");
	shows("hi\r\n", "hi");
	shows("a\r\n\r\n  b  \r\n", "a\n\n  b");
	shows("red\ttab\rover", "over    tab");
	shows("ab\b\bcd", "cd");
	shows("a\tb", "a       b");
	shows("10%\r20%\r100%\r\ndone\r\n", "100%\ndone");
}

static void colours_and_titles_vanish(void **state)
{
	(void)state;
	shows("\033[1;31mred\033[0m plain\033[38;5;4mx\033[m", "red plainx");
	shows("\033]0;title\007text", "text");
	shows("\033]0;title\033\\text", "text");
	shows("\033Pq stuff\033\\text", "text");
	shows("\033(B\033=\033>text", "text");
	shows("\033[?2004htext\033[?2004l", "text");
	shows("\033[>4;2mtext\033[?1h", "text");
}

static void the_cursor_goes_where_it_is_sent(void **state)
{
	(void)state;
	shows("abc\033[2Dx", "axc");
	shows("abc\033[1Gx", "xbc");
	shows("\033[2;3Hx", "\n  x");
	shows("a\r\nb\033[Ax", "ax\nb");
	shows("a\033[Bb", "a\n b");
	shows("a\0337\033[5;5Hb\0338c", "ac\n\n\n\n    b");
}

static void erasing_erases(void **state)
{
	(void)state;
	shows("abcdef\033[3D\033[K", "abc");
	shows("abcdef\033[3D\033[1K", "    ef");
	shows("abcdef\033[2K", "");
	shows("a\r\nb\r\nc\033[1;1H\033[J", "");
	shows("a\r\nb\033[2J\033[Hc", "c");
	shows("abcdef\033[1G\033[2P", "cdef");
	shows("abc\033[1G\033[2@", "  abc");
	shows("abcd\033[2G\033[2X", "a  d");
	shows("x\033[3b", "xxxx");
}

static void lines_are_inserted_and_deleted(void **state)
{
	(void)state;
	shows("a\r\nb\r\nc\033[2;1H\033[Lx", "a\nx\nb\nc");
	shows("a\r\nb\r\nc\033[2;1H\033[M", "a\nc");
	/* What leaves a region at the top is history, as with a bar that stays at the bottom. */
	shows("a\r\nb\r\nc\033[1;2r\033[2;1H\n", "a\nb\n\nc");
	shows("a\r\nb\r\nc\033[2;3r\033[3;1H\n", "a\nc");
	shows("a\r\nb\033[1;1H\033M", "\na\nb");
}

static void the_alternate_screen_leaves_the_main_one_alone(void **state)
{
	(void)state;
	shows("before\r\n\033[?1049h\033[Hfull screen\033[?1049lafter", "before\nafter");
	shows("before\r\n\033[?1049h\033[Hfull screen", "full screen");
}

static void long_lines_are_joined_again(void **state)
{
	struct screen s = { 0 };
	struct buf out = { 0 };
	char line[2501];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	screen_feed(&s, line, 2500);
	screen_feed(&s, "\r\nnext", 6);
	assert_int_equal(screen_text(&s, &out), 2);
	assert_int_equal(out.len, 2505);
	assert_memory_equal(out.data, line, 2500);
	assert_string_equal(out.data + 2500, "\nnext");
	buf_clear(&out);
	screen_clear(&s);
}

static void text_of_a_full_row_does_not_wrap_before_more_comes(void **state)
{
	struct screen s = { 0 };
	struct buf out = { 0 };
	char line[1001];

	(void)state;
	memset(line, 'x', 1000);
	line[1000] = '\0';
	screen_feed(&s, line, 1000);
	screen_feed(&s, "\r\ny", 3);
	(void)screen_text(&s, &out);
	assert_int_equal(out.len, 1002);
	assert_string_equal(out.data + 1000, "\ny");
	buf_clear(&out);
	screen_clear(&s);
}

static void characters_beyond_ascii_are_kept(void **state)
{
	(void)state;
	shows("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
	      "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void bytes_that_are_no_text_are_replaced(void **state)
{
	(void)state;
	shows("a\xff"
	      "b",
	      "a\xef\xbf\xbd"
	      "b");
	shows("a\xc3"
	      "b",
	      "a\xef\xbf\xbd"
	      "b");
	shows("\xed\xa0\x80", "\xef\xbf\xbd");
	shows("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd");
	shows("a\x01\x02\x7f"
	      "b",
	      "ab");
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	shows("\xe6\x97\xa5\xe6\x9c\xac\tx", "\xe6\x97\xa5\xe6\x9c\xac    x");
	shows("\xe6\x97\xa5\rab", "ab");
	shows("\xe6\x97\xa5\xe6\x9c\xac\ra", "a \xe6\x9c\xac");
	shows("\xe6\x97\xa5\xe6\x9c\xac\033[2Gb", " b\xe6\x9c\xac");
	shows("\xf0\x9f\x98\x80\033[3Gx", "\xf0\x9f\x98\x80x");
}

static void what_joins_a_character_takes_none(void **state)
{
	(void)state;
	shows("e\xcc\x81\tx", "e\xcc\x81       x");
	shows("e\xcc\x81\xcc\xa3"
	      "e\xcc\x81",
	      "e\xcc\x81\xcc\xa3"
	      "e\xcc\x81");
	shows("e\xcc\x81\033[1Ga", "a");
	shows("\xe6\x97\xa5\xcc\x81x", "\xe6\x97\xa5\xcc\x81x");
	/* Nothing is there to join: it is shown alone. */
	shows("\xcc\x81x", "\xcc\x81x");
}

static void joined_characters_are_bounded(void **state)
{
	struct screen s = { 0 };
	struct buf out = { 0 };

	(void)state;
	screen_feed(&s, "a", 1);
	for (int i = 0; i < 100000; i++)
		screen_feed(&s, "\xcc\x81", 2);
	(void)screen_text(&s, &out);
	assert_int_equal(out.len, 1 + 8 * 2);
	for (unsigned c = 0x4e00; c < 0x9000; c++) {
		char text[] = { (char)(0xe0 | c >> 12),
				(char)(0x80 | (c >> 6 & 0x3f)),
				(char)(0x80 | (c & 0x3f)),
				'\xcc',
				'\x81',
				'\r' };

		screen_feed(&s, text, sizeof(text));
	}
	assert_true(s.n_joined <= SCREEN_JOINED_MAX);
	buf_clear(&out);
	screen_clear(&s);
}

static void lines_are_drawn(void **state)
{
	(void)state;
	shows("\033(0lqk\033(Blqk", "\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90lqk");
	shows("\033)0\016x\017x", "\xe2\x94\x82x");
	shows("\033(0q\033[!pq", "\xe2\x94\x80q");
}

static void modes_are_followed(void **state)
{
	(void)state;
	shows("abc\033[1G\033[4hXY\033[4lZ", "XYZbc");
	shows("a\r\nb\r\nc\033[2;3r\033[?6h\033[1;1Hx\033[?6l\033[1;1Hy", "y\nx\nc");
	shows("a\033[20h\nb\033[20l", "a\nb");
	shows("\tx\033[3g\r\033[5G\033Hy\r\tz", "    z   x");
	shows("a\033[2Ib\033[Zc", "a               c");
}

/* Whether anything became visible since `before`. */
static bool changes(const char *before, const char *bytes)
{
	struct screen s = { 0 };
	bool changed;

	screen_feed(&s, before, strlen(before));
	s.changed = false;
	screen_feed(&s, bytes, strlen(bytes));
	changed = s.changed;
	screen_clear(&s);
	return changed;
}

static void only_what_is_seen_is_a_change(void **state)
{
	(void)state;
	assert_true(changes("", "x"));
	assert_true(changes("a", "\rb"));
	assert_true(changes("a", "\033[2K"));
	assert_true(changes("a\r\nb", "\033[1;1H\033[L"));
	assert_false(changes("100%", "\r100%"));
	assert_false(changes("a", "\r\n\r\n"));
	assert_false(changes("a", "\033[31m\033[5;5H\007\033]0;t\007 "));
	assert_false(changes("a\r\n", "\033[K\033[J"));
}

static void who_writes_next_begins_a_line_of_its_own(void **state)
{
	static const struct {
		const char *before, *text;
	} cases[] = {
		{ "", "next" },
		{ "a", "a\nnext" },
		{ "a\r\n", "a\nnext" },
		{ "a\r\n\r\n", "a\nnext" },
		{ "a\r\nb\033[1;1H", "a\nb\nnext" },
		{ "a\033[?1049hb\033[4h\033(0", "a\nnext" },
		{ "a\033[", "a\nnext" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct screen s = { 0 };
		struct buf out = { 0 };

		screen_feed(&s, cases[i].before, strlen(cases[i].before));
		screen_fresh_line(&s);
		screen_feed(&s, "next", 4);
		(void)screen_text(&s, &out);
		assert_string_equal(buf_str(&out), cases[i].text);
		buf_clear(&out);
		screen_clear(&s);
	}
}

static void the_size_may_be_smaller(void **state)
{
	static const char bytes[] = "1234567\r\n\033[18t\033[9;9Hx\r\n\033[?7l1234567";
	struct screen s = { .rows = 3, .cols = 5 };
	struct buf out = { 0 };

	(void)state;
	screen_feed(&s, bytes, sizeof(bytes) - 1);
	assert_int_equal(screen_text(&s, &out), 3);
	assert_string_equal(buf_str(&out), "1234567\n    x\n12347");
	assert_memory_equal(s.answer, "\033[8;3;5t", 8);
	screen_clear(&s);
	assert_int_equal(s.rows, 3);
	buf_clear(&out);
}

static void the_oldest_lines_go_and_are_counted(void **state)
{
	struct screen s = { 0 };
	struct buf out = { 0 };
	unsigned lines, first;
	char line[32];

	(void)state;
	for (int i = 1; i <= 50000; i++)
		screen_feed(&s, line, (size_t)sprintf(line, "Line %d\r\n", i));
	lines = screen_text(&s, &out);
	assert_int_equal(sscanf(buf_str(&out), "Line %u\n", &first), 1);
	/* What the reference's clients rely on. */
	assert_true(first > 38700 && first <= 40000);
	assert_true(lines > 10000 && lines <= 11300);
	assert_non_null(strstr(out.data, "\nLine 50000"));
	assert_int_equal(s.lost_lines, first - 1);
	buf_clear(&out);
	screen_clear(&s);
}

static void questions_of_programs_are_answered(void **state)
{
	struct screen s = { 0 };

	(void)state;
	screen_feed(&s, "ab\033[6n", 6);
	assert_int_equal(s.answer_len, 6);
	assert_memory_equal(s.answer, "\033[1;3R", 6);
	for (int i = 0; i < 100; i++)
		screen_feed(&s, "\033[6n", 4);
	assert_true(s.answer_len <= sizeof(s.answer));
	screen_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_as_they_were_written),
		cmocka_unit_test(colours_and_titles_vanish),
		cmocka_unit_test(the_cursor_goes_where_it_is_sent),
		cmocka_unit_test(erasing_erases),
		cmocka_unit_test(lines_are_inserted_and_deleted),
		cmocka_unit_test(the_alternate_screen_leaves_the_main_one_alone),
		cmocka_unit_test(long_lines_are_joined_again),
		cmocka_unit_test(text_of_a_full_row_does_not_wrap_before_more_comes),
		cmocka_unit_test(characters_beyond_ascii_are_kept),
		cmocka_unit_test(bytes_that_are_no_text_are_replaced),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(what_joins_a_character_takes_none),
		cmocka_unit_test(joined_characters_are_bounded),
		cmocka_unit_test(lines_are_drawn),
		cmocka_unit_test(modes_are_followed),
		cmocka_unit_test(only_what_is_seen_is_a_change),
		cmocka_unit_test(who_writes_next_begins_a_line_of_its_own),
		cmocka_unit_test(the_size_may_be_smaller),
		cmocka_unit_test(the_oldest_lines_go_and_are_counted),
		cmocka_unit_test(questions_of_programs_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
