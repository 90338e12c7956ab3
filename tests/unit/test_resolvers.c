/* SPDX-License-Identifier: MIT */
/* test_resolvers.c - a session is told of those name servers that it can reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/resolvers.h"

static void host_file_gives_ipv4_servers_in_order(void **state)
{
	autobuf struct buf text = { 0 };
	struct resolvers r;

	(void)state;
	resolvers_parse(
		"# nameserver 9.9.9.9\nsearch x\nnameserver 10.0.0.1\nnameserver\t192.0.2.7 # x\r\n"
		"nameserver fd00::1\n nameserver 1.2.3.4\nnameserver8.8.8.8\nnameserver 8.8.4.4",
		&r);
	resolvers_text(&r, &text);
	assert_string_equal(buf_str(&text),
			    "nameserver 10.0.0.1\nnameserver 192.0.2.7\nnameserver 8.8.4.4\n");
}

static void servers_on_loopback_are_left_out(void **state)
{
	struct resolvers r;

	(void)state;
	resolvers_parse("nameserver 127.0.0.53\nnameserver ::1\nnameserver 0.0.0.0\n", &r);
	assert_int_equal(r.n, 0);
}

static void no_more_than_three_are_kept(void **state)
{
	struct resolvers r;

	(void)state;
	resolvers_parse(
		"nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4\n",
		&r);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.address[2], 0x01000003);
}

static void named_servers_stand_before_the_hosts(void **state)
{
	char *named[] = { "9.9.9.9", NULL };
	struct resolvers r;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(resolvers_find(named, &r, &e), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.address[0], 0x09090909);
}

static void named_server_that_is_no_address_is_refused_by_name(void **state)
{
	char *names[][2] = { { "dns.example", NULL },
			     { "127.0.0.1", NULL },
			     { "1.2.3.4 ", NULL },
			     { "::1", NULL } };
	struct resolvers r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err e = { 0 };

		assert_int_equal(resolvers_find(names[i], &r, &e), -EINVAL);
		assert_non_null(strstr(e.text, names[i][0]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_file_gives_ipv4_servers_in_order),
		cmocka_unit_test(servers_on_loopback_are_left_out),
		cmocka_unit_test(no_more_than_three_are_kept),
		cmocka_unit_test(named_servers_stand_before_the_hosts),
		cmocka_unit_test(named_server_that_is_no_address_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
