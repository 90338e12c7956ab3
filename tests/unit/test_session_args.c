/* SPDX-License-Identifier: MIT */
#include "cli/session_args.h"

#include "unit.h"

typedef int taker(void *into, const char *value, struct err *e);

static struct session_args fresh(void)
{
	struct session_args a;

	session_args_init(&a);
	return a;
}

static void refuse(taker *take, const char *value, const char *text)
{
	struct session_args a = fresh();
	struct err e = { 0 };

	assert_true(take(&a, value, &e) < 0);
	assert_string_equal(e.text, text);
	session_args_clear(&a);
}

static void ports_are_published_in_every_form(void **state)
{
	static const struct {
		const char *text, *address;
		uint16_t port, inside;
	} cases[] = {
		{ "8080", "127.0.0.1", 8080, 8080 },
		{ "8080:80", "127.0.0.1", 8080, 80 },
		{ "0.0.0.0:8080", "0.0.0.0", 8080, 8080 },
		{ "192.0.2.1:8080:80", "192.0.2.1", 8080, 80 },
		{ "[::1]:8080", "::1", 8080, 8080 },
		{ "[::]:8080:80", "::", 8080, 80 },
	};
	struct session_args a = fresh();
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_ok(session_take_publish(&a, cases[i].text, &e));
		assert_string_equal(a.request.publish[i].address, cases[i].address);
		assert_int_equal(a.request.publish[i].port, cases[i].port);
		assert_int_equal(a.request.publish[i].inside, cases[i].inside);
	}
	session_args_clear(&a);
}

static void odd_ports_are_refused(void **state)
{
	(void)state;
	refuse(session_take_publish, "0", "port: 0 is not between 1 and 65535");
	refuse(session_take_publish, "80:65536", "port: 65536 is not between 1 and 65535");
	refuse(session_take_publish, "localhost:80", "'localhost' is no address");
	refuse(session_take_publish, "[::1:80", "'[::1:80' has no ']:' behind its address");
	refuse(session_take_publish, "http", "'http' is not [ADDR:]PORT[:INSIDE]");
	refuse(session_take_publish, "", "port: an empty text is not a number");
	refuse(session_take_publish, "1:2:3", "port: '2:3' is not a whole number");
}

static void mounts_are_copied_on_write_unless_said(void **state)
{
	struct session_args a = fresh();
	struct err e = { 0 };

	(void)state;
	assert_ok(session_take_mount(&a, "/a:/b", &e));
	assert_ok(session_take_mount(&a, "/c:/d:ro", &e));
	assert_ok(session_take_mount(&a, "/e:/f:cow", &e));
	assert_int_equal(a.request.n_mounts, 3);
	assert_int_equal(a.request.mounts[0].mode, MOUNT_MODE_COW);
	assert_int_equal(a.request.mounts[1].mode, MOUNT_MODE_RO);
	assert_int_equal(a.request.mounts[2].mode, MOUNT_MODE_COW);
	assert_string_equal(a.request.mounts[1].host, "/c");
	assert_string_equal(a.request.mounts[1].inside, "/d");
	session_args_clear(&a);
	refuse(session_take_mount, "/a", "'/a' is not HOST:INSIDE[:ro|:cow]");
	refuse(session_take_mount, ":/a", "':/a' is not HOST:INSIDE[:ro|:cow]");
	refuse(session_take_mount, "/a:", "'/a:' is not HOST:INSIDE[:ro|:cow]");
	refuse(session_take_mount, "/a:/b:rw", "'rw' is neither 'ro' nor 'cow'");
}

static void limits_are_noted_as_named(void **state)
{
	struct session_args a = fresh();
	struct err e = { 0 };

	(void)state;
	assert_true(a.request.limits.memory_bytes == LIMIT_NONE && !a.request.limit_named[0]);
	assert_ok(session_take_memory(&a, "2G", &e));
	assert_ok(session_take_swap(&a, "0", &e));
	assert_ok(session_take_cpus(&a, "1.5", &e));
	assert_ok(session_take_pids(&a, "64", &e));
	assert_ok(session_take_timeout(&a, "1m", &e));
	assert_int_equal(a.request.limits.memory_bytes, 2ull << 30);
	assert_int_equal(a.request.limits.swap_bytes, 0);
	assert_int_equal(a.request.limits.cpu_milli, 1500);
	assert_int_equal(a.request.limits.pids, 64);
	assert_int_equal(a.request.limits.timeout_ms, 60000);
	for (int i = 0; i < 5; i++)
		assert_true(a.request.limit_named[i]);
	session_args_clear(&a);
	refuse(session_take_timeout, "0s", "'0s' leaves no time at all");
	refuse(session_take_net, "host", "'host' is neither 'none' nor 'nat'");
}

static void a_text_is_given_once_and_not_empty(void **state)
{
	struct session_args a = fresh();
	struct err e = { 0 };

	(void)state;
	assert_ok(session_take_rev(&a, "main", &e));
	assert_refused(session_take_rev(&a, "other", &e), EINVAL, "is given twice");
	assert_string_equal(a.request.rev, "main");
	session_args_clear(&a);
	refuse(session_take_user, "", "an empty text names nothing");
}

static void workspaces_exclude_each_other(void **state)
{
	struct session_args a = fresh();
	struct err e = { 0 };

	(void)state;
	a.empty = true;
	a.dir = "/tmp";
	assert_refused(session_args_workspace(&a, &e), EINVAL,
		       "--repo, --dir and --empty exclude each other");
	a.dir = NULL;
	a.request.dirty = true;
	assert_refused(session_args_workspace(&a, &e), EINVAL,
		       "--rev and --dirty want a repository");
	a.request.dirty = false;
	assert_ok(session_args_workspace(&a, &e));
	assert_int_equal(a.request.kind, WORKSPACE_EMPTY);
	session_args_clear(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_published_in_every_form),
		cmocka_unit_test(odd_ports_are_refused),
		cmocka_unit_test(mounts_are_copied_on_write_unless_said),
		cmocka_unit_test(limits_are_noted_as_named),
		cmocka_unit_test(a_text_is_given_once_and_not_empty),
		cmocka_unit_test(workspaces_exclude_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
