/* SPDX-License-Identifier: MIT */
/* test_netlink.c - requests go out in one send; an error is named by the request it is about. */
#include "unit.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

#include "sandbox/netlink.h"

#define NO_SUCH_INDEX 0x7ffffff0

static void add_get(struct netlink *nl, int index, const char *what)
{
	struct ifinfomsg link = { .ifi_index = index };

	netlink_add(nl, RTM_GETLINK, 0, &link, sizeof(link), what);
}

static int see_name(unsigned type, const void *payload, size_t len, void *arg)
{
	const struct ifinfomsg *link = payload;
	const char *name;
	size_t size = 0;

	if (type != RTM_NEWLINK)
		return 0;
	name = netlink_find(link + 1, len - sizeof(*link), IFLA_IFNAME, &size);
	if (!name || size > IF_NAMESIZE)
		return -EPROTO;
	memcpy(arg, name, size);
	return 0;
}

static void answer_reaches_the_one_who_asked(void **state)
{
	autonetlink struct netlink *nl = NULL;
	char name[IF_NAMESIZE] = "";
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	add_get(nl, 1, "look at loopback");
	assert_ok(netlink_ask(nl, see_name, name, &e));
	assert_string_equal(name, "lo");
}

static void dump_is_read_to_its_end(void **state)
{
	autonetlink struct netlink *nl = NULL;
	struct ifinfomsg any = { 0 };
	char name[IF_NAMESIZE] = "";
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	for (unsigned i = 0; i < 3; i++) {
		netlink_add(nl, RTM_GETLINK, NLM_F_DUMP, &any, sizeof(any), "list links");
		assert_ok(netlink_ask(nl, see_name, name, &e));
		assert_string_not_equal(name, "");
	}
}

static void error_is_named_by_its_request(void **state)
{
	autonetlink struct netlink *nl = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	add_get(nl, NO_SUCH_INDEX, "look at nothing");
	assert_refused(netlink_ask(nl, see_name, NULL, &e), ENODEV,
		       "look at nothing: No such device");
}

static void first_error_of_a_batch_is_the_one_told(void **state)
{
	autonetlink struct netlink *nl = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	add_get(nl, 1, "good");
	add_get(nl, NO_SUCH_INDEX, "first bad");
	add_get(nl, NO_SUCH_INDEX, "second bad");
	assert_int_equal(netlink_send(nl, &e), -ENODEV);
	assert_string_equal(e.text, "first bad: No such device");
	/* and the socket is good for more */
	add_get(nl, 1, "good again");
	assert_ok(netlink_send(nl, &e));
}

static void failed_deletes_leave_no_answer_for_the_next_to_read(void **state)
{
	autonetlink struct netlink *nl = NULL;
	struct ifinfomsg link = { .ifi_index = NO_SUCH_INDEX };
	char name[IF_NAMESIZE] = "";
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	/* Not allowed or not there, as the caller may. */
	for (unsigned i = 0; i < 5; i++)
		netlink_add(nl, RTM_DELLINK, 0, &link, sizeof(link), "delete");
	assert_true(netlink_send(nl, &e) < 0);
	add_get(nl, 1, "look at loopback");
	assert_ok(netlink_ask(nl, see_name, name, &e));
	assert_string_equal(name, "lo");
}

static void empty_batch_asks_for_nothing(void **state)
{
	autonetlink struct netlink *nl = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	assert_ok(netlink_send(nl, &e));
}

static void batch_that_does_not_fit_is_not_sent_in_part(void **state)
{
	static const char long_value[2000];
	autonetlink struct netlink *nl = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(netlink_open(NETLINK_ROUTE, &nl, &e));
	for (unsigned i = 0; i < 100; i++)
		add_get(nl, 1, "one of many");
	assert_int_equal(netlink_send(nl, &e), -EMSGSIZE);
	add_get(nl, 1, "one");
	netlink_put(nl, IFLA_IFALIAS, long_value, sizeof(long_value));
	assert_int_equal(netlink_send(nl, &e), -EMSGSIZE);
	add_get(nl, 1, "nested without end");
	netlink_nest(nl, IFLA_LINKINFO);
	add_get(nl, 1, "next");
	assert_int_equal(netlink_send(nl, &e), -EMSGSIZE);
	add_get(nl, 1, "good again");
	assert_ok(netlink_send(nl, &e));
}

static void attribute_too_short_for_a_number_is_not_found(void **state)
{
	static const struct {
		struct rtattr head;
		char value[4];
	} attr = { { .rta_len = sizeof(struct rtattr) + 2, .rta_type = RTA_OIF }, { 1, 2, 3, 4 } };
	size_t size = 0;

	(void)state;
	assert_null(netlink_find(&attr, sizeof(attr), RTA_OIF, NULL));
	assert_non_null(netlink_find(&attr, sizeof(attr), RTA_OIF, &size));
	assert_int_equal(size, 2);
	assert_null(netlink_find(&attr, sizeof(attr), RTA_DST, &size));
	assert_null(netlink_find(&attr, 3, RTA_OIF, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_reaches_the_one_who_asked),
		cmocka_unit_test(dump_is_read_to_its_end),
		cmocka_unit_test(error_is_named_by_its_request),
		cmocka_unit_test(first_error_of_a_batch_is_the_one_told),
		cmocka_unit_test(failed_deletes_leave_no_answer_for_the_next_to_read),
		cmocka_unit_test(empty_batch_asks_for_nothing),
		cmocka_unit_test(batch_that_does_not_fit_is_not_sent_in_part),
		cmocka_unit_test(attribute_too_short_for_a_number_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
