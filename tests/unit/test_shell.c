/* SPDX-License-Identifier: MIT */
/* A real bash on a real terminal; the test stands where init does. */
#include "sandbox/executor/shell.h"

#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sandbox/executor/split.h"
#include "unit.h"

struct stage {
	struct loop loop;
	struct procs procs;
	struct shell shell;
	int init; /* our end of the link */
	pid_t bash;
	bool happened[SHELL_FAILED + 1];
};

static void on_event(struct shell *sh, enum shell_event event)
{
	container_of(sh, struct stage, shell)->happened[event] = true;
}

static void too_late(struct timer *timer)
{
	(void)timer;
	fail_msg("nothing happened in time");
}

/* Turn the loop until this has happened. */
static void await(struct stage *s, enum shell_event event)
{
	struct timer end = { .fire = too_late };
	struct err e = { 0 };

	loop_arm(&s->loop, &end, loop_now() + 20000);
	while (!s->happened[event])
		assert_ok(loop_turn(&s->loop, &e));
	loop_disarm(&s->loop, &end);
	s->happened[event] = false;
}

static void on_time(struct timer *timer)
{
	(void)timer;
}

/* What there is, or comes soon. */
static void turn(struct stage *s)
{
	struct timer end = { .fire = on_time };
	struct err e = { 0 };

	loop_arm(&s->loop, &end, loop_now() + 20);
	assert_ok(loop_turn(&s->loop, &e));
	loop_disarm(&s->loop, &end);
}

static void look(struct shell *sh, int group)
{
	char path[32], stat[1024];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, stat, sizeof(stat) - 1);
	(void)close(fd);
	stat[n < 0 ? 0 : n] = '\0';
	shell_looked(sh, group, shell_stat_is_between(stat));
}

static void exec_bash(int slave, int control, char **argv)
{
	static char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent",
				     "TERM=tmux-256color", NULL };

	(void)setsid();
	(void)ioctl(slave, TIOCSCTTY, 0);
	(void)dup2(control, 0);
	(void)dup2(slave, 1);
	(void)dup2(slave, 2);
	(void)execve("/bin/bash", argv, env);
	_exit(127);
}

/* Answer a START as init would. */
static void be_init(struct stage *s)
{
	struct ctl_message m = { 0 };
	struct ctl_message answer = { .kind = CTL_STARTED };
	int master, slave, pair[2];
	struct err e = { 0 };

	assert_int_equal(ctl_receive(s->init, &m, &e), 1);
	assert_int_equal(m.kind, CTL_START);
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	(void)fcntl(master, F_SETFD, FD_CLOEXEC);
	s->bash = fork();
	if (s->bash == 0)
		exec_bash(slave, pair[0], m.start.argv);
	answer.started.tag = m.start.tag;
	answer.started.pid = s->bash;
	answer.started.fds[0] = master;
	answer.started.fds[1] = pair[1];
	answer.started.n_fds = 2;
	assert_ok(ctl_send(s->init, &answer, &e));
	(void)close(master);
	(void)close(slave);
	(void)close(pair[0]);
	(void)close(pair[1]);
	ctl_message_clear(&m);
}

static int setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct err e = { 0 };
	int link;

	*state = s;
	if (!s || loop_init(&s->loop, &e) < 0 || ctl_pair(&s->init, &link, &e) < 0 ||
	    procs_init(&s->procs, &s->loop, link, &e) < 0)
		return -1;
	shell_init(&s->shell, &s->procs, on_event);
	s->shell.look = look;
	if (shell_start(&s->shell, "/", &e) < 0)
		return -1;
	be_init(s);
	await(s, SHELL_UP);
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;

	if (s->bash > 0) {
		(void)kill(s->bash, SIGKILL);
		(void)waitpid(s->bash, NULL, 0);
	}
	shell_stop(&s->shell);
	screen_clear(&s->shell.screen);
	free(s->shell.report.cwd);
	free(s->shell.report.python);
	(void)close(s->procs.link.fd);
	(void)close(s->init);
	(void)close(s->loop.epoll);
	free(s);
	return 0;
}

