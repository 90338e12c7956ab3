/* SPDX-License-Identifier: MIT */
/* test_idempotent.c - what is asked for again with its key is answered again, and done once. */
#include "sandbox/executor/idempotent.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "unit.h"

#define CLIENTS 3
#define DOING_MAX 8

/* A server that begins what it is asked for and ends it when the test says so. */
struct server {
	struct loop loop;
	struct conns conns;
	struct idempotents all;
	struct {
		struct conn *conn;
		struct once *once;
	} doing[DOING_MAX];
	unsigned n_doing, n_done;
	int listener, client[CLIENTS];
};

static void post(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct once *once;

	if (!idempotent_meet(&s->all, c, body, len, &once))
		return;
	if (len && body[0] == '!') { /* is refused */
		if (once)
			idempotent_withdraw(once);
		conn_reply_detail(c, 500, "refused");
		return;
	}
	assert_true(s->n_doing < DOING_MAX);
	s->doing[s->n_doing].once = once;
	conn_hold(c, &s->doing[s->n_doing++].conn);
}

static const struct route routes[] = { { "POST", "/do", true, 4096, .handle = post } };

static int setup(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = calloc(1, sizeof(*s));
	socklen_t len = sizeof(a);
	struct err e = { 0 };

	*state = s;
	(void)signal(SIGPIPE, SIG_IGN); /* as the server does */
	if (!s || loop_init(&s->loop, &e) < 0)
		return -1;
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) < 0)
		return -1;
	s->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .key = "k",
				    .routes = routes,
				    .n_routes = ARRAY_LEN(routes) };
	for (int i = 0; i < CLIENTS; i++) {
		s->client[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s->client[i], (struct sockaddr *)&a, sizeof(a)) < 0)
			return -1;
	}
	return conns_listen(&s->conns, s->listener, CLIENTS, &e);
}

static void nothing(struct timer *timer)
{
	(void)timer;
}

static void settle(struct server *s)
{
	struct err e = { 0 };

	for (int i = 0; i < 60; i++) {
		struct timer t = { .fire = nothing };

		loop_arm(&s->loop, &t, loop_now());
		assert_ok(loop_turn(&s->loop, &e));
		loop_disarm(&s->loop, &t);
	}
}

static int teardown(void **state)
{
	struct server *s = *state;

	for (int i = 0; i < CLIENTS; i++)
		(void)close(s->client[i]);
	settle(s);
	assert_null(s->conns.first);
	while (s->all.oldest) { /* all are done: each test sees to that */
		assert_true(s->all.oldest->done);
		s->all.oldest->done = false;
		idempotent_withdraw(s->all.oldest);
	}
	assert_int_equal(s->all.n + s->all.bytes, 0);
	(void)close(s->listener);
	(void)close(s->loop.epoll);
	free(s->conns.listeners[0]);
	free(s);
	return 0;
}

static void ask(struct server *s, int client, const char *key, const char *body)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "POST /do HTTP/1.1\r\nHost: x\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
			 key ? "Idempotency-Key: " : "", key ? key : "", key ? "\r\n" : "",
			 strlen(body), body);

	assert_int_equal(send(s->client[client], text, (size_t)n, 0), n);
	settle(s);
}

