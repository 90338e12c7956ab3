/* SPDX-License-Identifier: MIT */
/* test_cgroup.c - which groups, which limits in which files; over a tree of plain directories. */
#include "unit.h"

#include <sys/stat.h>

#include "base/io.h"
#include "session/cgroup.h"

#define ID "0123456789ab"

/* A made-up host whose controllers lie in v2, in v1, or not at all. */
struct world {
	struct scratch *scratch;
	struct host host;
	struct plan plan;
	struct record record;
	char v2[96], v1[CONTROLLER_COUNT][96];
};

static void world_init(struct world *w, void **state)
{
	static const char *const names[] = { "memory", "pids", "cpu", "cpuacct" };

	memset(w, 0, sizeof(*w));
	w->scratch = *state;
	(void)snprintf(w->v2, sizeof(w->v2), "%s/v2", w->scratch->path);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		(void)snprintf(w->v1[c], sizeof(w->v1[c]), "%s/%s", w->scratch->path, names[c]);
	w->plan.host = &w->host;
	w->plan.ids = IDS_SINGLE;
	w->plan.limits = (struct limits) { .memory_bytes = 1 << 30,
					   .swap_bytes = 1 << 20,
					   .cpu_milli = 1500,
					   .pids = 100 };
	(void)strcpy(w->record.id, ID);
}

static void put(struct world *w, enum controller c, bool v2)
{
	w->host.controller[c] = (struct host_controller) { .usable = true,
							   .v2 = v2,
							   .swap = c == CONTROLLER_MEMORY,
							   .parent = v2 ? w->v2 : w->v1[c] };
}

static void put_all(struct world *w, bool v2)
{
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		put(w, (enum controller)c, v2);
}

