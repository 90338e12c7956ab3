/* SPDX-License-Identifier: MIT */
/* test_idle.c - what sessions say of how long nobody has wanted anything of them. */
#include "api/idle.h"

#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "launch/listen.h"

#define HUNG 20

static int parse(const char *text, uint64_t *idle_ms)
{
	struct err e = { 0 };

	return idle_parse(text, strlen(text), idle_ms, &e);
}

static void the_time_is_read_out_of_a_whole_answer_alone(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n"
				   "{\"idle_time\": 1.5, \"a\":1}";
	struct err e = { 0 };
	uint64_t idle_ms = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1 - 2; n++)
		assert_int_equal(idle_parse(text, n, &idle_ms, &e), 0);
	assert_int_equal(parse("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"idle_time\": 1.5}",
			       &idle_ms),
			 1);
	assert_int_equal(idle_ms, 1500);
	assert_int_equal(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			       "8\r\n{\"idle_t\r\n8\r\nime\": 7}\r\n0\r\n\r\n",
			       &idle_ms),
			 1);
	assert_int_equal(idle_ms, 7000);
}

static void what_says_nothing_of_it_is_no_answer(void **state)
{
	static const char *const texts[] = {
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{\"",
		"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"idle_time\": -1}",
		"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"idle_time\": 1e300}",
		"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"idle_time\": \"1\"}",
		"SSH-2.0-x\r\n\r\n",
	};
	uint64_t idle_ms = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_true(parse(texts[i], &idle_ms) < 0);
	assert_int_equal(idle_ms, 42);
}

static int listen_at(uint16_t *port)
{
	struct err e = { 0 };
	int fds[LISTEN_LOOPBACK_MAX], n = listen_loopback(NULL, fds, port, &e);

	assert_true(n > 0);
	for (int i = 1; i < n; i++)
		(void)close(fds[i]);
	return fds[0];
}

/* A process that answers so to whoever comes. */
static pid_t answer_with(int listener, const char *text)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0) {
		char thrown_away[4096];
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		(void)!read(fd, thrown_away, sizeof(thrown_away));
		(void)!write(fd, text, strlen(text));
		(void)close(fd);
	}
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void those_that_hang_take_their_time_all_at_once(void **state)
{
	struct idle_ask asks[HUNG + 300] = { 0 };
	int hung[HUNG], good;
	uint64_t began = loop_now();
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < HUNG; i++)
		hung[i] = listen_at(&asks[i * 10].port);
	good = listen_at(&asks[1].port);
	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		if (!asks[i].port)
			asks[i].port = asks[1].port;
	pid = answer_with(good, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"idle_time\": 3}");
	idle_ask_all(asks, ARRAY_LEN(asks));
	end(pid);
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		bool hangs = i % 10 == 0 && i / 10 < HUNG;

		assert_true(asks[i].idle_ms == (hangs ? IDLE_UNKNOWN : 3000));
		assert_int_equal(asks[i].silent, hangs);
	}
	/* One after the other would be twenty times that. */
	assert_true(loop_now() - began < 10 * IDLE_TIMEOUT_MS);
	for (size_t i = 0; i < HUNG; i++)
		(void)close(hung[i]);
	(void)close(good);
}

static void where_nothing_is_told_the_other_port_is_asked(void **state)
{
	struct idle_ask asks[2] = { 0 };
	int program, executor;
	pid_t pids[2];

	(void)state;
	program = listen_at(&asks[0].port);
	executor = listen_at(&asks[0].other);
	asks[1].port = asks[0].other;
	pids[0] = answer_with(program, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	pids[1] = answer_with(executor,
			      "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"idle_time\": 9}");
	idle_ask_all(asks, 2);
	end(pids[0]);
	end(pids[1]);
	assert_int_equal(asks[0].idle_ms, 9000);
	assert_false(asks[0].silent);
	assert_int_equal(asks[1].idle_ms, 9000);
	/* Nobody there at all. */
	(void)close(program);
	(void)close(executor);
	idle_ask_all(asks, 1);
	assert_true(asks[0].idle_ms == IDLE_UNKNOWN && asks[0].silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_is_read_out_of_a_whole_answer_alone),
		cmocka_unit_test(what_says_nothing_of_it_is_no_answer),
		cmocka_unit_test(those_that_hang_take_their_time_all_at_once),
		cmocka_unit_test(where_nothing_is_told_the_other_port_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
