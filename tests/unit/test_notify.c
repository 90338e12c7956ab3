/* SPDX-License-Identifier: MIT */
/* test_notify.c - what the filter refuses is answered by init, and the server hears of it. */
#include "sandbox/executor/notify.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sandbox/executor/cage.h"
#include "sandbox/executor/init_parts.h"
#include "unit.h"

#define TAG 7

/* Refuses acct(2) with EPERM, and everything else with nothing. */
static const struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* Init, as far as it is needed; the server's end of its link. */
struct world {
	struct init init;
	int server;
};

static void world_init(struct world *w)
{
	struct err e = { 0 };
	int ours;

	memset(w, 0, sizeof(*w));
	assert_ok(ctl_pair(&ours, &w->server, &e));
	assert_ok(loop_init(&w->init.loop, &e));
	w->init.ask[SERVER].fd = ours;
	assert_int_equal(fcntl(w->server, F_SETFL, O_NONBLOCK), 0);
	notify_init(&w->init.notify, &w->init);
	if (!notify_has_room(&w->init.notify)) {
		print_message("skip: this kernel tells nobody of refused calls\n");
		skip();
	}
}

static void world_clear(struct world *w)
{
	(void)close(w->server);
	(void)close(w->init.ask[SERVER].fd);
	(void)close(w->init.loop.epoll);
}

/* A process under the filter that makes `calls` refused ones, and ends with how many got EPERM (up to
 * 100 of them). Its listener is sent back. */
static pid_t refused_process(int calls, int *listener)
{
	int pair[2];
	char byte;
	pid_t pid;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		struct err e = { 0 };
		int fd = -1, answered = 0;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    cage_workload_told(filter, sizeof(filter), &fd, &e) < 0 || fd < 0)
			_exit(200);
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		if (sendmsg(pair[1], &m, 0) != 1)
			_exit(201);
		(void)close(fd);
		for (int i = 0; i < calls; i++)
			answered += syscall(SYS_acct, 1, 2, 3) == -1 && errno == EPERM;
		_exit(answered > 100 ? 100 : answered);
	}
	assert_int_equal(recvmsg(pair[0], &m, MSG_CMSG_CLOEXEC), 1);
	memcpy(listener, CMSG_DATA(&control.head), sizeof(*listener));
	(void)close(pair[0]);
	(void)close(pair[1]);
	return pid;
}

/* A timer that keeps the loop from waiting for ever. */
static void nothing(struct timer *timer)
{
	(void)timer;
}

/* Serve until the process ends and its filter with it; adds up what the server is told. */
static unsigned serve(struct world *w, uint32_t *count, unsigned *messages)
{
	struct timer t = { .fire = nothing };
	struct ctl_message m;
	struct err e = { 0 };

	*count = *messages = 0;
	for (int i = 0; i < 100000 && (w->init.notify.n_listeners || w->init.notify.tick.armed);
	     i++) {
		loop_arm(&w->init.loop, &t, loop_now() + 5);
		assert_ok(loop_turn(&w->init.loop, &e));
		loop_disarm(&w->init.loop, &t);
		while (ctl_receive(w->server, &m, &e) == 1) {
			assert_int_equal(m.kind, CTL_REFUSED);
			assert_int_equal(m.refused.tag, TAG);
			assert_int_equal(m.refused.call, SYS_acct);
			assert_int_equal(m.refused.args[2], 3);
			*count += m.refused.count;
			++*messages;
		}
	}
	return w->init.notify.n_listeners;
}