/* Directories and files the kernel would have made, each file empty. */
static void lay(struct world *w, const char *group, const char *const *files)
{
	struct err e = { 0 };
	int fd, dir;

	dir = fs_mkdir_path(w->scratch->dir, group, 0755, &e);
	assert_ok(dir);
	for (; *files; files++) {
		fd = openat(dir, *files, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	(void)close(dir);
}

static void assert_holds(struct world *w, const char *file, const char *text)
{
	autobuf struct buf got = { 0 };
	struct err e = { 0 };

	assert_ok(io_read_file(w->scratch->dir, file, 4096, &got, &e));
	assert_string_equal(buf_str(&got), text);
}

static void take_names(struct world *w)
{
	struct err e = { 0 };

	assert_ok(cgroup_names(&w->plan, ID, w->record.group, &w->record.n_groups, &e));
}

static void drop_names(struct world *w)
{
	while (w->record.n_groups)
		free(w->record.group[--w->record.n_groups]);
}

static void assert_names(struct world *w, const char *const *want)
{
	unsigned n = 0;

	take_names(w);
	for (; want[n]; n++) {
		assert_true(n < w->record.n_groups);
		assert_string_equal(w->record.group[n] + strlen(w->scratch->path), want[n]);
	}
	assert_int_equal(n, w->record.n_groups);
	drop_names(w);
}

static const char *const v2_files[] = { "cgroup.procs",	    "cgroup.subtree_control",
					"memory.max",	    "memory.swap.max",
					"memory.oom.group", "pids.max",
					"cpu.max",	    NULL };
static const char *const memory_files[] = { "tasks", "memory.limit_in_bytes",
					    "memory.memsw.limit_in_bytes", NULL };
static const char *const pids_files[] = { "tasks", "pids.max", NULL };
static const char *const cpu_files[] = { "tasks", "cpu.cfs_quota_us", NULL };

static void lay_v2(struct world *w)
{
	lay(w, "v2/ohsandbox/" ID, v2_files);
	lay(w, "v2/ohsandbox/" ID "/executor", v2_files);
	lay(w, "v2/ohsandbox/" ID "/work", v2_files);
}

static void lay_v1(struct world *w)
{
	lay(w, "memory/ohsandbox/" ID, memory_files);
	lay(w, "memory/ohsandbox/" ID "/work", memory_files);
	lay(w, "pids/ohsandbox/" ID, pids_files);
	lay(w, "pids/ohsandbox/" ID "/work", pids_files);
	lay(w, "cpu/ohsandbox/" ID, cpu_files);
}

static void v2_has_one_tree_for_all_controllers(void **state)
{
	struct world w;

	world_init(&w, state);
	put_all(&w, true);
	assert_names(&w,
		     (const char *const[]) { "/v2/ohsandbox/" ID, "/v2/ohsandbox/" ID "/executor",
					     "/v2/ohsandbox/" ID "/work", NULL });
}

static void v1_has_a_tree_for_each_controller(void **state)
{
	struct world w;

	world_init(&w, state);
	put_all(&w, false);
	assert_names(&w, (const char *const[]) {
				 "/memory/ohsandbox/" ID, "/memory/ohsandbox/" ID "/work",
				 "/pids/ohsandbox/" ID, "/pids/ohsandbox/" ID "/work",
				 "/cpu/ohsandbox/" ID, NULL });
	w.plan.limits.cpu_milli = LIMIT_NONE;
	assert_names(&w, (const char *const[]) {
				 "/memory/ohsandbox/" ID, "/memory/ohsandbox/" ID "/work",
				 "/pids/ohsandbox/" ID, "/pids/ohsandbox/" ID "/work", NULL });
}

static void hybrid_host_has_each_controller_where_it_is(void **state)
{
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_MEMORY, false);
	put(&w, CONTROLLER_PIDS, true);
	assert_names(&w, (const char *const[]) {
				 "/memory/ohsandbox/" ID, "/memory/ohsandbox/" ID "/work",
				 "/v2/ohsandbox/" ID, "/v2/ohsandbox/" ID "/executor",
				 "/v2/ohsandbox/" ID "/work", NULL });
}

static void host_without_controllers_has_no_groups(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	assert_names(&w, (const char *const[]) { NULL });
	assert_ok(cgroup_up(&w.plan, &w.record, 0, &g, &e));
	assert_int_equal(g.dir, -1);
	assert_int_equal(g.n_tasks + g.n_work_tasks, 0);
	cgroup_clear(&g);
	assert_ok(cgroup_down(&w.record, &e));
}

static void v2_limits_sit_on_the_workload_and_the_sum_above(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put_all(&w, true);
	lay_v2(&w);
	assert_ok(cgroup_up(&w.plan, &w.record, geteuid(), &g, &e));
	assert_holds(&w, "v2/ohsandbox/" ID "/memory.max", "1107296256");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/memory.max", "1073741824");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/memory.swap.max", "1048576");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/memory.oom.group", "1");
	assert_holds(&w, "v2/ohsandbox/" ID "/pids.max", "116");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/pids.max", "100");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/cpu.max", "150000 100000");
	assert_holds(&w, "v2/ohsandbox/" ID "/executor/memory.max", "");
	assert_holds(&w, "v2/ohsandbox/" ID "/cgroup.subtree_control", "+memory +pids +cpu");
	assert_true(g.dir >= 0 && g.work_dir >= 0);
	assert_int_equal(g.n_tasks + g.n_work_tasks, 0);
	cgroup_clear(&g);
}

static void v1_limits_sit_on_the_workload_and_the_sum_above(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put_all(&w, false);
	lay_v1(&w);
	assert_ok(cgroup_up(&w.plan, &w.record, 0, &g, &e));
	assert_holds(&w, "memory/ohsandbox/" ID "/memory.limit_in_bytes", "1107296256");
	assert_holds(&w, "memory/ohsandbox/" ID "/work/memory.limit_in_bytes", "1073741824");
	assert_holds(&w, "memory/ohsandbox/" ID "/work/memory.memsw.limit_in_bytes", "1074790400");
	assert_holds(&w, "pids/ohsandbox/" ID "/pids.max", "116");
	assert_holds(&w, "pids/ohsandbox/" ID "/work/pids.max", "100");
	assert_holds(&w, "cpu/ohsandbox/" ID "/cpu.cfs_quota_us", "150000");
	assert_int_equal(g.dir, -1);
	assert_int_equal(g.n_tasks, 2);
	assert_int_equal(g.n_work_tasks, 3);
	cgroup_clear(&g);
}

