/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/split.h"

#include "base/buf.h"
#include "unit.h"

enum { PIECES_MAX = 4 };

/* In a block of exactly its size: sanitizers see a read behind the end. */
static unsigned split(const char *text, size_t *starts)
{
	size_t len = strlen(text);
	char *exact = malloc(len ? len : 1);
	unsigned n;

	assert_non_null(exact);
	memcpy(exact, text, len);
	n = split_commands(exact, len, starts, PIECES_MAX);
	free(exact);
	return n;
}

static void has_pieces(const char *text, const char *const *pieces)
{
	size_t starts[PIECES_MAX + 1];
	unsigned n = split(text, starts);

	for (unsigned i = 0; i < n && i < PIECES_MAX; i++) {
		size_t end = i + 1 < n ? starts[i + 1] : strlen(text);

		while (end > starts[i] && strchr(" \t\n\r", text[end - 1]))
			end--;
		if (!pieces[i] || strlen(pieces[i]) != end - starts[i] ||
		    memcmp(pieces[i], text + starts[i], end - starts[i]) != 0)
			fail_msg("'%s': piece %u is '%.*s'", text, i + 1, (int)(end - starts[i]),
				 text + starts[i]);
	}
	if (n > PIECES_MAX || (n < PIECES_MAX && pieces[n]))
		fail_msg("'%s': %u pieces", text, n);
}

