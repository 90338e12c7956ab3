/* SPDX-License-Identifier: MIT */
/* test_slot.c - slots are handed out in a circle, and come back from the dead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/slot.h"
#include "session/slot_ids.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	(void)strcpy(dir, "/tmp/ohs-slot-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(setenv("OHS_RUN_DIR", dir, 1), 0);
	(void)unsetenv("OHS_NET_BASE");
	return 0;
}

static int teardown(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/slots", dir);
	(void)unlink(path); /* some tests make none */
	return rmdir(dir);
}

static uint32_t take(const char *id)
{
	uint32_t slot = UINT32_MAX;
	struct err e = { 0 };

	assert_int_equal(slot_take(dir, id, &slot, &e), 0);
	return slot;
}

static void release(uint32_t slot, const char *id)
{
	struct err e = { 0 };

	assert_int_equal(slot_release(slot, id, &e), 0);
}

/* Take a slot in a process that is gone afterwards. */
static uint32_t take_and_die(const char *id)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		uint32_t slot;
		struct err e;

		_exit(slot_take(dir, id, &slot, &e) < 0 ? 255 : (int)slot);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return (uint32_t)WEXITSTATUS(status);
}

static unsigned used(void)
{
	struct slots s;
	struct err e = { 0 };
	unsigned n;

	assert_int_equal(slots_open(&s, &e), 0);
	n = slots_used(&s);
	slots_close(&s);
	return n;
}

static void released_slot_does_not_come_back_at_once(void **state)
{
	uint32_t a, b;

	(void)state;
	a = take("aaaaaaaaaaaa");
	release(a, "aaaaaaaaaaaa");
	b = take("bbbbbbbbbbbb");
	assert_int_not_equal(a, b);
	release(b, "bbbbbbbbbbbb");
	assert_int_equal(used(), 0);
}

static void every_slot_is_given_once_then_none_is_left(void **state)
{
	static bool seen[SLOT_COUNT];
	struct err e = { 0 };
	uint32_t slot;
	char id[16];

	(void)state;
	for (unsigned i = 0; i < SLOT_COUNT; i++) {
		(void)snprintf(id, sizeof(id), "%012x", i);
		slot = take(id);
		assert_in_range(slot, 0, SLOT_COUNT - 1);
		assert_false(seen[slot]);
		seen[slot] = true;
	}
	assert_int_equal(slot_take(dir, "ffffffffffff", &slot, &e), -ENOSPC);
	(void)snprintf(id, sizeof(id), "%012x", 7);
	release(7, id);
	assert_int_equal(take("ffffffffffff"), 7);
}

static void release_by_another_session_changes_nothing(void **state)
{
	uint32_t slot = take("aaaaaaaaaaaa");

	(void)state;
	release(slot, "bbbbbbbbbbbb");
	assert_int_equal(used(), 1);
	release(slot, "aaaaaaaaaaaa");
	release(slot, "aaaaaaaaaaaa");
	release(UINT32_MAX, "aaaaaaaaaaaa");
	assert_int_equal(used(), 0);
}

static void slot_of_a_dead_taker_without_directory_is_reclaimed(void **state)
{
	(void)state;
	(void)take_and_die("aaaaaaaaaaaa");
	assert_int_equal(used(), 0);
}

