/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "unit.h"

/* What `say` writes to standard error. */
static void heard(void (*say)(void), char *text, size_t size)
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	say();
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
	(void)close(ends[1]);
	n = read(ends[0], text, size - 1);
	(void)close(ends[0]);
	text[n > 0 ? n : 0] = '\0';
}

static void say_foreign(void)
{
	log_error("file '%s'", "a\x1b[2J\nb\x7f"
			       "c\xc2\x9b"
			       "2J\x9b"
			       "d\xc3\xa9");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
	char text[200];

	(void)state;
	heard(say_foreign, text, sizeof(text));
	assert_string_equal(text, "ohsandbox: file 'a?[2J?b?c??2J?d\xc3\xa9'\n");
}

static void say_long(void)
{
	char words[5000];

	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	log_error("%s", words);
}

static void a_long_line_is_cut_and_still_one_line(void **state)
{
	char text[6000];

	(void)state;
	heard(say_long, text, sizeof(text));
	assert_true(strlen(text) <= 1024);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

static void say_debug(void)
{
	log_debug("hidden");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("shown");
	log_set_level(LOG_LEVEL_ERROR);
	log_warn("hidden");
	log_set_level(LOG_LEVEL_INFO);
	log_info("also");
}

static void the_level_decides_what_is_shown(void **state)
{
	char text[200];

	(void)state;
	heard(say_debug, text, sizeof(text));
	assert_string_equal(text, "ohsandbox: shown\nohsandbox: also\n");
	assert_int_equal(log_level(), LOG_LEVEL_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_do_not_reach_the_terminal),
		cmocka_unit_test(a_long_line_is_cut_and_still_one_line),
		cmocka_unit_test(the_level_decides_what_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