static void complete_commands_of_a_line_each_are_told_apart(void **state)
{
	static const struct {
		const char *text, *pieces[PIECES_MAX];
	} cases[] = {
		{ "ls\npwd", { "ls", "pwd" } },
		{ "a;\nb", { "a;", "b" } },
		{ "a &\nb", { "a &", "b" } },
		{ "a=1\nb=2", { "a=1", "b=2" } },
		{ "cd /tmp\r\nls", { "cd /tmp", "ls" } },
		{ "[ a = b ]\nls", { "[ a = b ]", "ls" } },
		{ "! ls\nls", { "! ls", "ls" } },
		{ "!\nls", { "!", "ls" } },
		{ "ls;ls\nls", { "ls;ls", "ls" } },
		{ "ls\n\n \t\npwd", { "ls", "pwd" } },
		{ "a | b\nc && d\ne", { "a | b", "c && d", "e" } },
		{ "a > f 2>&1 < g\nb", { "a > f 2>&1 < g", "b" } },
		{ "a &> f\nb >| g\nc <<< w", { "a &> f", "b >| g", "c <<< w" } },
		{ "diff <(a) >(b)\nls", { "diff <(a) >(b)", "ls" } },
		{ "echo ${a:-$(b\nc)} a#b\nls", { "echo ${a:-$(b\nc)} a#b", "ls" } },
		{ "echo } ] if { in\nls", { "echo } ] if { in", "ls" } },
		{ "((x = (1 + 2)))\nls", { "((x = (1 + 2)))", "ls" } },
		{ "echo $$ $1 $[1]\nls", { "echo $$ $1 $[1]", "ls" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		has_pieces(cases[i].text, cases[i].pieces);
}

static void comments_belong_to_what_stands_before_them(void **state)
{
	static const struct {
		const char *text, *pieces[PIECES_MAX];
	} cases[] = {
		{ "# comment\nls", { "# comment", "ls" } },
		{ "# a\n# b\nls", { "# a\n# b", "ls" } },
		{ "ls # c\npwd", { "ls # c", "pwd" } },
		{ "ls # c\n# d", { "ls # c\n# d" } },
		{ "ls\n# c\npwd", { "ls\n# c", "pwd" } },
		{ "ls && # c\npwd", { "ls && # c\npwd" } },
		{ "# only", { "# only" } },
		{ "#a\n#b", { "#a\n#b" } },
		{ "\\\nls", { "ls" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		has_pieces(cases[i].text, cases[i].pieces);
}

/* What one command is, and stays when another follows. */
static const char *const commands[] = {
	"",
	"a; b",
	"a &&\nb",
	"a |\nb",
	"a && \\\nb",
	"a ||\n\n# c\nb",
	"echo a\\\nb",
	"echo hi &",
	"a & b",
	"if a\nthen b\nfi",
	"if a; then b; elif c\nthen\nd; else e; fi > f",
	"for i in 1 2\ndo\necho $i\ndone",
	"for i\ndo a; done",
	"for i; do a; done",
	"for i in a; { b; }",
	"while a; do\nb\ndone < f 2>&1",
	"while read l\ndo a; done <<< x",
	"until a\ndo b\ndone",
	"case x in\na) b;;\n*) c;;\nesac",
	"case x in (a|b) c;& d) e;;& f) esac",
	"case $(a) in\nesac",
	"f() {\n a\n}",
	"f()\n(\n a\n)",
	"function f {\n a\n}",
	"function f()\n{ a\n}",
	"( a\nb )",
	"{ a\nb\n}",
	"{ a\nb\n} | ( c ) && { d; } &",
	"cat <<EOF\na\nEOF",
	"cat <<EOF\n$( \" ' `\nEOF",
	"cat <<'EOF'\n$(\nEOF",
	"cat <<\"E F\"\na\nE F",
	"cat <<\\EOF\na\nEOF",
	"cat <<-EOF\n\ta\n\t\tEOF",
	"cat <<A <<-B && c\na\nA\nb\n\tB",
	"cat <<EOF\na\\\nEOF\nEOF",
	"cat <<'EOF'\na\\\nEOF",
	"while a; do\ncat <<EOF\ndone\nEOF\ndone",
	"a=$(cat <<EOF\n)\nEOF\n)",
	"echo 'a\nb'",
	"echo \"a\n'b\"",
	"echo \"\\\"\n\"",
	"echo $(a\nb)",
	"echo \"$(a \"b\nc\")\"",
	"echo `a\nb`",
	"echo \"`a\n\\`b`\"",
	"echo $(case a in\nb) c;; esac)",
	"echo $(# a )\nb)",
	"echo $'it\\'s\n'",
	"echo ${a:-'}'\n}",
	"echo \"${a:-'\n}\"",
};

static void a_command_over_several_lines_is_one(void **state)
{
	size_t starts[PIECES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (split(commands[i], starts) != 1)
			fail_msg("'%s': not one", commands[i]);
}

static void a_further_line_makes_two_of_it(void **state)
{
	size_t starts[PIECES_MAX];
	char text[200];

	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(commands); i++) {
		(void)snprintf(text, sizeof(text), "%s\nls", commands[i]);
		if (split(text, starts) != 2 || starts[1] != strlen(text) - 2)
			fail_msg("'%s': not two", text);
	}
}

static void what_cannot_be_parsed_is_not_split(void **state)
{
	static const char *const bad[] = {
		/* wrong */
		"echo 'a", "echo \"a", "echo $(a", "echo `a", "echo ${a", "cat <<EOF\na",
		"cat <<EOF", "a=$(cat <<EOF)\nls", ")\nls", "}\nls", "&&\nls", ";\nls", "a;;b\nls",
		"a &&", "a |", "a\n&& b", "ls >\nls", "{ a }\nls", "then\nls", "done\nls", "fi\nls",
		"a ( b )\nls", "( a ) b\nls", "if a; then fi\nls", "for 1 2; do a; done\nls",
		"while; do a; done\nls", "case a b) c;; esac\nls", "f() a\nls", "a | ! b\nls",
		"a & & b\nls", "a\\",
		/* not implemented by the reference's parser */
		"[[ a == b ]]\nls", "x=$((1+2))\nls", "echo \"$((1))\"\nls",
		"for ((i = 0; i < 3; i++)); do a; done\nls", "select x in a; do b; done\nls",
		"coproc a\nls", "time ls\nls", "a=(1 2)\nls", "a+=(1\n2)\nls",
		"declare -a a=(1)\nls", "if [[ a ]]; then b; fi\nls"
	};
	size_t starts[PIECES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (split(bad[i], starts) != 0)
			fail_msg("'%s' was split", bad[i]);
}

static void depth_is_bounded(void **state)
{
	static const char *const open[] = { "$(", "(", "{ ", "${a:-", "\"$(", "<(", "if " };
	size_t starts[PIECES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(open); i++) {
		struct buf text = { 0 };

		buf_puts(&text, "a\n");
		for (int k = 0; k < 100000; k++)
			buf_puts(&text, open[i]);
		assert_int_equal(split(buf_str(&text), starts), 0);
		buf_clear(&text);
	}
}

static void only_as_many_starts_as_fit_are_given(void **state)
{
	size_t starts[3] = { 0, 0, 77 };

	(void)state;
	assert_int_equal(split_commands("a\nb\nc\nd", 7, starts, 2), 4);
	assert_int_equal(starts[1], 2);
	assert_int_equal(starts[2], 77);
	assert_int_equal(split_commands("a\nb", 3, NULL, 0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_commands_of_a_line_each_are_told_apart),
		cmocka_unit_test(comments_belong_to_what_stands_before_them),
		cmocka_unit_test(a_command_over_several_lines_is_one),
		cmocka_unit_test(a_further_line_makes_two_of_it),
		cmocka_unit_test(what_cannot_be_parsed_is_not_split),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(only_as_many_starts_as_fit_are_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