static void slot_of_a_dead_taker_stays_while_its_directory_is_there(void **state)
{
	char path[128];
	uint32_t slot;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/sessions", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)strcat(path, "/aaaaaaaaaaaa");
	assert_int_equal(mkdir(path, 0700), 0);
	slot = take_and_die("aaaaaaaaaaaa");
	assert_int_equal(used(), 1);
	release(slot, "aaaaaaaaaaaa");
	assert_int_equal(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
}

static void slot_of_a_living_taker_without_directory_stays(void **state)
{
	uint32_t slot = take("aaaaaaaaaaaa");

	(void)state;
	assert_int_equal(used(), 1);
	release(slot, "aaaaaaaaaaaa");
}

static void directory_that_others_may_enter_is_refused(void **state)
{
	struct err e = { 0 };
	uint32_t slot;

	(void)state;
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(slot_take(dir, "aaaaaaaaaaaa", &slot, &e), -EPERM);
	assert_non_null(strstr(e.text, dir));
}

static void table_is_removed_only_when_nothing_is_taken(void **state)
{
	uint32_t slot = take("aaaaaaaaaaaa");
	struct slots s;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(slots_open(&s, &e), 0);
	assert_int_equal(slots_remove(&s, &e), -EBUSY);
	slots_close(&s);
	release(slot, "aaaaaaaaaaaa");
	assert_int_equal(slots_open(&s, &e), 0);
	assert_int_equal(slots_remove(&s, &e), 0);
	slots_close(&s);
	assert_int_equal(used(), 0);
}

static void addresses_follow_the_slot(void **state)
{
	char name[16];
	uint8_t mac[6];

	(void)state;
	assert_int_equal(slot_gateway(0), 0xc6120001);
	assert_int_equal(slot_address(0), 0xc6120002);
	assert_int_equal(slot_address(999), 0xc6120002 + 999);
	assert_int_equal(slot_address(1000), 0xc6120402);
	assert_int_equal(slot_address(4095), 0xc6121002 + 95);
	assert_int_equal(slot_uid_base(4095), 0x7fff0000);
	slot_link_name(4095, name);
	assert_string_equal(name, "ohs4095");
	slot_mac(slot_address(1), mac);
	assert_memory_equal(mac, "\x02\x68\xc6\x12\x00\x03", 6);
}

static void network_can_be_moved_but_not_under_living_sessions(void **state)
{
	struct err e = { 0 };
	uint32_t slot = take("aaaaaaaaaaaa"), other;

	(void)state;
	assert_int_equal(setenv("OHS_NET_BASE", "10.64.0.0", 1), 0);
	assert_int_equal(slot_take(dir, "bbbbbbbbbbbb", &other, &e), -EBUSY);
	release(slot, "aaaaaaaaaaaa");
	slot = take("aaaaaaaaaaaa");
	assert_int_equal(slot_address(0), 0x0a400002);
	release(slot, "aaaaaaaaaaaa");
	assert_int_equal(setenv("OHS_NET_BASE", "10.65.0.0", 1), 0);
	assert_int_equal(slot_take(dir, "bbbbbbbbbbbb", &other, &e), -EINVAL);
	assert_non_null(strstr(e.text, "OHS_NET_BASE"));
	(void)unsetenv("OHS_NET_BASE");
}

static void slots_that_go_out_are_counted(void **state)
{
	uint32_t a = take("aaaaaaaaaaaa"), b = take("bbbbbbbbbbbb");
	struct resolvers r = { .address = { 7 }, .n = 1 }, got;
	struct slots s;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(slots_open(&s, &e), 0);
	slots_set_nat(&s, a, &r);
	assert_true(slots_nat(&s, a, &got));
	assert_memory_equal(&r, &got, sizeof(r));
	assert_false(slots_nat(&s, b, NULL));
	assert_int_equal(slots_nat_count(&s), 1);
	slots_set_nat(&s, a, NULL);
	assert_int_equal(slots_nat_count(&s), 0);
	slots_close(&s);
	release(a, "aaaaaaaaaaaa");
	release(b, "bbbbbbbbbbbb");
}

static void slot_whose_way_out_was_not_closed_is_not_given_again(void **state)
{
	struct resolvers r = { .n = 0 };
	uint32_t a = take("aaaaaaaaaaaa");
	struct slots s;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(slots_open(&s, &e), 0);
	slots_set_nat(&s, a, &r);
	slots_close(&s);
	release(a, "aaaaaaaaaaaa");
	for (unsigned i = 0; i < SLOT_COUNT; i++) {
		uint32_t slot = take("bbbbbbbbbbbb");

		assert_int_not_equal(slot, a);
		release(slot, "bbbbbbbbbbbb");
	}
	assert_int_equal(slots_open(&s, &e), 0);
	assert_int_equal(slots_nat_count(&s), 0);
	slots_set_nat(&s, a, NULL);
	slots_close(&s);
	for (unsigned i = 0; i < SLOT_COUNT; i++)
		if (take("cccccccccccc") == a)
			return;
	fail_msg("slot %u never came back", a);
}

static void ids_of_others_block_every_slot_they_touch(void **state)
{
	struct slot_id_facts facts = { 0 };

	(void)state;
	slot_ids_parse(&facts, "u:100000:65536\nv:1879113728:65536\nw:2147418112:1\n", true);
	/* 0x70000000 + 65536 is slot 1, whole; the last slot by one id */
	assert_false(slot_ids_blocked(&facts, 0));
	assert_true(slot_ids_blocked(&facts, 1));
	assert_false(slot_ids_blocked(&facts, 2));
	assert_true(slot_ids_blocked(&facts, 4095));
	slot_ids_parse(&facts, "u:x:1879310336:0::/:/bin/sh\n", false); /* slot 4 */
	assert_true(slot_ids_blocked(&facts, 4));
	assert_false(slot_ids_blocked(&facts, 3));
	assert_false(slot_ids_blocked(&facts, 5));
}

static void lines_that_are_none_claim_nothing(void **state)
{
	struct slot_id_facts facts = { 0 };

	(void)state;
	slot_ids_parse(
		&facts,
		"\n:\n::\n#\nu:-1:5\nu:99999999999999999999:1\nu:1879048192:0\nu:5\nu:1879048192",
		true);
	slot_ids_parse(&facts, "+\n+::::::\nu:x\n", false);
	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
		assert_false(slot_ids_blocked(&facts, slot));
	slot_ids_parse(&facts, "all:0:4294967295", true);
	for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
		assert_true(slot_ids_blocked(&facts, slot));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(released_slot_does_not_come_back_at_once),
		CASE(every_slot_is_given_once_then_none_is_left),
		CASE(release_by_another_session_changes_nothing),
		CASE(slot_of_a_dead_taker_without_directory_is_reclaimed),
		CASE(slot_of_a_dead_taker_stays_while_its_directory_is_there),
		CASE(slot_of_a_living_taker_without_directory_stays),
		CASE(directory_that_others_may_enter_is_refused),
		CASE(table_is_removed_only_when_nothing_is_taken),
		CASE(addresses_follow_the_slot),
		CASE(network_can_be_moved_but_not_under_living_sessions),
		CASE(slots_that_go_out_are_counted),
		CASE(slot_whose_way_out_was_not_closed_is_not_given_again),
		CASE(ids_of_others_block_every_slot_they_touch),
		CASE(lines_that_are_none_claim_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