static const char *hears(struct server *s, int client)
{
	static char got[8192];
	ssize_t n = recv(s->client[client], got, sizeof(got) - 1, MSG_DONTWAIT);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

/* As whoever does things answers: the client first, if it is still there. */
static void done(struct server *s, const char *answer, size_t len)
{
	struct conn *c = s->doing[s->n_done].conn;
	struct once *once = s->doing[s->n_done++].once;
	struct conn_head head = { .status = 200, .lines = "x-n: 7\r\n", .length = len };

	if (c)
		conn_reply_as(c, &head, answer);
	if (once)
		idempotent_answer(once, 200, head.lines, answer, len);
	settle(s);
}

static void a_repetition_has_the_same_answer_and_is_not_done(void **state)
{
	struct server *s = *state;

	ask(s, 0, "one", "body");
	assert_int_equal(s->n_doing, 1);
	done(s, "answer", 6);
	assert_string_equal(hears(s, 0), "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
					 "content-length: 6\r\nx-n: 7\r\n\r\nanswer");
	ask(s, 1, "one", "body");
	assert_int_equal(s->n_doing, 1);
	assert_string_equal(
		hears(s, 1),
		"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
		"content-length: 6\r\nx-n: 7\r\nidempotent-replayed: true\r\n\r\nanswer");
}

static void requests_without_a_key_are_done_each_time(void **state)
{
	struct server *s = *state;

	ask(s, 0, NULL, "body");
	ask(s, 1, NULL, "body");
	assert_int_equal(s->n_doing, 2);
	assert_int_equal(s->all.n, 0);
	done(s, "1", 1);
	done(s, "2", 1);
}

static void another_body_under_the_same_key_is_refused(void **state)
{
	struct server *s = *state;

	ask(s, 0, "one", "body");
	ask(s, 1, "one", "other");
	assert_non_null(strstr(hears(s, 1), "422 Unprocessable Content"));
	done(s, "answer", 6);
	ask(s, 1, "one", "bod");
	assert_non_null(strstr(hears(s, 1), "another body"));
	assert_int_equal(s->n_doing, 1);
}

static void a_repetition_waits_for_what_is_being_done(void **state)
{
	struct server *s = *state;

	ask(s, 0, "one", "body");
	ask(s, 1, "one", "body");
	ask(s, 2, "one", "body");
	assert_int_equal(s->n_doing, 1);
	assert_string_equal(hears(s, 1), "");
	/* Nobody that asked first has to be there any more, nor all that asked again. */
	(void)shutdown(s->client[0], SHUT_RDWR);
	(void)close(s->client[0]);
	(void)close(s->client[2]);
	settle(s);
	done(s, "answer", 6);
	assert_non_null(strstr(hears(s, 1), "answer"));
	s->client[0] = s->client[2] = -1;
}

/* The next request of a connection may be here when its reply goes out. */
static void repetitions_on_one_connection_are_answered_in_turn(void **state)
{
	struct server *s = *state;
	const char *got;

	ask(s, 0, "one", "body");
	ask(s, 0, "one", "body");
	ask(s, 1, "one", "body");
	ask(s, 1, "one", "body");
	assert_int_equal(s->n_doing, 1);
	done(s, "answer", 6);
	for (int i = 0; i < 2; i++) {
		got = hears(s, i);
		got = strstr(got, "answer");
		assert_non_null(got);
		assert_non_null(strstr(got + 6, "answer"));
	}
}

static void what_was_refused_may_come_again(void **state)
{
	struct server *s = *state;

	ask(s, 0, "one", "!no");
	assert_non_null(strstr(hears(s, 0), "refused"));
	assert_int_equal(s->all.n, 0);
	ask(s, 0, "one", "yes");
	assert_int_equal(s->n_doing, 1);
	done(s, "answer", 6);
}

static void an_answer_too_large_to_keep_is_told_once_and_the_key_remembered(void **state)
{
	char *large = calloc(1, IDEMPOTENT_ANSWER_MAX + 1);
	struct server *s = *state;

	assert_non_null(large);
	ask(s, 0, "one", "body");
	(void)close(s->client[0]); /* its answer is not what this is about */
	settle(s);
	s->client[0] = -1;
	done(s, large, IDEMPOTENT_ANSWER_MAX + 1);
	free(large);
	assert_int_equal(s->all.bytes, 0);
	ask(s, 1, "one", "body");
	assert_non_null(strstr(hears(s, 1), "409 Conflict"));
	assert_int_equal(s->n_doing, 1);
}

/* One that was asked for and done, with nobody left who wants its answer. */
static struct once *forget_client(struct server *s, const char *key)
{
	struct once *once;

	ask(s, 0, key, "body");
	once = s->doing[--s->n_doing].once;
	conn_reply(s->doing[s->n_doing].conn, 200, NULL, "", 0);
	(void)hears(s, 0);
	return once;
}

static void the_oldest_answers_and_keys_go_when_there_are_too_many(void **state)
{
	char *large = calloc(1, IDEMPOTENT_ANSWER_MAX), key[24];
	struct server *s = *state;

	assert_non_null(large);
	for (int i = 0; i < 6; i++) {
		(void)snprintf(key, sizeof(key), "large %d", i);
		idempotent_answer(forget_client(s, key), 200, "", large, IDEMPOTENT_ANSWER_MAX);
		assert_true(s->all.bytes <= IDEMPOTENT_ANSWERS_MAX);
	}
	free(large);
	ask(s, 0, "large 0", "body"); /* remembered, though its answer is not kept */
	assert_non_null(strstr(hears(s, 0), "409 Conflict"));
	for (int i = 0; i < IDEMPOTENT_KEYS; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		idempotent_answer(forget_client(s, key), 200, "", "x", 1);
		assert_true(s->all.n <= IDEMPOTENT_KEYS);
	}
	ask(s, 0, "0", "body");
	assert_non_null(strstr(hears(s, 0), "idempotent-replayed"));
	ask(s, 0, "large 0", "body"); /* not known any more */
	assert_int_equal(s->n_doing, 1);
	done(s, "answer", 6);
}

static void keys_have_a_length(void **state)
{
	char wide[IDEMPOTENT_KEY_MAX + 2];
	struct server *s = *state;

	memset(wide, 'k', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	ask(s, 0, wide, "body");
	assert_non_null(strstr(hears(s, 0), "1 to 255 bytes"));
	ask(s, 0, "", "body");
	assert_non_null(strstr(hears(s, 0), "422"));
	assert_int_equal(s->n_doing, 0);
	ask(s, 0, wide + 1, "body");
	assert_int_equal(s->n_doing, 1);
	done(s, "answer", 6);
}

int main(void)
{
#define once_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		once_test(a_repetition_has_the_same_answer_and_is_not_done),
		once_test(requests_without_a_key_are_done_each_time),
		once_test(another_body_under_the_same_key_is_refused),
		once_test(a_repetition_waits_for_what_is_being_done),
		once_test(repetitions_on_one_connection_are_answered_in_turn),
		once_test(what_was_refused_may_come_again),
		once_test(an_answer_too_large_to_keep_is_told_once_and_the_key_remembered),
		once_test(the_oldest_answers_and_keys_go_when_there_are_too_many),
		once_test(keys_have_a_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
