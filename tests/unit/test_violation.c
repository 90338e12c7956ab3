/* SPDX-License-Identifier: MIT */
/* test_violation.c - what was refused, in words that say what to do. */
#include "sandbox/executor/violation.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "sandbox/executor/syscalls.h"
#include "unit.h"

static const struct ctl_boot boot = { .n_leaves = 0,
				      .leaf_memory = 4096,
				      .leaf_pids = 92,
				      .cpu_milli = 1500 };

static const char *shown(const struct violations *v)
{
	static struct buf text;
	struct json_out o = { .buf = &text };

	buf_reset(&text);
	violations_show(v, &boot, &o, NULL);
	return buf_str(&text);
}

static const char *unseen(const struct ctl_boot *b, bool filter_seen)
{
	static struct buf text;
	struct json_out o = { .buf = &text };

	buf_reset(&text);
	violations_show_unseen(b, filter_seen, &o, NULL);
	return buf_str(&text);
}

static void each_kind_says_what_why_and_the_remedy(void **state)
{
	static const char *const layers[] = {
		[VIOLATED_MEMORY] = "memory",	   [VIOLATED_PIDS] = "pids",
		[VIOLATED_PIDS_ABOVE] = "pids",	   [VIOLATED_CPU] = "cpu",
		[VIOLATED_FILTER] = "filter",	   [VIOLATED_NO_ROUTE] = "network",
		[VIOLATED_UNREACHABLE] = "network"
	};

	(void)state;
	for (unsigned kind = 0; kind < VIOLATED_KINDS; kind++) {
		struct violation v = { .kind = (enum violation_kind)kind, .count = 3 };
		struct violations all = { 0 };
		char layer[64];

		violations_add(&all, &v);
		(void)snprintf(layer, sizeof(layer), "{\"layer\":\"%s\",\"what\":\"", layers[kind]);
		assert_non_null(strstr(shown(&all), layer));
		assert_null(strstr(shown(&all), "\"\""));
		assert_non_null(strstr(shown(&all), "\"remedy\":\""));
		violations_clear(&all);
	}
}

static void the_same_again_is_counted(void **state)
{
	struct violation mount = { .kind = VIOLATED_FILTER, .call = SYS_mount, .count = 1 };
	struct violation acct = { .kind = VIOLATED_FILTER, .call = SYS_acct, .count = 1 };
	struct violations all = { 0 };

	(void)state;
	violations_add(&all, &mount);
	violations_add(&all, &acct);
	mount.count = 41;
	violations_add(&all, &mount);
	assert_int_equal(all.n, 2);
	assert_int_equal(all.list[0].count, 42);
	assert_non_null(
		strstr(shown(&all), "system call mount(0, 0, 0, ...) refused, and 41 more"));
	assert_non_null(strstr(shown(&all), "--mount HOST:INSIDE"));
	assert_non_null(strstr(shown(&all), "system call acct("));
	assert_non_null(strstr(shown(&all), "seccomp section allows acct"));
	violations_clear(&all);
	assert_string_equal(shown(&all), "[]");
}

static void a_limit_of_core_files_has_a_reason_of_its_own(void **state)
{
	struct violation v = { .kind = VIOLATED_FILTER,
			       .call = SYS_prlimit64,
			       .args = { 0, RLIMIT_CORE, 1 },
			       .count = 1 };
	struct violations all = { 0 };

	(void)state;
	violations_add(&all, &v);
	assert_non_null(strstr(shown(&all), "no core is written"));
	violations_clear(&all);
	v.args[1] = RLIMIT_CPU;
	violations_add(&all, &v);
	assert_non_null(strstr(shown(&all), "another process than the caller"));
	violations_clear(&all);
}

static void no_more_kinds_are_listed_than_there_is_room_for(void **state)
{
	struct violations all = { 0 };

	(void)state;
	for (uint32_t call = 0; call < 100; call++) {
		struct violation v = { .kind = VIOLATED_FILTER, .call = call, .count = 2 };

		violations_add(&all, &v);
	}
	assert_int_equal(all.n, VIOLATIONS_MAX);
	assert_int_equal(all.unlisted, 2 * (100 - VIOLATIONS_MAX));
	assert_non_null(strstr(shown(&all), "168 more refusals"));
	violations_clear(&all);
}

static void a_call_without_a_name_has_a_number(void **state)
{
	struct violation v = { .kind = VIOLATED_FILTER, .call = 9999, .count = 1 };
	struct violations all = { 0 };

	(void)state;
	violations_add(&all, &v);
	assert_non_null(strstr(shown(&all), "system call number 9999("));
	assert_non_null(strstr(shown(&all), "allows it"));
	violations_clear(&all);
	assert_string_equal(syscall_name(SYS_mount), "mount");
	assert_string_equal(syscall_name(SYS_read), "read");
	assert_null(syscall_name(UINT32_MAX));
}

static void what_nobody_can_see_is_said(void **state)
{
	struct ctl_boot all = { .n_leaves = 1 };

	(void)state;
	ctl_leaf_init(&all.leaves[0]);
	for (unsigned c = 0; c < CTL_COUNTERS; c++)
		all.leaves[0].counter[c] = 0;
	assert_null(strstr(unseen(&all, true), "\"memory\""));
	assert_null(strstr(unseen(&all, true), "\"network\""));
	assert_non_null(strstr(unseen(&all, true), "\"files\""));
	assert_non_null(strstr(unseen(&all, false), "\"filter\""));
	all.way_out = true;
	assert_non_null(strstr(unseen(&all, true), "\"network\""));
	assert_non_null(strstr(unseen(&boot, true), "\"memory\""));
	assert_non_null(strstr(unseen(&boot, true), "\"pids\""));
	assert_non_null(strstr(unseen(&boot, true), "\"cpu\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_says_what_why_and_the_remedy),
		cmocka_unit_test(the_same_again_is_counted),
		cmocka_unit_test(a_limit_of_core_files_has_a_reason_of_its_own),
		cmocka_unit_test(no_more_kinds_are_listed_than_there_is_room_for),
		cmocka_unit_test(a_call_without_a_name_has_a_number),
		cmocka_unit_test(what_nobody_can_see_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
