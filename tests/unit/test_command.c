/* SPDX-License-Identifier: MIT */
/* test_command.c - the `command` of a start, and texts split as a shell would. */
#include "unit.h"

#include "api/command.h"
#include "api/words.h"
#include "base/buf.h"
#include "base/str.h"
#include "plan/strv.h"

#define MODULE "openhands.runtime.action_execution_server"
/* What stands before it in the published image. */
#define PREFIX \
	"/openhands/micromamba/bin/micromamba run -n openhands poetry run python -u -m " MODULE

/* The words with a bar between them. */
static char *joined(char *const *words)
{
	struct buf b = { 0 };

	for (size_t i = 0; words && words[i]; i++)
		buf_printf(&b, "%s%s", i ? "|" : "", words[i]);
	return b.data ? b.data : strdup("");
}

static void words_are_those_of_a_shell(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "" },
		{ " \t\n ", "" },
		{ "a", "a" },
		{ "  a  b\tc\nd\r\n", "a|b|c|d" },
		{ "'a b' \"c d\"", "a b|c d" },
		{ "a'b'\"c\"d", "abcd" },
		{ "''", "" },
		{ "'' x \"\"", "|x|" },
		{ "a\\ b \\'c \\\\", "a b|'c|\\" },
		{ "'a\\'b", "a\\b" },
		{ "\"a\\\"b\\$c\\`d\\\\e\\xf\"", "a\"b$c`d\\e\\xf" },
		{ "a\\\nb \\\n c", "ab|c" },
		{ "\"a\\\nb\"", "ab" },
		{ "$HOME * ~ `x` $(y) a;b && c|d #e >f", "$HOME|*|~|`x`|$(y)|a;b|&&|c|d|#e|>f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		autostrv char **words = NULL;
		autofree char *got = NULL;
		struct err e = { 0 };

		assert_ok(words_split(cases[i].text, strlen(cases[i].text), 99, &words, &e));
		got = joined(words);
		assert_string_equal(got, cases[i].words);
	}
}

static void text_that_a_shell_would_wait_for_is_refused(void **state)
{
	char **words = NULL;
	struct err e = { 0 };

	(void)state;
	assert_refused(words_split("a 'b", 4, 9, &words, &e), EINVAL, "has a ' that is not closed");
	assert_refused(words_split("a \"b\\\"", 6, 9, &words, &e), EINVAL,
		       "has a \" that is not closed");
	assert_refused(words_split("a\\", 2, 9, &words, &e), EINVAL, "ends with a backslash");
	assert_refused(words_split("\"a\\", 3, 9, &words, &e), EINVAL,
		       "has a \" that is not closed");
	assert_refused(words_split("a\0b", 3, 9, &words, &e), EINVAL, "holds a NUL");
	assert_refused(words_split("a b c", 5, 2, &words, &e), E2BIG, "has more than 2 words");
	assert_null(words);
}

/* JSON of the value alone. */
static int parse(const char *json, struct start_command *c, struct err *e)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	autojson struct json_doc *doc = NULL;

	assert_int_equal(json_parse(json, strlen(json), &limits, &doc, e), 0);
	return command_parse(json_root(doc), c, e);
}

static struct start_command parsed(const char *json)
{
	struct start_command c = { 0 };
	struct err e = { 0 };

	assert_ok(parse(json, &c, &e));
	return c;
}

static void nothing_said_is_the_native_executor(void **state)
{
	static const char *const cases[] = { "null", "\"\"", "\"  \"", "[]" };
	struct start_command c = { .port = 7 };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		c = parsed(cases[i]);
		assert_int_equal(c.kind, COMMAND_NATIVE);
		assert_null(c.argv);
	}
	c.port = 7;
	assert_ok(command_parse(NULL, &c, &e));
	assert_int_equal(c.kind, COMMAND_NATIVE);
	assert_int_equal(c.port, 0);
	assert_ok(command_of_words(NULL, &c, &e));
	assert_int_equal(c.kind, COMMAND_NATIVE);
}

