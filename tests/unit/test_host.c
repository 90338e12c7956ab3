/* SPDX-License-Identifier: MIT */
/* test_host.c - facts read from hosts that are made up in a directory. */
#include "unit.h"

#include <sys/stat.h>

#include "base/io.h"
#include "plan/host_parts.h"

#define ALL_CAPS UINT64_C(0x1ffffffffff)

static void put(struct scratch *s, const char *path, const char *text)
{
	autofree char *dir = strdup(path);
	char *slash = strrchr(dir, '/');
	struct err e = { 0 };
	int fd;

	if (slash) {
		*slash = '\0';
		fd = fs_mkdir_path(s->dir, dir, 0755, &e);
		assert_ok(fd);
		(void)close(fd);
	}
	fd = openat(s->dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, text, strlen(text), &e));
	(void)close(fd);
}

static void make_dir(struct scratch *s, const char *path)
{
	struct err e = { 0 };
	int fd = fs_mkdir_path(s->dir, path, 0755, &e);

	assert_ok(fd);
	(void)close(fd);
}

/* What every made-up host has. */
static void put_base(struct scratch *s)
{
	put(s, "proc/self/uid_map", "         0          0 4294967295\n");
	put(s, "proc/self/mountinfo", "");
	put(s, "proc/self/cgroup", "");
	put(s, "proc/sys/user/max_user_namespaces", "15000\n");
	put(s, "etc/passwd",
	    "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\n");
	make_dir(s, "usr");
	make_dir(s, "var/lib/dpkg");
	assert_int_equal(symlinkat("usr/bin", s->dir, "bin"), 0);
}

static struct host_source source(struct scratch *s, uid_t uid)
{
	return (struct host_source) { .root = s->dir,
				      .uid = uid,
				      .gid = uid,
				      .caps = uid ? 0 : ALL_CAPS,
				      .release = "6.1.0-18-amd64",
				      .state_dir = "/var/lib/ohsandbox",
				      .memory_bytes = 1 << 30,
				      .nofile_max = 1024,
				      .cpus = 2 };
}

static struct host *read_host(const struct host_source *src)
{
	struct host *h = NULL;
	struct err e = { 0 };

	assert_ok(host_read(src, &h, &e));
	return h;
}

static void root_with_its_capabilities_is_privileged(void **state)
{
	struct scratch *s = *state;
	struct host_source src = source(s, 0);
	struct host *h;

	put_base(s);
	h = read_host(&src);
	assert_true(h->privileged);
	assert_true(h->net_admin);
	assert_int_equal(h->ids, IDS_ROOT);
	assert_int_equal(h->kernel_major, 6);
	assert_int_equal(h->kernel_minor, 1);
	assert_string_equal(h->user_name, "root");
	host_free(h);
}

static void root_without_sys_admin_is_not(void **state)
{
	struct scratch *s = *state;
	struct host_source src = source(s, 0);
	struct host *h;

	put_base(s);
	src.caps &= ~(UINT64_C(1) << 21);
	h = read_host(&src);
	assert_false(h->privileged);
	assert_int_equal(h->ids, IDS_SINGLE);
	host_free(h);
}

static void root_without_net_admin_has_no_links(void **state)
{
	struct scratch *s = *state;
	struct host_source src = source(s, 0);
	struct host *h;

	put_base(s);
	src.caps &= ~(UINT64_C(1) << 12);
	h = read_host(&src);
	assert_true(h->privileged);
	assert_false(h->net_admin);
	host_free(h);
}

static void root_of_a_container_has_no_slices_to_give(void **state)
{
	struct scratch *s = *state;
	struct host_source src = source(s, 0);
	struct host *h;

	put_base(s);
	put(s, "proc/self/uid_map", "0 100000 65536\n");
	h = read_host(&src);
	assert_false(h->privileged);
	host_free(h);
}

