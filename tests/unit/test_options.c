/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <string.h>

#include "base/str.h"
#include "unit.h"

struct parsed {
	bool quiet, json;
	const char *repo;
	uint64_t n;
	char calls[64];
};

static int take_n(void *into, const char *value, struct err *e)
{
	return str_u64(value, 1, 9, &((struct parsed *)into)->n, e);
}

static int take_env(void *into, const char *value, struct err *e)
{
	struct parsed *p = into;

	(void)e;
	strncat(p->calls, value, sizeof(p->calls) - strlen(p->calls) - 1);
	strncat(p->calls, ";", sizeof(p->calls) - strlen(p->calls) - 1);
	return 0;
}

static const struct opt table[] = {
	{ "quiet", 'q', OPT_FLAG, offsetof(struct parsed, quiet), NULL, "say less", NULL },
	{ "json", 0, OPT_FLAG, offsetof(struct parsed, json), NULL, "say it in JSON", NULL },
	{ "repo", 'r', OPT_TEXT, offsetof(struct parsed, repo), "DIR", "where", NULL },
	{ "number", 'n', OPT_CALL, 0, "N", "how many", take_n },
	{ "env", 'e', OPT_CALL, 0, "K=V", "a variable", take_env },
	{ .kind = OPT_END },
};

#define WORDS_MAX 12

/* Parse the words of a line; operands come back joined by blanks. */
static int parse(const char *line, bool first_ends, struct parsed *p, char *operands, struct err *e)
{
	static char copy[200], *argv[WORDS_MAX + 1];
	int argc = 0, n;

	memset(p, 0, sizeof(*p));
	(void)snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && argc < WORDS_MAX; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	n = opts_parse(table, first_ends, argc, argv, p, e);
	operands[0] = '\0';
	for (int i = 0; i < n; i++) {
		strcat(operands, argv[i]);
		strcat(operands, " ");
	}
	if (n >= 0)
		assert_null(argv[n]);
	return n;
}

static void every_form_of_an_option_is_taken(void **state)
{
	struct parsed p;
	struct err e = { 0 };
	char operands[200];

	(void)state;
	assert_int_equal(parse("run --quiet --repo /a --number=3 -e A=1 -eB=2 --env=C=3=4", false,
			       &p, operands, &e),
			 0);
	assert_true(p.quiet);
	assert_string_equal(p.repo, "/a");
	assert_int_equal(p.n, 3);
	assert_string_equal(p.calls, "A=1;B=2;C=3=4;");
	assert_int_equal(parse("run -qr/b -n 4", false, &p, operands, &e), 0);
	assert_true(p.quiet);
	assert_string_equal(p.repo, "/b");
	assert_int_equal(p.n, 4);
	assert_int_equal(parse("run --repo=", false, &p, operands, &e), 0);
	assert_string_equal(p.repo, "");
}

static void operands_stand_anywhere(void **state)
{
	struct parsed p;
	struct err e = { 0 };
	char operands[200];

	(void)state;
	assert_int_equal(
		parse("stop one --quiet two - --json -- --three -x", false, &p, operands, &e), 5);
	assert_string_equal(operands, "one two - --three -x ");
	assert_true(p.quiet && p.json);
}

static void options_behind_the_first_operand_are_the_commands(void **state)
{
	struct parsed p;
	struct err e = { 0 };
	char operands[200];

	(void)state;
	assert_int_equal(parse("run -q make --json -- x", true, &p, operands, &e), 4);
	assert_string_equal(operands, "make --json -- x ");
	assert_true(p.quiet && !p.json);
	assert_int_equal(parse("run -- -q --json", true, &p, operands, &e), 2);
	assert_string_equal(operands, "-q --json ");
	assert_false(p.quiet || p.json);
}

static void an_unknown_option_is_answered_with_the_nearest(void **state)
{
	struct parsed p;
	char operands[200];
	static const struct {
		const char *line, *text;
	} cases[] = {
		{ "run --quite", "unknown option '--quite'; did you mean '--quiet'?" },
		{ "run --numbr=3", "unknown option '--numbr'; did you mean '--number'?" },
		{ "run --num 3", "unknown option '--num'; did you mean '--number'?" },
		{ "run --zebra", "unknown option '--zebra'" },
		{ "run -z", "unknown option '-z'" },
		{ "run --repo", "--repo wants DIR behind it" },
		{ "run -r", "--repo wants DIR behind it" },
		{ "run --json=1", "--json takes no value" },
		{ "run --repo a --repo b", "--repo is given twice" },
		{ "run --number 12", "--number: 12 is not between 1 and 9" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };

		assert_true(parse(cases[i].line, false, &p, operands, &e) < 0);
		assert_string_equal(e.text, cases[i].text);
	}
}

static void options_behind_a_wrong_one_still_hold(void **state)
{
	struct parsed p;
	struct err e = { 0 };
	char operands[200];

	(void)state;
	assert_true(parse("run --nmber 3 --number 99 --json", false, &p, operands, &e) < 0);
	assert_true(p.json);
	assert_string_equal(e.text, "unknown option '--nmber'; did you mean '--number'?");
}

static void help_is_met_in_both_forms(void **state)
{
	struct parsed p;
	struct err e = { 0 };
	char operands[200];

	(void)state;
	assert_int_equal(parse("run --help", false, &p, operands, &e), OPTS_HELP);
	assert_int_equal(parse("run -qh", false, &p, operands, &e), OPTS_HELP);
	assert_int_equal(parse("run --bad -h", false, &p, operands, &e), OPTS_HELP);
	assert_int_equal(parse("run make -h", true, &p, operands, &e), 2);
}

static void the_help_shows_every_row(void **state)
{
	autobuf struct buf out = { 0 };

	(void)state;
	opts_describe(table, &out);
	assert_non_null(strstr(buf_str(&out), "  -q, --quiet                          say less\n"));
	assert_non_null(
		strstr(buf_str(&out), "      --json                           say it in JSON\n"));
	assert_non_null(strstr(buf_str(&out), "  -r, --repo DIR                       where\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_an_option_is_taken),
		cmocka_unit_test(operands_stand_anywhere),
		cmocka_unit_test(options_behind_the_first_operand_are_the_commands),
		cmocka_unit_test(an_unknown_option_is_answered_with_the_nearest),
		cmocka_unit_test(options_behind_a_wrong_one_still_hold),
		cmocka_unit_test(help_is_met_in_both_forms),
		cmocka_unit_test(the_help_shows_every_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