static void up_with_leaves(struct world *w, struct cgroup *g)
{
	struct err e = { 0 };

	w->plan.leaves = 2;
	assert_ok(cgroup_up(&w->plan, &w->record, geteuid(), g, &e));
	assert_ok(cgroup_leaves_up(&w->plan, &w->record, geteuid(), g, &e));
	assert_int_equal(g->n_leaves, 2);
}

static void v1_leaves_are_narrower_than_the_workload_and_are_what_is_entered(void **state)
{
	static const char *const memory[] = { "tasks",
					      "cgroup.procs",
					      "memory.limit_in_bytes",
					      "memory.memsw.limit_in_bytes",
					      "memory.max_usage_in_bytes",
					      "memory.oom_control",
					      NULL };
	static const char *const pids[] = { "tasks",	    "cgroup.procs", "pids.max",
					    "pids.current", "pids.events",  NULL };
	static const char *const cpuacct[] = { "tasks", "cgroup.procs", "cpuacct.usage", NULL };
	struct cgroup g;
	struct world w;

	world_init(&w, state);
	put_all(&w, false);
	lay_v1(&w);
	lay(&w, "cpu/ohsandbox/" ID, (const char *const[]) { "cpu.stat", NULL });
	for (int i = 0; i < 2; i++) {
		lay(&w, i ? "memory/ohsandbox/" ID "/work/1" : "memory/ohsandbox/" ID "/work/0",
		    memory);
		lay(&w, i ? "pids/ohsandbox/" ID "/work/1" : "pids/ohsandbox/" ID "/work/0", pids);
		lay(&w, i ? "cpuacct/ohsandbox/" ID "/1" : "cpuacct/ohsandbox/" ID "/0", cpuacct);
	}
	up_with_leaves(&w, &g);
	assert_holds(&w, "memory/ohsandbox/" ID "/work/1/memory.limit_in_bytes", "1006632960");
	assert_holds(&w, "memory/ohsandbox/" ID "/work/1/memory.memsw.limit_in_bytes",
		     "1007681536");
	assert_holds(&w, "pids/ohsandbox/" ID "/work/0/pids.max", "92");
	assert_holds(&w, "memory/ohsandbox/" ID "/work/memory.limit_in_bytes", "1073741824");
	/* Of the groups above, only that of the CPU's limit, which has no leaves. */
	assert_int_equal(g.n_work_tasks, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(g.leaves[i].n_tasks, 3);
		assert_int_equal(g.leaves[i].dir, -1);
		assert_true(g.leaves[i].list >= 0 && g.leaves[i].pids_max >= 0);
		for (unsigned c = 0; c < CTL_COUNTERS; c++)
			assert_int_equal(g.leaves[i].counter[c] >= 0, c != CTL_COUNT_CPU_LIMIT);
	}
	assert_true(g.above[CTL_COUNT_CPU_LIMIT] >= 0);
	cgroup_clear(&g);
	assert_int_equal(g.leaves[1].list, -1);
}

static void v2_leaves_take_what_the_workload_hands_down(void **state)
{
	static const char *const work[] = { "cgroup.subtree_control", "memory.events",
					    "pids.events", "cpu.stat", NULL };
	static const char *const files[] = {
		"cgroup.procs", "memory.max",	"memory.swap.max", "memory.peak", "memory.events",
		"pids.max",	"pids.current", "pids.events",	   "cpu.stat",	  NULL
	};
	struct cgroup g;
	struct world w;

	world_init(&w, state);
	put_all(&w, true);
	lay_v2(&w);
	lay(&w, "v2/ohsandbox/" ID "/work", work);
	lay(&w, "v2/ohsandbox/" ID "/work/0", files);
	lay(&w, "v2/ohsandbox/" ID "/work/1", files);
	up_with_leaves(&w, &g);
	assert_holds(&w, "v2/ohsandbox/" ID "/work/cgroup.subtree_control", "+memory +pids");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/memory.oom.group", "0");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/1/memory.max", "1006632960");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/1/memory.swap.max", "1048576");
	assert_holds(&w, "v2/ohsandbox/" ID "/work/0/pids.max", "92");
	assert_int_equal(g.leaves[0].n_tasks, 0);
	assert_true(g.leaves[0].dir >= 0 && g.leaves[0].procs >= 0 && g.leaves[0].list >= 0);
	assert_true(g.leaves[1].counter[CTL_COUNT_CPU] >= 0);
	assert_true(g.above[CTL_COUNT_PIDS_EVENTS] >= 0);
	cgroup_clear(&g);
}