static void shows(struct stage *s, const char *text)
{
	struct buf out = { 0 };

	(void)screen_text(&s->shell.screen, &out);
	assert_string_equal(buf_str(&out), text);
	buf_clear(&out);
}

static void begins(struct stage *s, const char *text)
{
	screen_clear(&s->shell.screen);
	shell_run(&s->shell, text, strlen(text), split_commands(text, strlen(text), NULL, 0) == 1);
}

static void runs(struct stage *s, const char *text, int code)
{
	begins(s, text);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, code);
}

static void output_is_whole_when_the_end_is_told(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 50; i++) {
		runs(s, "echo one; /bin/echo two; (echo three >&2)", 0);
		shows(s, "one\ntwo\nthree");
	}
}

static void nothing_of_the_command_or_of_a_prompt_is_shown(void **state)
{
	struct stage *s = *state;

	runs(s, "true", 0);
	shows(s, "");
	runs(s, "PS1='(env) '", 0);
	runs(s, "echo clean", 0);
	shows(s, "clean");
}

static void every_text_arrives_as_it_is(void **state)
{
	struct stage *s = *state;

	runs(s,
	     "printf '%s|' 'a\\nb' \"it's\" $'\\t.' '\xc3\xa4' '!x' '$y' 'back\\\\slash'\necho end",
	     0);
	shows(s, "a\\nb|it's|      .|\xc3\xa4|!x|$y|back\\\\slash|end");
}

static void status_and_last_argument_live_on(void **state)
{
	struct stage *s = *state;

	runs(s, "(exit 7)", 7);
	runs(s, "echo $?; true word", 0);
	shows(s, "7");
	runs(s, "echo $_", 0);
	shows(s, "word");
	runs(s, "cd /usr; sleep 100 & :", 0);
	assert_string_equal(s->shell.report.cwd, "/usr");
	assert_true(s->shell.report.background > 0);
	runs(s, "kill $!", 0);
}

static void a_text_that_does_not_parse_harms_nothing(void **state)
{
	static const char *const bad[] = { "echo 'a", "echo \"a", "if true; then", ")",
					   "x=`",     "$((",	  "for",	   "}" };
	struct stage *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		runs(s, bad[i], 2);
		runs(s, "echo well", 0);
		shows(s, "well");
	}
}

/* Who speaks is the program, not the shell: between its fork and its exec a bash forgets signals. */
static void keys_and_lines_reach_the_program(void **state)
{
	struct stage *s = *state;

	begins(s, "sh -c 'echo ready; read x; echo got $x; exec sleep 100'");
	await(s, SHELL_OUTPUT);
	shell_type(&s->shell, "line\n", 5);
	while (s->shell.screen.main.row < 3) /* what it got is shown */
		await(s, SHELL_OUTPUT);
	shell_type(&s->shell, "\003", 1);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 130);
	shows(s, "ready\nline\ngot line\n^C");
}

static void interrupted(struct stage *s)
{
	shell_type_signal(&s->shell, 3);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 130);
}

static void a_loop_is_ended_by_a_key(void **state)
{
	struct stage *s = *state;

	begins(s, "while :; do sh -c 'echo x; exec sleep 100'; done");
	await(s, SHELL_OUTPUT);
	interrupted(s);
	runs(s, "echo well", 0);
}

/* Whatever the shell is about just then: reading the command, or between fork and exec. */
static void a_key_pressed_at_any_moment_is_not_lost(void **state)
{
	struct stage *s = *state;

	for (int i = 0; i < 60; i++) {
		begins(s, "sleep 100");
		for (int turns = i % 6; turns && !s->shell.begun; turns--)
			turn(s);
		interrupted(s);
		runs(s, "echo well", 0);
		shows(s, "well");
	}
}

static void what_was_typed_and_not_read_is_read_by_nobody(void **state)
{
	struct stage *s = *state;

	begins(s, "sh -c 'echo ready; exec sleep 100'");
	await(s, SHELL_OUTPUT);
	shell_type(&s->shell, "rm -r precious\r", 15);
	interrupted(s);
	runs(s, "read -t 0 && echo there; read -t 0.2 x; echo \"[$x]\"", 0);
	shows(s, "[]");
}

