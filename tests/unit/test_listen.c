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
	n = listen_loopback(fds, &port, &e);
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
	n = listen_loopback(fds, &p.port, &e);
	assert_ok(n);
	(void)snprintf(text, sizeof(text), "publish 127.0.0.1 port %u: Address already in use",
		       p.port);
	assert_refused(listen_publish(&p, &e), EADDRINUSE, text);
	for (int i = 0; i < n; i++)
		(void)close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_loopbacks_listen_on_one_port),
		cmocka_unit_test(a_taken_port_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
