/* SPDX-License-Identifier: MIT */
/* test_meter.c - numbers out of the kernel's texts, and differences of them. */
#include "sandbox/executor/meter.h"

#include <fcntl.h>

#include <sys/wait.h>

#include "unit.h"

static const char snmp[] = "Ip: Forwarding DefaultTTL InReceives OutNoRoutes\n"
			   "Ip: 2 64 17 3\n"
			   "Icmp: InMsgs InDestUnreachs OutMsgs OutDestUnreachs\n"
			   "Icmp: 9 5 4 2\n"
			   "IcmpMsg: InType3\n"
			   "IcmpMsg: 5\n"
			   "Tcp: RtoAlgorithm RtoMin MaxConn\n"
			   "Tcp: 1 200 -1\n";

static void numbers_are_found_by_their_key_or_stand_alone(void **state)
{
	(void)state;
	assert_int_equal(meter_number("usage_usec 123\nuser_usec 100\n", "usage_usec"), 123);
	assert_int_equal(meter_number("usage_usec 123\nuser_usec 100\n", "user_usec"), 100);
	assert_int_equal(meter_number("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill"),
			 2);
	assert_int_equal(meter_number("4567\n", "usage_usec"), 4567);
	assert_int_equal(meter_number("max 3", "max"), 3);
	assert_int_equal(meter_number("maximum 3\n", "max"), -1);
	assert_int_equal(meter_number("max", "max"), -1);
	assert_int_equal(meter_number("\n\n", "max"), -1);
	assert_int_equal(meter_number("", "max"), -1);
}

static void columns_are_found_by_table_and_name(void **state)
{
	(void)state;
	assert_int_equal(meter_column(snmp, "Ip", "OutNoRoutes"), 3);
	assert_int_equal(meter_column(snmp, "Icmp", "InDestUnreachs"), 5);
	assert_int_equal(meter_column(snmp, "Icmp", "OutDestUnreachs"), 2);
	assert_int_equal(meter_column(snmp, "Ip", "Forwarding"), 2);
	assert_int_equal(meter_column(snmp, "Ip", "InDestUnreachs"), -1);
	assert_int_equal(meter_column(snmp, "Udp", "NoPorts"), -1);
	assert_int_equal(meter_column(snmp, "Tcp", "Rto"), -1);
	assert_int_equal(meter_column("", "Ip", "OutNoRoutes"), -1);
	/* Cut off: no values, or fewer of them. */
	assert_int_equal(meter_column("Ip: OutNoRoutes\n", "Ip", "OutNoRoutes"), -1);
	assert_int_equal(meter_column("Ip: OutNoRoutes", "Ip", "OutNoRoutes"), -1);
	assert_int_equal(meter_column("Ip: A OutNoRoutes\nIp: 7\n", "Ip", "OutNoRoutes"), 0);
}

static int file_with(struct scratch *s, const char *name, const char *text)
{
	int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

/* A session with one leaf, as v1 shows it or as v2 does. */
static void make_boot(struct ctl_boot *b, struct scratch *s, bool v2)
{
	memset(b, 0, sizeof(*b));
	b->n_leaves = 1;
	ctl_leaf_init(&b->leaves[0]);
	memset(b->above, -1, sizeof(b->above));
	b->leaves[0].counter[CTL_COUNT_CPU] =
		file_with(s, "cpu", v2 ? "usage_usec 70\nuser_usec 1\n" : "70123\n");
	b->leaves[0].counter[CTL_COUNT_MEMORY_PEAK] = file_with(s, "peak", "4096\n");
	b->leaves[0].counter[CTL_COUNT_MEMORY_EVENTS] =
		file_with(s, "events",
			  v2 ? "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"
			     : "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	b->leaves[0].counter[CTL_COUNT_PIDS] = file_with(s, "pids", "3\n");
	b->above[CTL_COUNT_CPU_LIMIT] =
		file_with(s, "stat",
			  v2 ? "usage_usec 1\nnr_throttled 2\nthrottled_usec 30\n"
			     : "nr_periods 9\nnr_throttled 2\nthrottled_time 30999\n");
}

static void clear_boot(struct ctl_boot *b, struct scratch *s)
{
	static const char *const names[] = { "cpu", "peak", "events", "pids", "stat" };

	ctl_leaf_clear(&b->leaves[0]);
	wire_close(b->above, CTL_COUNTERS);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(unlinkat(s->dir, names[i], 0), 0);
}

static void both_versions_of_groups_are_read_alike(void **state)
{
	struct ctl_boot boot;
	struct meter m;

	for (int v2 = 0; v2 < 2; v2++) {
		struct reading r;

		make_boot(&boot, *state, v2);
		meter_open(&m, &boot);
		meter_read(&m, 0, METER_ALL, &r);
		assert_int_equal(r.value[METER_CPU_US], 70);
		assert_int_equal(r.value[METER_PEAK], 4096);
		assert_int_equal(r.value[METER_OOM], 1);
		assert_int_equal(r.value[METER_PIDS], 3);
		assert_int_equal(r.value[METER_THROTTLED_US], 30);
		/* What is not there is not known, and no zero. */
		assert_true(r.value[METER_PIDS_FULL] == METER_UNKNOWN);
		assert_true(r.value[METER_PIDS_FULL_ABOVE] == METER_UNKNOWN);
		(void)close(m.loadavg);
		(void)close(m.snmp);
		clear_boot(&boot, *state);
	}
}

static void a_session_without_groups_counts_processes_and_packets_still(void **state)
{
	struct ctl_boot boot = { .n_leaves = 0 };
	struct reading before, after;
	struct meter m;
	pid_t pid;

	(void)state;
	meter_open(&m, &boot);
	meter_read(&m, 0, METER_ALL, &before);
	assert_true(before.value[METER_CPU_US] == METER_UNKNOWN);
	assert_true(before.value[METER_NO_ROUTE] >= 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	meter_read(&m, 0, 1u << METER_MADE, &after);
	assert_true(meter_grown(&before, &after, METER_MADE) != 0);
	(void)close(m.loadavg);
	(void)close(m.snmp);
}

static void differences_are_known_only_where_both_ends_are(void **state)
{
	struct reading a = { { 0 } }, b = { { 0 } };

	(void)state;
	a.value[METER_OOM] = 2;
	b.value[METER_OOM] = 5;
	assert_int_equal(meter_grown(&a, &b, METER_OOM), 3);
	assert_int_equal(meter_grown(&b, &a, METER_OOM), 0);
	b.value[METER_OOM] = METER_UNKNOWN;
	assert_true(meter_grown(&a, &b, METER_OOM) == METER_UNKNOWN);
	assert_true(meter_grown(&b, &a, METER_OOM) == METER_UNKNOWN);
	/* Pids that began anew are no number of processes. */
	a.value[METER_MADE] = 32000;
	b.value[METER_MADE] = 400;
	assert_true(meter_grown(&a, &b, METER_MADE) == METER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_by_their_key_or_stand_alone),
		cmocka_unit_test(columns_are_found_by_table_and_name),
		scratch_test(both_versions_of_groups_are_read_alike),
		cmocka_unit_test(a_session_without_groups_counts_processes_and_packets_still),
		cmocka_unit_test(differences_are_known_only_where_both_ends_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