static void subordinate_ids_need_both_files_and_the_programs(void **state)
{
	struct scratch *s = *state;
	struct host_source src = source(s, 1000);
	struct host *h;

	put_base(s);
	put(s, "etc/subuid", "bob:1:70000\nalice:100000:65536\nalice:300000:65536\n");
	h = read_host(&src);
	assert_int_equal(h->ids, IDS_SINGLE);
	host_free(h);
	put(s, "etc/subgid", "1000:200000:65536\n");
	put(s, "usr/bin/newuidmap", "");
	put(s, "usr/bin/newgidmap", "");
	h = read_host(&src);
	assert_int_equal(h->ids, IDS_SUBIDS);
	assert_int_equal(h->sub_uids.outside, 100000);
	assert_int_equal(h->sub_gids.outside, 200000);
	assert_int_equal(h->sub_uids.count, 65536);
	host_free(h);
}

static void ranges_that_make_no_sense_are_passed_over(void **state)
{
	static const char *const texts[] = {
		"alice:100000:10\n", "alice:-1:65536\n", "alice:4294967295:65536\n",
		"alice:100000\n",    "alice\n::::\n",	 "alice:1e5:65536\n",
		"alice:0:65536\n"
	};
	struct scratch *s = *state;
	struct host_source src = source(s, 1000);

	put_base(s);
	put(s, "usr/bin/newuidmap", "");
	put(s, "usr/bin/newgidmap", "");
	put(s, "etc/subgid", "alice:200000:65536\n");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct host *h;

		put(s, "etc/subuid", texts[i]);
		h = read_host(&src);
		assert_int_equal(h->ids, IDS_SINGLE);
		host_free(h);
	}
}

static void switched_off_user_namespaces_are_seen(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0), alice = source(s, 1000);
	struct host *h;

	put_base(s);
	h = read_host(&alice);
	assert_true(h->user_namespaces);
	host_free(h);
	put(s, "proc/sys/kernel/unprivileged_userns_clone", "0\n");
	h = read_host(&alice);
	assert_false(h->user_namespaces);
	host_free(h);
	h = read_host(&root);
	assert_true(h->user_namespaces);
	host_free(h);
	put(s, "proc/sys/user/max_user_namespaces", "0\n");
	h = read_host(&root);
	assert_false(h->user_namespaces);
	host_free(h);
}