static void line_of_the_published_client_is_honoured(void **state)
{
	struct start_command c = parsed(
		"[\"/openhands/micromamba/bin/micromamba\",\"run\",\"-n\",\"openhands\",\"poetry\",\"run\",\"python\",\"-u\","
		"\"-m\",\"" MODULE
		"\",\"60000\",\"--working-dir\",\"/workspace\",\"--plugins\",\"agent_skills\",\"jupyter\","
		"\"--username\",\"root\",\"--user-id\",\"0\",\"--no-enable-browser\"]");

	(void)state;
	assert_int_equal(c.kind, COMMAND_EXECUTOR);
	assert_int_equal(c.port, 60000);
	assert_string_equal(c.working_dir, "/workspace");
	assert_int_equal(c.plugins, COMMAND_JUPYTER | COMMAND_AGENT_SKILLS);
	assert_string_equal(c.username, "root");
	assert_int_equal(c.user_id, 0);
	assert_false(c.browser);
	assert_null(c.browser_words);
	assert_null(c.argv);
	command_clear(&c);
}

static void line_as_one_text_means_the_same(void **state)
{
	struct start_command c = parsed("\"" PREFIX
					" 3000 --working-dir='/a b' --plugins vscode --username=me "
					"--browsergym-eval-env x y\"");

	(void)state;
	assert_int_equal(c.kind, COMMAND_EXECUTOR);
	assert_int_equal(c.port, 3000);
	assert_string_equal(c.working_dir, "/a b");
	assert_int_equal(c.plugins, COMMAND_VSCODE);
	assert_string_equal(c.username, "me");
	assert_int_equal(strv_len(c.browser_words), 2);
	command_clear(&c);
}

static void what_is_not_said_is_the_references_default(void **state)
{
	struct start_command c = parsed("\"python -m " MODULE " 1\"");

	(void)state;
	assert_string_equal(c.username, "openhands");
	assert_int_equal(c.user_id, 1000);
	assert_true(c.browser);
	assert_null(c.working_dir);
	assert_int_equal(c.plugins, 0);
	command_clear(&c);
	c = parsed(
		"\"-m " MODULE
		" --user-id 5 --username a 2 --username b --no-enable-browser --enable-browser\"");
	assert_int_equal(c.port, 2);
	assert_string_equal(c.username, "b");
	assert_int_equal(c.user_id, 5);
	assert_true(c.browser);
	command_clear(&c);
}

static void executor_line_with_a_mistake_is_refused_by_its_word(void **state)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{ "", "command: the executor's port is missing" },
		{ "0", "command: '0' is no port" },
		{ "65536", "command: '65536' is no port" },
		{ "0x10", "command: '0x10' is no port" },
		{ "1 2", "command: '2' is one word too many" },
		{ "1 --plugins jupyter notepad",
		  "command: --plugins: 'notepad' is no plugin: there are jupyter, agent_skills, vscode" },
		{ "1 --plugins", "command: --plugins: a value is missing" },
		{ "1 --plugins --username x", "command: --plugins: a value is missing" },
		{ "1 --plug jupyter", "command: '--plug' is no option of the executor" },
		{ "1 -v", "command: '-v' is no option of the executor" },
		{ "1 --working-dir here", "command: --working-dir: 'here' is no absolute path" },
		{ "1 --working-dir", "command: --working-dir: a value is missing" },
		{ "1 --working-dir=", "command: --working-dir: '' is no absolute path" },
		{ "1 --username a:b", "command: --username: 'a:b' is no name of a user" },
		{ "1 --username ../x", "command: --username: '../x' is no name of a user" },
		{ "1 --user-id -1", "command: --user-id: a value is missing" },
		{ "1 --user-id=-1", "command: --user-id: '-1' is no number of a user" },
		{ "1 --user-id 4294967295",
		  "command: --user-id: '4294967295' is no number of a user" },
		{ "1 --enable-browser=yes", "command: --enable-browser: takes no value" },
		{ "1 --no-enable-browser --browsergym-eval-env x",
		  "command: --browsergym-eval-env wants the browser, and --no-enable-browser is there" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		autofree char *json = NULL;
		struct start_command c = { .port = 7 };
		struct err e = { 0 };

		json = str_fmt(&e, "\"" PREFIX " %s\"", cases[i].line);
		assert_refused(parse(json, &c, &e), EINVAL, cases[i].words);
		assert_int_equal(c.port, 7); /* untouched */
	}
}