static void a_refused_call_is_answered_and_told_of(void **state)
{
	uint32_t count;
	unsigned messages;
	struct err e = { 0 };
	struct world w;
	int listener, status;
	pid_t pid;

	(void)state;
	world_init(&w);
	pid = refused_process(1, &listener);
	assert_ok(notify_add(&w.init.notify, listener, TAG, &e));
	assert_int_equal(serve(&w, &count, &messages), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(count, 1);
	assert_int_equal(messages, 1);
	world_clear(&w);
}

static void many_refused_calls_are_counted_and_told_of_together(void **state)
{
	uint32_t count;
	unsigned messages;
	struct err e = { 0 };
	struct world w;
	int listener, status;
	pid_t pid;

	(void)state;
	world_init(&w);
	pid = refused_process(3 * NOTIFY_ANSWERS, &listener);
	assert_ok(notify_add(&w.init.notify, listener, TAG, &e));
	assert_int_equal(serve(&w, &count, &messages), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 100);
	assert_int_equal(count, 3 * NOTIFY_ANSWERS);
	assert_true(messages <= 3 * NOTIFY_ANSWERS / 10);
	world_clear(&w);
}

/* A server that does not read is not flooded: what it must hear would find no place. */
static void a_server_that_does_not_read_is_told_later(void **state)
{
	uint32_t count;
	unsigned messages;
	struct ctl_message big = { .kind = CTL_FAILED, .failed = { .tag = 1 } };
	struct err e = { 0 };
	struct world w;
	int listener, status, sent = 0;
	pid_t pid;

	(void)state;
	world_init(&w);
	memset(big.failed.text, 'x', sizeof(big.failed.text) - 1);
	for (; sent < 400; sent++) {
		assert_int_equal(fcntl(w.init.ask[SERVER].fd, F_SETFL, O_NONBLOCK), 0);
		if (ctl_send(w.init.ask[SERVER].fd, &big, &e) < 0)
			break;
	}
	pid = refused_process(5, &listener);
	assert_ok(notify_add(&w.init.notify, listener, TAG, &e));
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	while (w.init.notify.n_listeners)
		assert_ok(loop_turn(&w.init.loop, &e));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 5);
	assert_false(w.init.ended);
	while (sent--) {
		assert_int_equal(ctl_receive(w.server, &big, &e), 1);
		ctl_message_clear(&big);
	}
	assert_int_equal(serve(&w, &count, &messages), 0);
	assert_int_equal(count, 5);
	world_clear(&w);
}

static void a_process_killed_while_it_waits_leaves_nothing(void **state)
{
	uint32_t count;
	unsigned messages;
	struct err e = { 0 };
	struct world w;
	int listener, status;
	pid_t pid;

	(void)state;
	world_init(&w);
	pid = refused_process(1000000, &listener);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_ok(notify_add(&w.init.notify, listener, TAG, &e));
	assert_int_equal(serve(&w, &count, &messages), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	world_clear(&w);
}

/* More kinds in one tick than are told apart. The tick is far away, until all were answered. */
static void refusals_beyond_the_kinds_are_somebodys_too(void **state)
{
	enum { PROCESSES = NOTIFY_KINDS + 2 };
	unsigned others = 0, told = 0;
	struct ctl_message m;
	struct err e = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	loop_arm(&w.init.loop, &w.init.notify.tick, loop_now() + 1000000);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		int listener, status;
		pid_t pid = refused_process(1, &listener);

		assert_ok(notify_add(&w.init.notify, listener, TAG + i, &e));
		while (w.init.notify.n_listeners)
			assert_ok(loop_turn(&w.init.loop, &e));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), 1);
	}
	loop_arm(&w.init.loop, &w.init.notify.tick, loop_now());
	while (w.init.notify.tick.armed)
		assert_ok(loop_turn(&w.init.loop, &e));
	while (ctl_receive(w.server, &m, &e) == 1) {
		assert_in_range(m.refused.tag, TAG, TAG + PROCESSES - 1);
		told += m.refused.count;
		others += m.refused.call == CTL_CALLS_OTHER ? m.refused.count : 0;
	}
	assert_int_equal(told, PROCESSES);
	assert_int_equal(others, PROCESSES - (NOTIFY_KINDS - 1));
	world_clear(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_call_is_answered_and_told_of),
		cmocka_unit_test(many_refused_calls_are_counted_and_told_of_together),
		cmocka_unit_test(a_server_that_does_not_read_is_told_later),
		cmocka_unit_test(a_process_killed_while_it_waits_leaves_nothing),
		cmocka_unit_test(refusals_beyond_the_kinds_are_somebodys_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
