/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/conn.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "unit.h"

#define KEY "0123456789abcdef"
#define PLACES 3 /* for connections over the one listener */

/* A server of three routes, and a client's end of one connection. */
struct server {
	struct loop loop;
	struct conns conns;
	struct conn *held;
	int listener, client;
	char body[64];
};

static void get_open(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, "text/plain", "open", 4);
}

static void post_body(struct server *s, struct conn *c, const char *body, size_t len)
{
	assert_true(len < sizeof(s->body));
	memcpy(s->body, body, len);
	s->body[len] = '\0';
	conn_reply(c, 200, NULL, body, len);
}

static void get_later(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	conn_hold(c, &s->held);
}

static const struct route routes[] = {
	{ "GET", "/open", true, 0, get_open },
	{ "POST", "/body", false, 32, post_body },
	{ "GET", "/later", false, 0, get_later },
};

static int setup(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = calloc(1, sizeof(*s));
	socklen_t len = sizeof(a);
	struct err e = { 0 };

	*state = s;
	if (!s || loop_init(&s->loop, &e) < 0)
		return -1;
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	s->client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) < 0 ||
	    connect(s->client, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	s->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .key = KEY,
				    .routes = routes,
				    .n_routes = ARRAY_LEN(routes) };
	return conns_listen(&s->conns, s->listener, PLACES, &e);
}

/* A timer that is due keeps the loop from waiting. */
static void nothing(struct timer *timer)
{
	(void)timer;
}

/* Let the server do all it has to do with what has come. */
static void settle(struct server *s)
{
	struct err e = { 0 };

	for (int i = 0; i < 40; i++) {
		struct timer t = { .fire = nothing };

		loop_arm(&s->loop, &t, loop_now());
		assert_ok(loop_turn(&s->loop, &e));
		loop_disarm(&s->loop, &t);
	}
}

static int teardown(void **state)
{
	struct server *s = *state;

	(void)close(s->client);
	settle(s);
	assert_null(s->conns.first);
	(void)close(s->listener);
	(void)close(s->loop.epoll);
	for (unsigned i = 0; i < s->conns.n_listeners; i++)
		free(s->conns.listeners[i]); /* begins what the listener is part of */
	free(s);
	return 0;
}

static void says(struct server *s, const char *bytes)
{
	assert_int_equal(send(s->client, bytes, strlen(bytes), 0), (ssize_t)strlen(bytes));
	settle(s);
}

/* What has come back; "" for nothing, "(end)" where the server closed. */
static const char *hears(struct server *s)
{
	static char got[8192];
	ssize_t n = recv(s->client, got, sizeof(got) - 1, MSG_DONTWAIT);

	if (n == 0)
		return "(end)";
	got[n > 0 ? n : 0] = '\0';
	return got;
}

static void a_request_that_comes_byte_by_byte_is_answered(void **state)
{
	static const char text[] = "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
				   "\r\nContent-Length: 5\r\n\r\nhello";
	struct server *s = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		assert_string_equal(hears(s), "");
		says(s, (char[]) { text[i], '\0' });
	}
	assert_string_equal(s->body, "hello");
	assert_string_equal(hears(s), "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
				      "content-length: 5\r\n\r\nhello");
}

static void requests_that_come_together_are_answered_in_order(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n"
		"GET /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	got = hears(s);
	assert_non_null(strstr(got, "open"
				    "HTTP/1.1 403 Forbidden\r\n"));
	assert_non_null(strstr(got, "{\"detail\":\"Invalid API Key\"}HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(got, "connection: close\r\n\r\nopen"));
	assert_string_equal(hears(s), "(end)");
}

static void a_chunked_body_comes_whole(void **state)
{
	struct server *s = *state;

	says(s, "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nl");
	says(s, "lo\r\n0\r\n\r\n");
	assert_string_equal(s->body, "hello");
	assert_non_null(strstr(hears(s), "hello"));
}

static void a_wrong_key_is_wrong_whatever_its_form(void **state)
{
	static const char *const keys[] = { "",	     "0",     "0123456789abcdeX",
					    KEY "0", KEY KEY, "0123456789ABCDEF" };
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text),
			       "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\n\r\n",
			       keys[i]);
		says(s, text);
		assert_non_null(strstr(hears(s), "403 Forbidden"));
	}
	assert_null(s->held);
}

static void a_body_beyond_the_routes_limit_is_413(void **state)
{
	struct server *s = *state;

	says(s, "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\nContent-Length: 33\r\n\r\n0123");
	assert_non_null(strstr(hears(s), "413 Content Too Large"));
	assert_string_equal(hears(s), "(end)");
	assert_string_equal(s->body, "");
}

static void a_chunked_body_beyond_the_limit_is_413_too(void **state)
{
	struct server *s = *state;

	says(s,
	     "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
	     "\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n01234567890123456789012345678901\r\n1\r\n2\r\n");
	assert_non_null(strstr(hears(s), "413 Content Too Large"));
	assert_string_equal(s->body, "");
}

static void a_reply_may_come_later_and_the_next_request_waits(void **state)
{
	struct server *s = *state;

	says(s, "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_string_equal(hears(s), "");
	assert_non_null(s->held);
	conn_reply(s->held, 200, NULL, "1", 1);
	assert_null(s->held);
	settle(s);
	assert_non_null(strstr(hears(s), "\r\n\r\n1HTTP/1.1 200 OK\r\n"));
}

static void a_client_that_goes_away_is_forgotten(void **state)
{
	struct server *s = *state;
	struct linger now = { .l_onoff = 1 };

	says(s, "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY "\r\n\r\n");
	assert_non_null(s->held);
	(void)setsockopt(s->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(s->client);
	settle(s);
	assert_null(s->held);
	s->client = -1;
}

static void the_method_of_a_path_is_named(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "PUT /open HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
	got = hears(s);
	assert_non_null(strstr(got, "405 Method Not Allowed"));
	assert_non_null(strstr(got, "allow: GET\r\n"));
}

/* One more connection to where `near` is connected. */
static int another(int near)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(getpeername(near, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static int listener_of_its_own(int *client)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);

	*client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(*client, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void who_crowds_one_listener_does_not_crowd_another(void **state)
{
	struct server *s = *state;
	int crowd[PLACES + 2], first = s->client, other, listener = listener_of_its_own(&other);
	struct err e = { 0 };

	/* None of them is idle, so none can be made to go. */
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		crowd[i] = another(first);
		assert_int_equal(send(crowd[i], "GET", 3, 0), 3);
	}
	says(s, "GET");
	assert_int_equal(s->conns.n, PLACES);
	assert_ok(conns_listen(&s->conns, listener, PLACES, &e));
	s->client = other;
	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "200 OK"));
	assert_int_equal(s->conns.n, PLACES + 1);
	(void)close(other);
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
		(void)close(crowd[i]);
	s->client = first;
	settle(s);
	(void)close(listener);
}

int main(void)
{
#define conn_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		conn_test(a_request_that_comes_byte_by_byte_is_answered),
		conn_test(requests_that_come_together_are_answered_in_order),
		conn_test(a_chunked_body_comes_whole),
		conn_test(a_wrong_key_is_wrong_whatever_its_form),
		conn_test(a_body_beyond_the_routes_limit_is_413),
		conn_test(a_chunked_body_beyond_the_limit_is_413_too),
		conn_test(a_reply_may_come_later_and_the_next_request_waits),
		conn_test(a_client_that_goes_away_is_forgotten),
		conn_test(the_method_of_a_path_is_named),
		conn_test(who_crowds_one_listener_does_not_crowd_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
