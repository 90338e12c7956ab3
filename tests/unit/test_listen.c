/* SPDX-License-Identifier: MIT */
#include "launch/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "unit.h"

static void both_loopbacks_listen_on_one_port(void **state)
{
	int fds[LISTEN_LOOPBACK_MAX] = { -1, -1 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct err e = { 0 };
	uint16_t port = 0;
	int n, client;

	(void)state;
	n = listen_loopback(NULL, fds, &port, &e);
	assert_ok(n);
	assert_true(n >= 1 && port != 0);
	for (int i = 0; i < n; i++) {
		struct sockaddr_in6 b = { 0 };
		socklen_t len = sizeof(b);

		assert_int_equal(getsockname(fds[i], (struct sockaddr *)&b, &len), 0);
		assert_int_equal(ntohs(b.sin6_port), port); /* at the same place in both families */
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	}
	a.sin_port = htons(port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
	(void)close(client);
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
}

static void a_taken_port_is_named(void **state)
{
	char address[] = "127.0.0.1";
	struct publish p = { .address = address, .inside = 80 };
	int fds[LISTEN_LOOPBACK_MAX] = { -1, -1 };
	struct err e = { 0 };
	char text[100];
	int n;

	(void)state;
	n = listen_loopback(NULL, fds, &p.port, &e);
	assert_ok(n);
	(void)snprintf(text, sizeof(text), "publish 127.0.0.1 port %u: Address already in use",
		       p.port);
	assert_refused(listen_publish(&p, &e), EADDRINUSE, text);
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
}

/* Where outgoing connections are never found: one of them would keep a paused session from its port. */
static void a_port_is_none_of_outgoing_connections(void **state)
{
	int fds[LISTEN_LOOPBACK_MAX] = { -1, -1 };
	struct err e = { 0 };
	uint16_t port = 0;
	int n;

	(void)state;
	n = listen_loopback(NULL, fds, &port, &e);
	assert_ok(n);
	assert_in_range(port, LISTEN_PORT_FIRST, LISTEN_PORT_LAST);
	while (n > 0)
		(void)close(fds[--n]);
}

static bool the_first(const void *arg, uint16_t port)
{
	uint16_t *first = (uint16_t *)(uintptr_t)arg;

	if (!*first)
		*first = port;
	return port == *first;
}

static bool every_one(const void *arg, uint16_t port)
{
	(void)arg;
	(void)port;
	return true;
}

static void a_port_that_is_kept_is_not_given(void **state)
{
	uint16_t refused = 0, port = 0;
	const struct listen_kept one = { the_first, &refused }, all = { every_one, NULL };
	int fds[LISTEN_LOOPBACK_MAX] = { -1, -1 };
	struct err e = { 0 };
	int n;

	(void)state;
	n = listen_loopback(&one, fds, &port, &e);
	assert_ok(n);
	assert_int_not_equal(refused, 0);
	assert_int_not_equal(port, refused);
	while (n > 0)
		(void)close(fds[--n]);
	assert_refused(listen_loopback(&all, fds, &port, &e), EADDRINUSE,
		       "no port is free on both 127.0.0.1 and ::1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_loopbacks_listen_on_one_port),
		cmocka_unit_test(a_taken_port_is_named),
		cmocka_unit_test(a_port_is_none_of_outgoing_connections),
		cmocka_unit_test(a_port_that_is_kept_is_not_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