static void a_leaf_leaves_room_beside_it(void **state)
{
	static const struct {
		uint64_t memory, leaf_memory, pids, leaf_pids;
	} cases[] = {
		{ UINT64_C(4) << 30, (UINT64_C(4) << 30) - (64 << 20), 2048, 1984 },
		{ 64 << 20, 60 << 20, 50, 42 },
		{ 8 << 20, 6 << 20, 16, 12 },
		{ 4096, 3072, 1, 1 },
		{ LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct limits l = { .memory_bytes = cases[i].memory, .pids = cases[i].pids };

		assert_true(cgroup_leaf_memory(&l) == cases[i].leaf_memory);
		assert_true(cgroup_leaf_pids(&l) == cases[i].leaf_pids);
	}
}

static void leaves_go_with_their_group(void **state)
{
	static const char *const none[] = { NULL };
	struct stat st;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_PIDS, false);
	/* One is gone already: whoever removed it was killed. */
	lay(&w, "pids/ohsandbox/" ID "/work/1", none);
	lay(&w, "pids/ohsandbox/" ID "/work/3", none);
	take_names(&w);
	w.record.stays = true;
	assert_ok(cgroup_down(&w.record, &e));
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox/" ID, &st, 0), -1);
	drop_names(&w);
}

static void limits_that_are_not_set_are_not_written(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_MEMORY, false);
	put(&w, CONTROLLER_PIDS, false);
	w.plan.limits =
		(struct limits) { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, 0, 0, 0, 0 };
	lay_v1(&w);
	assert_ok(cgroup_up(&w.plan, &w.record, 0, &g, &e));
	assert_holds(&w, "memory/ohsandbox/" ID "/work/memory.limit_in_bytes", "");
	assert_holds(&w, "pids/ohsandbox/" ID "/work/pids.max", "");
	cgroup_clear(&g);
}

static void greatest_limit_has_no_sum_that_wraps(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_MEMORY, false);
	w.plan.limits.memory_bytes = INT64_MAX;
	lay_v1(&w);
	assert_ok(cgroup_up(&w.plan, &w.record, 0, &g, &e));
	assert_holds(&w, "memory/ohsandbox/" ID "/memory.limit_in_bytes", "9223372036854775807");
	assert_holds(&w, "memory/ohsandbox/" ID "/work/memory.memsw.limit_in_bytes",
		     "9223372036854775807");
	cgroup_clear(&g);
}

static void swap_without_memory_is_refused_on_v1(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_MEMORY, false);
	w.plan.limits.memory_bytes = LIMIT_NONE;
	lay_v1(&w);
	assert_int_equal(cgroup_up(&w.plan, &w.record, 0, &g, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "swap"));
}

static void missing_limit_file_is_named(void **state)
{
	struct cgroup g;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_PIDS, false);
	lay(&w, "pids/ohsandbox/" ID, pids_files + 2);
	assert_int_equal(cgroup_up(&w.plan, &w.record, 0, &g, &e), -ENOENT);
	assert_non_null(strstr(e.text, "pids.max"));
	assert_non_null(strstr(e.text, ID));
}

static void usage_is_read_from_whichever_tree_has_it(void **state)
{
	struct usage u;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put_all(&w, false);
	lay_v1(&w);
	assert_ok(io_replace_file(w.scratch->dir,
				  "memory/ohsandbox/" ID "/memory.max_usage_in_bytes", "4096\n", 5,
				  0644, &e));
	assert_ok(io_replace_file(w.scratch->dir, "memory/ohsandbox/" ID "/work/memory.oom_control",
				  "under_oom 0\noom_kill 2\n", 23, 0644, &e));
	assert_ok(io_replace_file(w.scratch->dir, "pids/ohsandbox/" ID "/work/pids.events",
				  "max 0\n", 6, 0644, &e));
	assert_ok(io_replace_file(w.scratch->dir, "cpu/ohsandbox/" ID "/cpu.stat",
				  "nr_periods 9\nnr_throttled 4\nthrottled_time 1\n", 45, 0644,
				  &e));
	take_names(&w);
	assert_ok(cgroup_usage(&w.record, &u, &e));
	assert_int_equal(u.peak_memory_bytes, 4096);
	assert_true(u.hit_memory);
	assert_false(u.hit_pids);
	assert_true(u.hit_cpu);
	drop_names(&w);
}

