/* SPDX-License-Identifier: MIT */
/* What `sudo` makes of its command line: options, environment, the words that are executed. */
#include "unit.h"

#include "base/io.h"
#include "base/str.h"
#include "sandbox/sudo/env.h"
#include "sandbox/sudo/options.h"
#include "sandbox/sudo/people.h"

#define WORDS(...) ((char *[]) { (char *)"sudo", __VA_ARGS__, NULL })
#define W(text) ((char *)(text))

static int count(char **words)
{
	int n = 0;

	while (words[n])
		n++;
	return n;
}

static struct options parsed(char **words)
{
	struct options o = { 0 };
	struct err e = { 0 };

	if (options_parse(count(words), words, &o, &e) < 0)
		fail_msg("%s", e.text);
	return o;
}

static void refused(char **words, const char *why)
{
	struct options o = { 0 };
	struct err e = { 0 };

	assert_true(options_parse(count(words), words, &o, &e) < 0);
	if (!strstr(e.text, why))
		fail_msg("'%s' instead of '%s'", e.text, why);
}

static void options_end_where_the_command_begins(void **state)
{
	struct options o = parsed(WORDS(W("-n"), W("-u"), W("root"), W("ls"), W("-E"), W("-x")));

	(void)state;
	assert_string_equal(o.user, "root");
	assert_false(o.keep_all);
	assert_string_equal(o.command[0], "ls");
	assert_string_equal(o.command[2], "-x");
	options_clear(&o);
}

static void options_may_stand_together_and_be_long(void **state)
{
	struct options o = parsed(WORDS(W("-EHSnuroot"), W("id")));

	(void)state;
	assert_true(o.keep_all && o.set_home);
	assert_string_equal(o.user, "root");
	options_clear(&o);
	o = parsed(WORDS(W("--user=agent"), W("--background"), W("--preserve-env=A,B"),
			 W("--chdir"), W("/x"), W("--prompt="), W("id")));
	assert_string_equal(o.user, "agent");
	assert_true(o.background);
	assert_false(o.keep_all);
	assert_string_equal(o.keep, "A,B");
	assert_string_equal(o.dir, "/x");
	assert_string_equal(o.command[0], "id");
	options_clear(&o);
}

static void assignments_may_stand_between_options(void **state)
{
	struct options o =
		parsed(WORDS(W("A=1"), W("-E"), W("B="), W("-u"), W("root"), W("env"), W("C=3")));

	(void)state;
	assert_string_equal(o.assignments[0], "A=1");
	assert_string_equal(o.assignments[1], "B=");
	assert_null(o.assignments[2]);
	assert_true(o.keep_all);
	assert_string_equal(o.command[0], "env");
	assert_string_equal(o.command[1], "C=3");
	options_clear(&o);
}

static void nothing_is_an_option_behind_two_dashes(void **state)
{
	struct options o = parsed(WORDS(W("-n"), W("--"), W("-u"), W("A=1")));

	(void)state;
	assert_null(o.user);
	assert_null(o.assignments[0]);
	assert_string_equal(o.command[0], "-u");
	options_clear(&o);
	o = parsed(WORDS(W("--"), W("A=1"), W("x")));
	assert_null(o.assignments[0]);
	assert_string_equal(o.command[0], "A=1");
	options_clear(&o);
}

static void a_path_with_an_equals_sign_is_a_command(void **state)
{
	struct options o = parsed(WORDS(W("/bin/a=b")));

	(void)state;
	assert_null(o.assignments[0]);
	assert_string_equal(o.command[0], "/bin/a=b");
	options_clear(&o);
}

static void what_cannot_be_had_is_refused_by_name(void **state)
{
	(void)state;
	refused(WORDS(W("-g"), W("adm"), W("id")), "'-g' (--group)");
	refused(WORDS(W("--chroot=/x"), W("id")), "'-R' (--chroot)");
	refused(WORDS(W("-e"), W("/etc/passwd")), "'-e' (--edit)");
	refused(WORDS(W("-Z")), "invalid option '-Z'");
	refused(WORDS(W("--nonsense")), "invalid option '--nonsense'");
	refused(WORDS(W("-u")), "'-u' requires an argument");
	refused(WORDS(W("--user")), "'--user' requires an argument");
	refused(WORDS(W("-i"), W("-s")), "-i and -s");
	refused(WORDS(W("-iE")), "-i and -E");
	refused(WORDS(W("-v"), W("id")), "-v goes without a command");
	refused(WORDS(W("-n")), "a command is missing");
	refused((char *[]) { (char *)"sudo", NULL }, "a command is missing");
}

static void some_need_no_command(void **state)
{
	static const char *const alone[] = { "-l", "-v", "-k", "-K", "-i", "-s", "-h", "-V" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
		struct options o = parsed(WORDS(W(alone[i])));

		assert_null(o.command[0]);
		options_clear(&o);
	}
}