static void keys_do_what_they_do_at_a_prompt(void **state)
{
	struct stage *s = *state;

	runs(s, "(exit 3)", 3);
	screen_clear(&s->shell.screen);
	shell_press(&s->shell, 26);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 3);
	shows(s, "");
	shell_press(&s->shell, 3);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 130);
	shows(s, "^C");
	runs(s, "echo $?", 0);
	shows(s, "130");
}

static void a_stopped_shell_goes_on_when_a_key_comes(void **state)
{
	struct stage *s = *state;
	struct ctl_message m = { 0 };
	struct err e = { 0 };

	begins(s, "kill -STOP $$; sleep 100");
	assert_int_equal(waitpid(s->bash, NULL, WUNTRACED), s->bash);
	shell_type_signal(&s->shell, 3);
	assert_int_equal(ctl_receive(s->init, &m, &e), 1);
	assert_int_equal(m.kind, CTL_SIGNAL);
	assert_int_equal(m.signal.signal, SIGCONT);
	assert_false(m.signal.group);
	ctl_message_clear(&m);
	(void)kill(s->bash, SIGCONT);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 130);
	runs(s, "echo well", 0);
}

static void functions_that_were_taken_away_come_back(void **state)
{
	struct stage *s = *state;

	runs(s, "unset -f $(compgen -A function); unset __ohs", 1);
	runs(s, "echo well", 0);
	shows(s, "well");
	runs(s, "set -e; unset -f __ohs_say", 0);
	runs(s, "echo well; set +e", 0);
	shows(s, "well");
}

static void options_and_traps_do_no_harm(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *shown; /* NULL: not looked at */
	} steps[] = {
		{ "set -e", 0, "" },
		{ "if false; then :; fi; ! true", 1, "" },
		{ "echo $?; set +e", 0, "1" },
		{ "set -u", 0, "" },
		{ "echo u", 0, "u" },
		{ "set +u; set -o posix", 0, "" },
		{ "echo p; set +o posix", 0, "p" },
		{ "trap 'echo error' ERR", 0, "" },
		{ "false", 1, "error" },
		{ "echo $?", 0, "1" },
		{ "trap - ERR; set -a; x=1", 0, "" },
		{ "env | grep -c __ohs", 1, "0" },
		{ "set +a; set -x", 0, "" },
		{ "echo x", 0, "++ echo x\nx" },
		{ "false", 1, "++ false" },
		{ "set +x", 0, "++ set +x" },
		{ "set -f; set -C; set -b", 0, "" },
		{ "echo *; set +f +C +b", 0, "*" },
		{ "shopt -s extdebug; shopt -u extdebug; IFS=0123456789", 0, "" },
		{ "(exit 34)", 34, "" },
		{ "echo \"$?\"; unset IFS", 0, "34" },
		{ "exec 3>&1 >/dev/null", 0, "" },
		{ "echo lost", 0, "" },
		{ "exec >&3 3>&-", 0, "" },
		{ "echo back", 0, "back" },
		{ "hash -r; set +h", 0, "" },
		{ "cd / && PWD=/nowhere", 0, "" },
	};
	struct stage *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		runs(s, steps[i].text, steps[i].code);
		if (steps[i].shown)
			shows(s, steps[i].shown);
	}
	runs(s, "true", 0);
	assert_string_equal(s->shell.report.cwd, "/");
}

static void prompts_are_never_shown(void **state)
{
	static const char *const texts[] = {
		"PS1='$ ' PS2='> ' PS0='run '",	      "PROMPT_COMMAND='echo prompt'",
		"PROMPT_COMMAND=('echo a' 'echo b')", "readonly PS1",
		"readonly PROMPT_COMMAND=",
	};
	struct stage *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		runs(s, texts[i], 0);
		shows(s, "");
		runs(s, "echo clean", 0);
		shows(s, "clean");
	}
	/* Files that users have look whether there is one. */
	runs(s, "[ -n \"$PS1\" ]", 0);
}