static void usage_of_groups_that_are_gone_is_nothing(void **state)
{
	struct usage u;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put_all(&w, true);
	take_names(&w);
	assert_ok(cgroup_usage(&w.record, &u, &e));
	assert_int_equal(u.cpu_ms + u.peak_memory_bytes, 0);
	assert_ok(cgroup_kill(&w.record, &e));
	assert_ok(cgroup_down(&w.record, &e));
	drop_names(&w);
}

static void the_shared_group_goes_with_clean_and_not_under_a_session(void **state)
{
	static const char *const none[] = { NULL };
	struct stat st;
	struct err e = { 0 };
	struct world w;

	world_init(&w, state);
	put(&w, CONTROLLER_PIDS, false);
	lay(&w, "pids/ohsandbox/" ID "/work", none);
	lay(&w, "pids/ohsandbox/other", none);
	take_names(&w);
	assert_ok(cgroup_down(&w.record, &e));
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox/" ID, &st, 0), -1);
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox/other", &st, 0), 0);
	assert_ok(cgroup_clean(&w.host, &e));
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox/other", &st, 0), 0);
	assert_int_equal(unlinkat(w.scratch->dir, "pids/ohsandbox/other", AT_REMOVEDIR), 0);
	assert_ok(cgroup_down(&w.record, &e));
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox", &st, 0), 0);
	assert_ok(cgroup_clean(&w.host, &e));
	assert_int_equal(fstatat(w.scratch->dir, "pids/ohsandbox", &st, 0), -1);
	assert_ok(cgroup_clean(&w.host, &e));
	drop_names(&w);
}

static void names_that_are_not_the_sessions_are_not_touched(void **state)
{
	static const char *const bad[] = { "%s/other", "%s/ohsandbox/" ID "/../x",
					   "%s/ohsandbox/ffffffffffff", "%s/ohsandbox/" ID "x",
					   "%s/ohsandbox/" ID "/work/deeper" };
	struct world w;

	world_init(&w, state);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = { 0 };
		char path[256];

		(void)snprintf(path, sizeof(path), bad[i], w.scratch->path);
		w.record.group[0] = path;
		w.record.n_groups = 1;
		assert_int_equal(cgroup_down(&w.record, &e), -EINVAL);
		assert_int_equal(cgroup_kill(&w.record, &e), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(v2_has_one_tree_for_all_controllers),
		scratch_test(v1_has_a_tree_for_each_controller),
		scratch_test(hybrid_host_has_each_controller_where_it_is),
		scratch_test(host_without_controllers_has_no_groups),
		scratch_test(v2_limits_sit_on_the_workload_and_the_sum_above),
		scratch_test(v1_limits_sit_on_the_workload_and_the_sum_above),
		scratch_test(v1_leaves_are_narrower_than_the_workload_and_are_what_is_entered),
		scratch_test(v2_leaves_take_what_the_workload_hands_down),
		scratch_test(a_leaf_leaves_room_beside_it),
		scratch_test(leaves_go_with_their_group),
		scratch_test(limits_that_are_not_set_are_not_written),
		scratch_test(greatest_limit_has_no_sum_that_wraps),
		scratch_test(swap_without_memory_is_refused_on_v1),
		scratch_test(missing_limit_file_is_named),
		scratch_test(usage_is_read_from_whichever_tree_has_it),
		scratch_test(usage_of_groups_that_are_gone_is_nothing),
		scratch_test(the_shared_group_goes_with_clean_and_not_under_a_session),
		scratch_test(names_that_are_not_the_sessions_are_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