/* ---- environment ------------------------------------------------------------------------------ */

static const struct person root = { W("root"), W("/root"), W("/bin/bash"), 0, 0 };
static const struct person me = { W("openhands"), W("/home/openhands"), W("/bin/zsh"), 1000, 5 };

static char *const callers[] = { W("HOME=/home/openhands"),
				 W("PATH=/evil"),
				 W("LANG=C.UTF-8"),
				 W("LC_ALL=../../x"),
				 W("TERM=xterm"),
				 W("LD_PRELOAD=/evil.so"),
				 W("SECRET=1"),
				 W("PS1=() { :; }"),
				 W("nothing"),
				 W("USER=openhands"),
				 W("SHELL=/bin/fish"),
				 W("SUDO_USER=somebody"),
				 W("TZ=Europe/Berlin"),
				 NULL };

static const char *value(char **env, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
			assert_null(found); /* once alone */
			found = *env + len + 1;
		}
	return found;
}

static char **environment(char **words, const struct person *target)
{
	struct options o = parsed(words);
	struct env_case c = { .options = &o,
			      .from = callers,
			      .caller = &me,
			      .target = target,
			      .words = o.command };
	struct err e = { 0 };
	char **env = env_make(&c, &e);

	assert_non_null(env);
	options_clear(&o);
	return env;
}

static void little_is_kept_of_the_callers_environment(void **state)
{
	char **env = environment(WORDS(W("id"), W("-u")), &root);

	(void)state;
	assert_string_equal(value(env, "HOME"), "/root");
	assert_string_equal(value(env, "PATH"), ENV_PATH);
	assert_string_equal(value(env, "USER"), "root");
	assert_string_equal(value(env, "LOGNAME"), "root");
	assert_string_equal(value(env, "SHELL"), "/bin/bash");
	assert_string_equal(value(env, "MAIL"), "/var/mail/root");
	assert_string_equal(value(env, "LANG"), "C.UTF-8");
	assert_string_equal(value(env, "TERM"), "xterm");
	assert_string_equal(value(env, "SUDO_COMMAND"), "id -u");
	assert_string_equal(value(env, "SUDO_USER"), "openhands");
	assert_string_equal(value(env, "SUDO_UID"), "1000");
	assert_string_equal(value(env, "SUDO_GID"), "5");
	assert_string_equal(value(env, "TZ"), "Europe/Berlin");
	assert_null(value(env, "LC_ALL"));
	assert_null(value(env, "LD_PRELOAD"));
	assert_null(value(env, "SECRET"));
	assert_null(value(env, "PS1"));
	list_free(env);
}

static void zone_that_leads_elsewhere_is_not_kept(void **state)
{
	static char *const zones[] = { W("TZ=/etc/shadow"), W("TZ=:/etc/shadow"), W("TZ=../x") };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
		char *const from[] = { zones[i], NULL };
		struct options o = parsed(WORDS(W("id")));
		struct env_case c = { .options = &o,
				      .from = from,
				      .caller = &me,
				      .target = &root,
				      .words = o.command };
		struct err e = { 0 };
		char **env = env_make(&c, &e);

		assert_null(value(env, "TZ"));
		list_free(env);
		options_clear(&o);
	}
}

static void all_of_it_is_kept_with_e_but_path_and_names(void **state)
{
	char **env = environment(WORDS(W("-E"), W("id")), &root);

	(void)state;
	assert_string_equal(value(env, "SECRET"), "1");
	assert_string_equal(value(env, "HOME"), "/home/openhands");
	assert_string_equal(value(env, "SHELL"), "/bin/fish");
	assert_string_equal(value(env, "PATH"), ENV_PATH);
	assert_string_equal(value(env, "USER"), "root");
	assert_string_equal(value(env, "SUDO_USER"), "openhands");
	list_free(env);
	env = environment(WORDS(W("-EH"), W("id")), &root);
	assert_string_equal(value(env, "HOME"), "/root");
	list_free(env);
}

static void named_ones_are_kept(void **state)
{
	char **env = environment(WORDS(W("--preserve-env=NO,SECRET"), W("id")), &root);

	(void)state;
	assert_string_equal(value(env, "SECRET"), "1");
	assert_null(value(env, "LD_PRELOAD"));
	list_free(env);
}

static void assignments_win(void **state)
{
	char **env = environment(WORDS(W("PATH=/mine"), W("X=a=b"), W("id")), &root);

	(void)state;
	assert_string_equal(value(env, "PATH"), "/mine");
	assert_string_equal(value(env, "X"), "a=b");
	list_free(env);
}

