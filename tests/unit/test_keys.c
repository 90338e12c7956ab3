/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/keys.h"

#include "unit.h"

static void sends(const char *text, bool application, const char *bytes, size_t len)
{
	struct key k;

	if (!keys_find(text, strlen(text), application, &k))
		fail_msg("'%s' is no key", text);
	assert_int_equal(k.len, len);
	assert_memory_equal(k.bytes, bytes, len);
}

static void three_characters_are_a_control_key(void **state)
{
	static const struct {
		const char *text;
		char byte, control;
		bool signals;
	} cases[] = {
		{ "C-c", 3, 'C', true },    { "C-C", 3, 'C', true },	{ "C-d", 4, 'D', false },
		{ "C-z", 26, 'Z', true },   { "C-\\", 28, '\\', true }, { "C-[", 27, '[', false },
		{ "C-@", 0, '@', false },   { "C-?", 127, '?', false }, { "C-_", 31, '_', false },
		{ "C-8", 127, '8', false }, { "C-!", '!', '!', false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct key k;

		assert_true(keys_find(cases[i].text, 3, false, &k));
		assert_int_equal(k.len, 1);
		assert_int_equal(k.bytes[0], cases[i].byte);
		assert_int_equal(k.control, cases[i].control);
		assert_int_equal(k.signals, cases[i].signals);
	}
}

static void names_are_keys(void **state)
{
	(void)state;
	sends("Enter", false, "\r", 1);
	sends("Tab", false, "\t", 1);
	sends("Escape", false, "\033", 1);
	sends("Space", false, " ", 1);
	sends("BSpace", false, "\177", 1);
	sends("BTab", false, "\033[Z", 3);
	sends("Home", false, "\033[1~", 4);
	sends("End", false, "\033[4~", 4);
	sends("PPage", false, "\033[5~", 4);
	sends("NPage", false, "\033[6~", 4);
	sends("DC", false, "\033[3~", 4);
	sends("F1", false, "\033OP", 3);
	sends("F4", false, "\033OS", 3);
	sends("F5", false, "\033[15~", 5);
	sends("F12", false, "\033[24~", 5);
}

static void cursor_keys_have_a_form_for_applications(void **state)
{
	(void)state;
	sends("Up", false, "\033[A", 3);
	sends("Down", false, "\033[B", 3);
	sends("Right", false, "\033[C", 3);
	sends("Left", false, "\033[D", 3);
	sends("Up", true, "\033OA", 3);
	sends("Left", true, "\033OD", 3);
}

static void modifiers_go_before_a_name(void **state)
{
	(void)state;
	sends("M-x", false, "\033x", 2);
	sends("M--", false, "\033-", 2);
	sends("M-\xc3\xa4", false, "\033\xc3\xa4", 3);
	sends("M-Enter", false, "\033\r", 2);
	sends("M-C-x", false, "\033\030", 2);
	sends("C-M-x", false, "\033\030", 2);
	sends("C-Space", false, "\0", 1);
	sends("S-Up", true, "\033[1;2A", 6);
	sends("C-Left", false, "\033[1;5D", 6);
	sends("C-M-S-End", false, "\033[4;8~", 6);
	sends("C-F12", false, "\033[24;5~", 7);
}

static void other_texts_are_none(void **state)
{
	static const char *const texts[] = {
		"",	  "C",	    "C-",   "C-cc", "c-c",    "C-\xc3\xa4", "up",    "UP",
		"Upp",	  "F0",	    "F13",  "M-",   "M-xx",   "S-x",	    "C-S-x", "M-C-\xc3\xa4",
		"Enter ", " Enter", "echo", "^C",   "M-\xff", "X-Up",	    "M",     "Up\n",
		"C-c;",	  "M-S-x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct key k;

		if (keys_find(texts[i], strlen(texts[i]), false, &k))
			fail_msg("'%s' is a key", texts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_characters_are_a_control_key),
		cmocka_unit_test(names_are_keys),
		cmocka_unit_test(cursor_keys_have_a_form_for_applications),
		cmocka_unit_test(modifiers_go_before_a_name),
		cmocka_unit_test(other_texts_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
