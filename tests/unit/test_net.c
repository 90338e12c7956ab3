/* SPDX-License-Identifier: MIT */
/* test_net.c - what the child is told of its network. */
#include "unit.h"

#include "launch/net.h"
#include "session/slot.h"

static void session_is_alone_on_its_link(void **state)
{
	struct plan p = { .veth = true, .net = NET_NONE, .ids = IDS_ROOT };
	struct net_inside net;
	struct err e = { 0 };

	(void)state;
	assert_ok(net_inside_fill(&p, 1003, &net, &e));
	assert_true(net.veth);
	assert_string_equal(net.peer, "eth0");
	assert_int_equal(net.address, 0xc6120405);
	assert_int_equal(net.gateway, 0xc6120401);
	assert_int_equal(net.prefix, 32);
	assert_memory_equal(net.mac, "\x02\x68\xc6\x12\x04\x05", 6);
	assert_memory_equal(net.gateway_mac, "\x02\x68\xc6\x12\x04\x01", 6);
	assert_false(net.default_route);
	assert_int_equal(net.port, NET_EXECUTOR_PORT);
	assert_int_equal(net.ping_gid_max, INT32_MAX);
}

static void only_nat_has_a_default_route(void **state)
{
	struct plan p = { .veth = true, .net = NET_NAT, .ids = IDS_ROOT };
	struct net_inside net;
	struct err e = { 0 };

	(void)state;
	assert_ok(net_inside_fill(&p, 0, &net, &e));
	assert_true(net.default_route);
}

static void without_a_link_there_is_loopback_alone(void **state)
{
	struct plan p = { .ids = IDS_SUBIDS };
	struct net_inside net;
	struct err e = { 0 };

	(void)state;
	assert_ok(net_inside_fill(&p, SESSION_NO_SLOT, &net, &e));
	assert_false(net.veth);
	assert_int_equal(net.port, 0);
	assert_int_equal(net.ping_gid_max, IDS_WORKLOAD);
	p.ids = IDS_SINGLE;
	assert_ok(net_inside_fill(&p, SESSION_NO_SLOT, &net, &e));
	assert_int_equal(net.ping_gid_max, 0);
}

static void slot_that_does_not_exist_is_refused(void **state)
{
	struct plan p = { .veth = true, .ids = IDS_ROOT };
	struct net_inside net;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(net_inside_fill(&p, SLOT_COUNT, &net, &e), -EINVAL);
	assert_int_equal(net_inside_fill(&p, SESSION_NO_SLOT, &net, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_is_alone_on_its_link),
		cmocka_unit_test(only_nat_has_a_default_route),
		cmocka_unit_test(without_a_link_there_is_loopback_alone),
		cmocka_unit_test(slot_that_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