static void apparmor_restricts_the_unconfined_alone(void **state)
{
	struct scratch *s = *state;
	struct host_source alice = source(s, 1000);
	struct host *h;

	put_base(s);
	put(s, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	put(s, "proc/self/attr/current", "unconfined\n");
	h = read_host(&alice);
	assert_false(h->user_namespaces);
	host_free(h);
	put(s, "proc/self/attr/current", "ohsandbox (enforce)\n");
	h = read_host(&alice);
	assert_true(h->user_namespaces);
	host_free(h);
}

static void hybrid_host_has_each_controller_where_it_is(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	put(s, "proc/self/mountinfo",
	    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	    "35 31 0:32 / /sys/fs/cgroup/mem\\040ory rw,relatime - cgroup cgroup rw,memory\n"
	    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
	put(s, "proc/self/cgroup", "4:memory:/user/alice\n2:cpu,cpuacct:/\n0::/init.scope\n");
	put(s, "sys/fs/cgroup/cpu,cpuacct/tasks", "");
	put(s, "sys/fs/cgroup/mem ory/user/alice/tasks", "");
	put(s, "sys/fs/cgroup/mem ory/user/alice/memory.memsw.limit_in_bytes", "");
	put(s, "sys/fs/cgroup/unified/cgroup.controllers", "pids\n");
	put(s, "sys/fs/cgroup/unified/cgroup.subtree_control", "");
	h = read_host(&root);
	assert_true(h->controller[CONTROLLER_MEMORY].usable);
	assert_false(h->controller[CONTROLLER_MEMORY].v2);
	assert_true(h->controller[CONTROLLER_MEMORY].swap);
	assert_string_equal(h->controller[CONTROLLER_MEMORY].parent,
			    "/sys/fs/cgroup/mem ory/user/alice");
	assert_string_equal(h->controller[CONTROLLER_CPU].parent, "/sys/fs/cgroup/cpu,cpuacct");
	assert_true(h->controller[CONTROLLER_PIDS].usable);
	assert_true(h->controller[CONTROLLER_PIDS].v2);
	assert_string_equal(h->controller[CONTROLLER_PIDS].parent, "/sys/fs/cgroup/unified");
	host_free(h);
}

static void unified_host_gives_root_the_top(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	put(s, "proc/self/mountinfo",
	    "35 31 0:32 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n");
	put(s, "proc/self/cgroup", "0::/user.slice/session-1.scope\n");
	put(s, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	put(s, "sys/fs/cgroup/cgroup.subtree_control", "memory pids\n");
	h = read_host(&root);
	/* Counting the CPU is a controller of its own on v1 alone. */
	assert_false(h->controller[CONTROLLER_CPUACCT].usable);
	for (unsigned c = 0; c < CONTROLLER_CPUACCT; c++) {
		assert_true(h->controller[c].usable);
		assert_true(h->controller[c].v2);
		assert_string_equal(h->controller[c].parent, "/sys/fs/cgroup");
	}
	assert_true(h->controller[CONTROLLER_MEMORY].swap);
	host_free(h);
}

/* In a container the top of the mount has a type and processes: it can pass nothing on. */
static void busy_top_of_a_container_passes_on_what_it_did(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	put(s, "proc/self/mountinfo",
	    "35 31 0:32 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
	put(s, "proc/self/cgroup", "0::/\n");
	put(s, "sys/fs/cgroup/cgroup.type", "domain\n");
	put(s, "sys/fs/cgroup/cgroup.procs", "1\n77\n");
	put(s, "sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
	put(s, "sys/fs/cgroup/cgroup.subtree_control", "pids\n");
	h = read_host(&root);
	assert_true(h->controller[CONTROLLER_PIDS].usable);
	assert_false(h->controller[CONTROLLER_MEMORY].usable);
	assert_false(h->controller[CONTROLLER_MEMORY].swap);
	host_free(h);
}

static void user_gets_the_nearest_delegated_group(void **state)
{
	static const char own[] = "/user.slice/user@1000.service/app.slice/term.scope";
	struct scratch *s = *state;
	struct host_source alice = source(s, geteuid() ? geteuid() : 1000);
	struct host *h;
	char path[200];

	put_base(s);
	put(s, "proc/self/mountinfo",
	    "35 31 0:32 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
	put(s, "proc/self/cgroup", "0::/user.slice/user@1000.service/app.slice/term.scope\n");
	(void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.procs", own);
	put(s, path, "1234\n");
	(void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.controllers", own);
	put(s, path, "memory pids\n");
	(void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.type", own);
	put(s, path, "domain\n");
	put(s, "sys/fs/cgroup/user.slice/user@1000.service/app.slice/cgroup.procs", "");
	put(s, "sys/fs/cgroup/user.slice/user@1000.service/app.slice/cgroup.type", "domain\n");
	put(s, "sys/fs/cgroup/user.slice/user@1000.service/app.slice/memory.swap.max", "max\n");
	put(s, "sys/fs/cgroup/user.slice/user@1000.service/app.slice/cgroup.controllers",
	    "memory pids\n");
	put(s, "sys/fs/cgroup/user.slice/user@1000.service/app.slice/cgroup.subtree_control",
	    "memory pids\n");
	h = read_host(&alice);
	assert_true(h->controller[CONTROLLER_MEMORY].usable);
	assert_true(h->controller[CONTROLLER_MEMORY].swap);
	assert_false(h->controller[CONTROLLER_CPU].usable);
	assert_string_equal(h->controller[CONTROLLER_MEMORY].parent,
			    "/sys/fs/cgroup/user.slice/user@1000.service/app.slice");
	host_free(h);
}

static void host_without_groups_has_no_controller(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	put(s, "proc/self/mountinfo",
	    "garbage\n - cgroup\n1 2 3 - cgroup cgroup\n35 31 - cgroup2 x\n");
	put(s, "proc/self/cgroup", "nonsense\n::\n0:\n");
	h = read_host(&root);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		assert_false(h->controller[c].usable);
	host_free(h);
}

static void directories_count_and_links_do_not(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	h = read_host(&root);
	for (unsigned i = 0; host_dir(i); i++) {
		bool there = strcmp(host_dir(i)->path, "/usr") == 0 ||
			     strcmp(host_dir(i)->path, "/var/lib/dpkg") == 0;

		assert_int_equal(!!(h->dirs & 1u << i), there);
	}
	host_free(h);
}

static void what_is_mounted_over_is_no_link(void **state)
{
	struct scratch *s = *state;
	struct host_source root = source(s, 0);
	struct host *h;

	put_base(s);
	h = read_host(&root);
	assert_false(h->sudo);
	assert_false(h->local_bin);
	host_free(h);
	put(s, "usr/bin/sudo", "");
	put(s, "usr/local/bin/x", "");
	h = read_host(&root);
	assert_true(h->sudo);
	assert_true(h->local_bin);
	host_free(h);
	assert_int_equal(renameat(root.root, "usr/bin/sudo", root.root, "usr/bin/sudo-real"), 0);
	assert_int_equal(symlinkat("sudo-real", root.root, "usr/bin/sudo"), 0);
	assert_int_equal(renameat(root.root, "usr/local", root.root, "usr/real"), 0);
	assert_int_equal(symlinkat("real", root.root, "usr/local"), 0);
	h = read_host(&root);
	assert_false(h->sudo);
	assert_false(h->local_bin);
	host_free(h);
}

static void git_identity_is_read_as_git_writes_it(void **state)
{
	static const struct {
		const char *text, *name, *email;
	} cases[] = {
		{ "[user]\n\tname = A B\n\temail = a@b\n", "A B", "a@b" },
		{ "[core]\nname = no\n[User]\nName=\"A \\\"q\\\" B\" ; comment\n", "A \"q\" B",
		  NULL },
		{ "[user] name = one\n[user]\nname = two # x\n", "two", NULL },
		{ "[user \"sub\"]\nname = no\n", NULL, NULL },
		{ "[users]\nname = no\n", NULL, NULL },
		{ "[user]\nname = \n", NULL, NULL },
		{ "[user]\nname = a\\\nb\n", NULL, NULL },
		{ "[user]\nname = \"open\n", NULL, NULL },
		{ "[user]\nnamex = no\n", NULL, NULL },
		{ "[user", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		autofree char *name = NULL;
		autofree char *email = NULL;
		struct err e = { 0 };

		assert_ok(host_parse_git(cases[i].text, &name, &email, &e));
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
		if (cases[i].email)
			assert_string_equal(email, cases[i].email);
		else
			assert_null(email);
	}
}

static void this_host_can_be_read(void **state)
{
	struct host *h = NULL;
	struct err e = { 0 };

	(void)state;
	assert_ok(host_probe("/nonexistent/state", &h, &e));
	assert_true(h->memory_bytes > 0 && h->cpus > 0);
	assert_non_null(h->user_name);
	host_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(root_with_its_capabilities_is_privileged),
		scratch_test(root_without_sys_admin_is_not),
		scratch_test(root_without_net_admin_has_no_links),
		scratch_test(root_of_a_container_has_no_slices_to_give),
		scratch_test(subordinate_ids_need_both_files_and_the_programs),
		scratch_test(ranges_that_make_no_sense_are_passed_over),
		scratch_test(switched_off_user_namespaces_are_seen),
		scratch_test(apparmor_restricts_the_unconfined_alone),
		scratch_test(hybrid_host_has_each_controller_where_it_is),
		scratch_test(unified_host_gives_root_the_top),
		scratch_test(busy_top_of_a_container_passes_on_what_it_did),
		scratch_test(user_gets_the_nearest_delegated_group),
		scratch_test(host_without_groups_has_no_controller),
		scratch_test(directories_count_and_links_do_not),
		scratch_test(what_is_mounted_over_is_no_link),
		cmocka_unit_test(git_identity_is_read_as_git_writes_it),
		cmocka_unit_test(this_host_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
