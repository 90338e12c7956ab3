/* SPDX-License-Identifier: MIT */
/* A real bash on a real terminal; the test stands where init does. */
#include "sandbox/executor/shell.h"

#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

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
	shell_run(&s->shell, text, strlen(text));
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

static void a_loop_is_ended_by_a_key(void **state)
{
	struct stage *s = *state;

	begins(s, "while :; do sh -c 'echo x; exec sleep 100'; done");
	await(s, SHELL_OUTPUT);
	shell_type(&s->shell, "\003", 1);
	await(s, SHELL_DONE);
	assert_int_equal(s->shell.report.exit_code, 130);
	runs(s, "echo well", 0);
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
		shell_test(its_end_is_told_by_init_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