static void long_command_is_told_of_in_whole_words(void **state)
{
	char *word = calloc(1, 4000), **env;
	const char *told;

	(void)state;
	memset(word, 'x', 3999);
	env = environment(WORDS(W("id"), word, W("y"), word, W("z")), &root);
	told = value(env, "SUDO_COMMAND");
	assert_int_equal(strlen(told), strlen("id ") + 3999 + strlen(" y"));
	list_free(env);
	free(word);
}

/* ---- words ------------------------------------------------------------------------------------ */

static struct words words(char **line, const struct person *target)
{
	struct options o = parsed(line);
	struct words w = { 0 };
	struct err e = { 0 };

	assert_int_equal(words_make(&o, callers, &me, target, &w, &e), 0);
	options_clear(&o);
	return w;
}

static void command_is_executed_as_it_is(void **state)
{
	struct words w = words(WORDS(W("ls"), W("a b"), W("$x")), &root);

	(void)state;
	assert_string_equal(w.program, "ls");
	assert_string_equal(w.argv[0], "ls");
	assert_string_equal(w.argv[1], "a b");
	assert_null(w.argv[3]);
	words_clear(&w);
}

static void shell_of_the_caller_or_login_shell_of_the_target(void **state)
{
	struct words w = words(WORDS(W("-s")), &root);

	(void)state;
	assert_string_equal(w.program, "/bin/fish");
	assert_string_equal(w.argv[0], "/bin/fish");
	assert_null(w.argv[1]);
	words_clear(&w);
	w = words(WORDS(W("-i")), &root);
	assert_string_equal(w.program, "/bin/bash");
	assert_string_equal(w.argv[0], "-bash");
	words_clear(&w);
}

static void shell_gets_the_words_quoted_but_for_variables(void **state)
{
	struct words w =
		words(WORDS(W("-s"), W("echo"), W("a b;c'"), W("$HOME"), W("x\ny")), &root);

	(void)state;
	assert_string_equal(w.argv[1], "-c");
	assert_string_equal(w.argv[2], "echo a\\ b\\;c\\' $HOME x'\n'y");
	assert_null(w.argv[3]);
	words_clear(&w);
}

/* ---- people ----------------------------------------------------------------------------------- */

static void write_file(const struct scratch *s, const char *name, const char *text)
{
	struct err e = { 0 };

	assert_ok(io_replace_file(s->dir, name, text, strlen(text), 0644, &e));
}

static void people_are_those_of_the_file(void **state)
{
	struct scratch *s = *state;
	autofree char *path = NULL;
	struct person p = { 0 };
	struct err e = { 0 };

	write_file(s, "passwd", "root:x:0:0::/root:/bin/bash\nbad line\nme:x:1000:5::/home/me:\n");
	path = str_fmt(&e, "%s/passwd", s->path);
	assert_int_equal(person_named(path, "me", &p, &e), 0);
	assert_int_equal(p.uid, 1000);
	assert_int_equal(p.gid, 5);
	assert_string_equal(p.home, "/home/me");
	assert_string_equal(p.shell, "/bin/sh");
	person_clear(&p);
	assert_int_equal(person_named(path, "#0", &p, &e), 0);
	assert_string_equal(p.name, "root");
	person_clear(&p);
	assert_int_equal(person_numbered(path, 7, &p, &e), 0);
	assert_string_equal(p.name, "#7");
	assert_string_equal(p.home, "/");
	person_clear(&p);
	assert_refused(person_named(path, "bob", &p, &e), ENOENT, "unknown user 'bob'");
	assert_refused(person_named("/no/such", "bob", &p, &e), ENOENT,
		       "open '/no/such': No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_end_where_the_command_begins),
		cmocka_unit_test(options_may_stand_together_and_be_long),
		cmocka_unit_test(assignments_may_stand_between_options),
		cmocka_unit_test(nothing_is_an_option_behind_two_dashes),
		cmocka_unit_test(a_path_with_an_equals_sign_is_a_command),
		cmocka_unit_test(what_cannot_be_had_is_refused_by_name),
		cmocka_unit_test(some_need_no_command),
		cmocka_unit_test(little_is_kept_of_the_callers_environment),
		cmocka_unit_test(zone_that_leads_elsewhere_is_not_kept),
		cmocka_unit_test(all_of_it_is_kept_with_e_but_path_and_names),
		cmocka_unit_test(named_ones_are_kept),
		cmocka_unit_test(assignments_win),
		cmocka_unit_test(long_command_is_told_of_in_whole_words),
		cmocka_unit_test(command_is_executed_as_it_is),
		cmocka_unit_test(shell_of_the_caller_or_login_shell_of_the_target),
		cmocka_unit_test(shell_gets_the_words_quoted_but_for_variables),
		scratch_test(people_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
