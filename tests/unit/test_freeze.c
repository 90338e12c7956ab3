/* SPDX-License-Identifier: MIT */
/* test_freeze.c - a workload's group of version 2 stands still and goes on. */
#include "session/freeze.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "unit.h"

#define ID "0123456789ab"

/* Where the unified hierarchy is, alone or beside the others. */
static const char *unified(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", places[i]);
		if (access(path, W_OK) == 0)
			return places[i];
	}
	return NULL;
}

struct groups {
	char top[96], shared[128], session[160], work[192];
};

static void name_groups(struct groups *g)
{
	(void)snprintf(g->top, sizeof(g->top), "%s/ohs-unit-%d", unified(), (int)getpid());
	(void)snprintf(g->shared, sizeof(g->shared), "%s/ohsandbox", g->top);
	(void)snprintf(g->session, sizeof(g->session), "%s/" ID, g->shared);
	(void)snprintf(g->work, sizeof(g->work), "%s/work", g->session);
}

static pid_t child_in(const char *group)
{
	int dir = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t child = fork();
	struct err e = { 0 };
	char pid[16];

	if (child == 0) {
		for (;;)
			pause();
	}
	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	assert_ok(io_write_text(dir, "cgroup.procs", pid, &e));
	(void)close(dir);
	return child;
}

static bool is_frozen(const char *group)
{
	int dir = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
	autobuf struct buf text = { 0 };
	struct err e = { 0 };

	assert_ok(io_read_file(dir, "cgroup.events", 256, &text, &e));
	(void)close(dir);
	return strstr(buf_str(&text), "frozen 1") != NULL;
}

static void group_of_version_2_stands_still_and_goes_on(void **state)
{
	struct groups g;
	struct session s = { .state = -1, .dir = -1, .lock = -1, .journal = -1 };
	struct err e = { 0 };
	pid_t child;

	(void)state;
	if (geteuid() != 0 || !unified()) {
		print_message("skip: needs root and the unified hierarchy\n");
		skip();
	}
	name_groups(&g);
	assert_int_equal(mkdir(g.top, 0755) | mkdir(g.shared, 0755) | mkdir(g.session, 0755) |
				 mkdir(g.work, 0755),
			 0);
	(void)strcpy(s.record.id, ID);
	s.record.group[0] = g.session;
	s.record.group[1] = g.work;
	s.record.n_groups = 2;
	child = child_in(g.work);
	assert_ok(freeze(&s, &e));
	assert_true(is_frozen(g.work));
	assert_null(s.record.freezer);
	assert_ok(freeze_end(&s.record, &e));
	assert_false(is_frozen(g.work));
	assert_ok(freeze(&s, &e));
	/* It dies as it is. */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(rmdir(g.work) | rmdir(g.session) | rmdir(g.shared) | rmdir(g.top), 0);
	assert_ok(freeze_end(&s.record, &e));
}

static void session_without_groups_is_refused_with_the_other_way(void **state)
{
	struct session s = { .record = { .id = ID } };
	struct err e = { 0 };

	(void)state;
	assert_refused(freeze(&s, &e), EOPNOTSUPP,
		       "session " ID " cannot be frozen: it has no group of its own on this host; "
		       "'ohsandbox pause --to-disk " ID "' ends its processes and keeps all else");
	assert_ok(freeze_end(&s.record, &e));
	assert_ok(freeze_down(&s.record, &e));
}

static void group_of_somebody_else_is_not_touched(void **state)
{
	char elsewhere[] = "/sys/fs/cgroup/freezer/system.slice";
	struct record r = { .id = ID, .freezer = elsewhere };
	struct err e = { 0 };

	(void)state;
	assert_refused(freeze_down(&r, &e), EINVAL,
		       "'/sys/fs/cgroup/freezer/system.slice' is not a group of session " ID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group_of_version_2_stands_still_and_goes_on),
		cmocka_unit_test(session_without_groups_is_refused_with_the_other_way),
		cmocka_unit_test(group_of_somebody_else_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