static void the_history_has_what_was_run(void **state)
{
	struct stage *s = *state;

	runs(s, "echo one two", 0);
	runs(s, "echo !$", 0);
	shows(s, "echo two\ntwo");
	runs(s, "^two^three", 0);
	shows(s, "echo three\nthree");
	runs(s, "!!", 0);
	shows(s, "echo three\nthree");
	runs(s, "!-4", 0);
	shows(s, "echo one two\none two");
	runs(s, "(exit 4)", 4);
	runs(s, "echo \"a!b c\"; echo no", 4);
	shows(s, "bash: !b: event not found");
	runs(s, "echo '!b' \"it's!\" ! \\!b $! [!b] \"x!\"", 0);
	shows(s, "!b it's! ! !b [!b] x!");
	runs(s, "cat <<E\n!b\nE", 0);
	shows(s, "!b");
	runs(s, "history 2 | sed 's/^ *[0-9]* *//'", 0);
	shows(s, "cat <<E\n!b\nE\nhistory 2 | sed 's/^ *[0-9]* *//'");
	runs(s, "set +H", 0);
	runs(s, "echo \"a!b\"", 0);
	shows(s, "a!b");
}

static void jobs_are_told_of(void **state)
{
	struct stage *s = *state;
	char text[64];

	runs(s, "sleep 100 & echo bg", 0);
	(void)snprintf(text, sizeof(text), "[1] %ld\nbg", s->shell.report.background);
	shows(s, text);
	runs(s, "jobs", 0);
	shows(s, "[1]+  Running                 sleep 100 &");
	runs(s, "kill %1; while kill -0 $! 2>&-; do :; done", 0);
	shows(s, "[1]+  Terminated              sleep 100");
	runs(s, "sh -c 'kill -9 $$'", 137);
	shows(s, "Killed");
	runs(s, "sh -c 'kill -9 $$'; echo after", 0);
	shows(s, "Killed\nafter");
	runs(s, "if sh -c 'kill -9 $$'\nthen :\nelse echo $?\nfi", 0);
	shows(s, "Killed\n137");
	runs(s, "sh -c 'kill -9 $$' | cat", 0);
	shows(s, "");
	runs(s, "sh -c 'kill -TSTP $$'", 148);
	runs(s, "fg", 0);
}

static void its_end_is_told_by_init_alone(void **state)
{
	struct stage *s = *state;
	struct ctl_message m = { .kind = CTL_EXITED };
	struct err e = { 0 };
	int status;

	begins(s, "exit 5");
	assert_int_equal(waitpid(s->bash, &status, 0), s->bash);
	s->bash = -1;
	m.exited.tag = s->shell.proc.tag;
	m.exited.wait_status = status;
	assert_ok(ctl_send(s->init, &m, &e));
	await(s, SHELL_ENDED);
	assert_int_equal(WEXITSTATUS(s->shell.wait_status), 5);
	assert_int_equal(s->shell.state, SHELL_NONE);
}

int main(void)
{
#define shell_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		shell_test(output_is_whole_when_the_end_is_told),
		shell_test(nothing_of_the_command_or_of_a_prompt_is_shown),
		shell_test(every_text_arrives_as_it_is),
		shell_test(status_and_last_argument_live_on),
		shell_test(a_text_that_does_not_parse_harms_nothing),
		shell_test(keys_and_lines_reach_the_program),
		shell_test(a_loop_is_ended_by_a_key),
		shell_test(a_key_pressed_at_any_moment_is_not_lost),
		shell_test(what_was_typed_and_not_read_is_read_by_nobody),
		shell_test(keys_do_what_they_do_at_a_prompt),
		shell_test(a_stopped_shell_goes_on_when_a_key_comes),
		shell_test(functions_that_were_taken_away_come_back),
		shell_test(options_and_traps_do_no_harm),
		shell_test(prompts_are_never_shown),
		shell_test(the_history_has_what_was_run),
		shell_test(jobs_are_told_of),
		shell_test(its_end_is_told_by_init_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