static void other_programs_are_started_as_they_are(void **state)
{
	static const struct {
		const char *json, *argv;
		unsigned port;
		bool has_port, has_host;
	} cases[] = {
		{ "\"/usr/local/bin/openhands-agent-server --port 60000\"",
		  "/usr/local/bin/openhands-agent-server|--port|60000", 60000, true, false },
		{ "[\"tini\",\"--\",\"agent-server\",\"--host\",\"0.0.0.0\",\"--port=8123\"]",
		  "tini|--|agent-server|--host|0.0.0.0|--port=8123", 8123, true, true },
		{ "\"python -m openhands.agent_server --host=::1\"",
		  "python|-m|openhands.agent_server|--host=::1", 8000, false, true },
		{ "\"x --port 1 --port 2\"", "x|--port|1|--port|2", 2, true, false },
		{ "\"sh -c 'exec server --port 5'\"", "sh|-c|exec server --port 5", 8000, false,
		  false },
		{ "\"x --hostname y --ports 3 --portable\"", "x|--hostname|y|--ports|3|--portable",
		  8000, false, false },
		{ "\"--port\"", "--port", 8000, false, false },
		{ "\"x -m " MODULE "x\"", "x|-m|" MODULE "x", 8000, false, false },
		{ "\"x " MODULE " -m\"", "x|" MODULE "|-m", 8000, false, false },
		{ "[\"a b\",\"\",\"'c\"]", "a b||'c", 8000, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct start_command c = parsed(cases[i].json);
		autofree char *argv = joined(c.argv);

		assert_int_equal(c.kind, COMMAND_PROGRAM);
		assert_string_equal(argv, cases[i].argv);
		assert_int_equal(c.port, cases[i].port);
		assert_int_equal(c.has_port, cases[i].has_port);
		assert_int_equal(c.has_host, cases[i].has_host);
		command_clear(&c);
	}
}

static void programs_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "7", "command: must be a text, a list of texts or null" },
		{ "{}", "command: must be a text, a list of texts or null" },
		{ "[\"a\",null]", "command: must be a text, a list of texts or null" },
		{ "[\"a\",[\"b\"]]", "command: must be a text, a list of texts or null" },
		{ "[\"\",\"b\"]", "command: its first word is empty" },
		{ "[\"a\\u0000b\"]", "command: holds a NUL" },
		{ "\"a\\u0000b\"", "command: holds a NUL" },
		{ "\"a 'b\"", "command: has a ' that is not closed" },
		{ "\"x --port\"", "command: --port: a value is missing" },
		{ "\"x --port=\"", "command: --port: '' is no port" },
		{ "\"x --port 99999\"", "command: --port: '99999' is no port" },
		{ "\"x --port auto\"", "command: --port: 'auto' is no port" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct start_command c = { 0 };
		struct err e = { 0 };

		assert_refused(parse(cases[i].json, &c, &e), EINVAL, cases[i].words);
	}
}

static void command_beyond_the_limits_is_refused(void **state)
{
	struct start_command c = { 0 };
	struct buf many = { 0 }, long_word = { 0 };
	struct err e = { 0 };

	(void)state;
	buf_puts(&many, "[\"x\"");
	for (int i = 0; i < COMMAND_WORDS_MAX; i++)
		buf_puts(&many, ",\"x\"");
	buf_puts(&many, "]");
	assert_int_equal(parse(buf_str(&many), &c, &e), -E2BIG);
	buf_puts(&long_word, "[\"x\",\"");
	for (int i = 0; i < COMMAND_BYTES_MAX; i++)
		buf_putc(&long_word, 'x');
	buf_puts(&long_word, "\"]");
	e = (struct err) { 0 };
	assert_int_equal(parse(buf_str(&long_word), &c, &e), -E2BIG);
	assert_int_equal(c.kind, COMMAND_NATIVE);
	buf_clear(&many);
	buf_clear(&long_word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_a_shell),
		cmocka_unit_test(text_that_a_shell_would_wait_for_is_refused),
		cmocka_unit_test(nothing_said_is_the_native_executor),
		cmocka_unit_test(line_of_the_published_client_is_honoured),
		cmocka_unit_test(line_as_one_text_means_the_same),
		cmocka_unit_test(what_is_not_said_is_the_references_default),
		cmocka_unit_test(executor_line_with_a_mistake_is_refused_by_its_word),
		cmocka_unit_test(other_programs_are_started_as_they_are),
		cmocka_unit_test(programs_that_cannot_be_are_refused),
		cmocka_unit_test(command_beyond_the_limits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
