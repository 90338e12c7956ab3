/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sandbox/gate.h"

struct pair {
	int host, child;
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct err e = { 0 };

	if (!p || gate_new(&p->host, &p->child, &e) < 0)
		return -1;
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	drop_fd(&p->host);
	drop_fd(&p->child);
	free(p);
	return 0;
}

static void both_ends_are_closed_by_exec(void **state)
{
	struct pair *p = *state;

	assert_int_equal(fcntl(p->host, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(p->child, F_GETFD), FD_CLOEXEC);
}

static void go_reaches_the_child(void **state)
{
	struct pair *p = *state;
	int fds[GATE_FDS_MAX];
	struct err e = { 0 };

	assert_ok(gate_go(p->host, NULL, 0, &e));
	assert_int_equal(gate_await(p->child, fds, &e), 0);
	assert_ok(gate_check(p->child, &e));
}

static void a_host_that_died_is_no_go(void **state)
{
	struct pair *p = *state;
	int fds[GATE_FDS_MAX];
	struct err e = { 0 };

	drop_fd(&p->host);
	assert_refused(gate_await(p->child, fds, &e), EPIPE, "gate: the host is gone");
}

static void a_host_that_died_after_go_is_seen(void **state)
{
	struct pair *p = *state;
	int fds[GATE_FDS_MAX];
	struct err e = { 0 };

	assert_ok(gate_go(p->host, NULL, 0, &e));
	assert_int_equal(gate_await(p->child, fds, &e), 0);
	drop_fd(&p->host);
	assert_refused(gate_check(p->child, &e), EPIPE, "gate: the host is gone");
}

static void closing_after_ready_is_success(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	assert_ok(gate_ready(p->child, &e));
	drop_fd(&p->child);
	assert_ok(gate_answer(p->host, 1000, &e));
}

static void closing_without_a_word_is_a_death(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	drop_fd(&p->child);
	assert_refused(gate_answer(p->host, 1000, &e), ECHILD,
		       "the sandbox died while it was being set up");
}

static void dying_with_go_unread_is_a_death(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	assert_ok(gate_go(p->host, NULL, 0, &e));
	drop_fd(&p->child);
	assert_refused(gate_answer(p->host, 1000, &e), ECHILD,
		       "the sandbox died while it was being set up");
}

static void descriptors_go_with_the_go_and_are_closed_on_exec(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };
	int sent[2], got[GATE_FDS_MAX];
	char byte = 0;

	assert_int_equal(pipe(sent), 0);
	assert_ok(gate_go(p->host, sent, 2, &e));
	assert_int_equal(gate_await(p->child, got, &e), 2);
	assert_int_equal(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(sent[1], "x", 1), 1);
	assert_int_equal(read(got[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	for (int i = 0; i < 2; i++) {
		drop_fd(&sent[i]);
		drop_fd(&got[i]);
	}
}

/* In a process of its own: gate_fail does not come back. */
static void fail_in_child(struct pair *p, const struct err *say, bool after_ready)
{
	struct err e = { 0 };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (after_ready && gate_ready(p->child, &e) < 0)
			_exit(1);
		gate_fail(p->child, say);
	}
	drop_fd(&p->child);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 125);
}

static void an_error_crosses_as_it_is(void **state)
{
	struct pair *p = *state;
	struct err say = { 0 }, e = { 0 };

	(void)err_code(&say, ENOSPC, "inside: mounts: no room for '/tmp'");
	fail_in_child(p, &say, false);
	assert_refused(gate_answer(p->host, 1000, &e), ENOSPC,
		       "inside: mounts: no room for '/tmp'");
}

static void an_error_is_told_although_go_was_not_read(void **state)
{
	struct pair *p = *state;
	struct err say = { 0 }, e = { 0 };

	(void)err_code(&say, ENOSPC, "no room");
	assert_ok(gate_go(p->host, NULL, 0, &e));
	fail_in_child(p, &say, false);
	assert_refused(gate_answer(p->host, 1000, &e), ENOSPC, "no room");
}

static void who_failed_before_go_is_asked_why(void **state)
{
	struct pair *p = *state;
	struct err say = { 0 }, e = { 0 };

	(void)err_code(&say, ENOSPC, "no room");
	fail_in_child(p, &say, false);
	assert_refused(gate_go(p->host, NULL, 0, &e), ENOSPC, "no room");
}

static void an_exec_that_fails_is_told_after_ready(void **state)
{
	struct pair *p = *state;
	struct err say = { 0 }, e = { 0 };

	(void)err_code(&say, ENOEXEC, "exec the executor");
	fail_in_child(p, &say, true);
	assert_refused(gate_answer(p->host, 1000, &e), ENOEXEC, "exec the executor");
}

static void an_error_without_end_or_code_is_made_one(void **state)
{
	struct pair *p = *state;
	struct err say, e = { 0 };

	memset(&say, 'x', sizeof(say));
	say.code = 0;
	fail_in_child(p, &say, false);
	assert_int_equal(gate_answer(p->host, 1000, &e), -EPROTO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void an_answer_of_another_size_is_refused(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	assert_int_equal(send(p->child, "abc", 3, 0), 3);
	assert_refused(gate_answer(p->host, 1000, &e), EPROTO, "gate: an answer of 3 bytes");
}

static void a_silent_child_is_waited_for_no_longer_than_said(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	assert_refused(gate_answer(p->host, 10, &e), ETIMEDOUT,
		       "the sandbox did not come up in time");
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(both_ends_are_closed_by_exec),
		pair_test(go_reaches_the_child),
		pair_test(a_host_that_died_is_no_go),
		pair_test(a_host_that_died_after_go_is_seen),
		pair_test(closing_after_ready_is_success),
		pair_test(closing_without_a_word_is_a_death),
		pair_test(dying_with_go_unread_is_a_death),
		pair_test(descriptors_go_with_the_go_and_are_closed_on_exec),
		pair_test(an_error_crosses_as_it_is),
		pair_test(an_error_is_told_although_go_was_not_read),
		pair_test(who_failed_before_go_is_asked_why),
		pair_test(an_exec_that_fails_is_told_after_ready),
		pair_test(an_error_without_end_or_code_is_made_one),
		pair_test(an_answer_of_another_size_is_refused),
		pair_test(a_silent_child_is_waited_for_no_longer_than_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
