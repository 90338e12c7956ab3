/* SPDX-License-Identifier: MIT */
/* test_plan.c - plans for made-up hosts: the same three inputs, the same decision. */
#include "unit.h"

#include "base/json.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/strv.h"

/* The structs hold texts of the heap; these are only read. */
#define TEXT(s) ((char *)(uintptr_t)(s))
#define G ((uint64_t)1 << 30)

struct inputs {
	struct request request;
	struct policy policy;
	struct host host;
};

/* A root of a good host, the default policy's values, a repository of his. */
static struct inputs inputs(void)
{
	struct inputs in = { 0 };

	in.request = (struct request) { .kind = WORKSPACE_REPO,
					.path = TEXT("/src/project"),
					.net = -1 };
	in.policy = (struct policy) {
		.name = TEXT("default"),
		.user = { TEXT("openhands"), TEXT("/home/openhands"), TEXT("/bin/bash"), 1000, 0 },
		.root_allowed = true,
		.limits = { 4 * G, 0, LIMIT_NONE, 2048, LIMIT_NONE, 65536, LIMIT_NONE, LIMIT_NONE },
		.memory_percent = 75,
		.allow_degraded = DEGRADED_MEMORY | DEGRADED_SWAP | DEGRADED_CPUS | DEGRADED_PIDS |
				  DEGRADED_IDS,
		.hostname = TEXT("ohsandbox"),
		.root_base = TEXT("host"),
	};
	in.host =
		(struct host) { .kernel_major = 6,
				.kernel_minor = 1,
				.privileged = true,
				.net_admin = true,
				.ids = IDS_ROOT,
				.idmapped_mounts = true,
				.user_namespaces = true,
				.memory_bytes = 16 * G,
				.swap_bytes = G,
				.cpus = 4,
				.dirs = 1u << 0 | 1u << 7 | 1u << 8, /* /usr, /opt, /var/lib/dpkg */
				.user_name = TEXT("root"),
				.state_dir = TEXT("/var/lib/ohsandbox") };
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		in.host.controller[c] =
			(struct host_controller) { .usable = true, .v2 = true, .swap = true };
	return in;
}

static struct inputs user_inputs(enum ids_mode ids)
{
	struct inputs in = inputs();

	in.host.privileged = in.host.net_admin = in.host.idmapped_mounts = false;
	in.host.uid = in.host.gid = 1000;
	in.host.ids = ids;
	in.host.user_name = TEXT("alice");
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		in.host.controller[c] = (struct host_controller) { 0 };
	return in;
}

static struct plan *make(const struct inputs *in)
{
	struct plan *p = NULL;
	struct err e = { 0 };

	assert_ok(plan_make(&in->request, &in->policy, &in->host, &p, &e));
	return p;
}

static void refused(const struct inputs *in, int code, const char *words)
{
	struct plan *p = NULL;
	struct err e = { 0 };

	assert_refused(plan_make(&in->request, &in->policy, &in->host, &p, &e), code, words);
	assert_null(p);
}

static const struct mount_step *step_at(const struct plan *p, const char *target)
{
	for (unsigned i = 0; i < p->n_mounts; i++)
		if (str_eq(p->mounts[i].target, target))
			return &p->mounts[i];
	return NULL;
}

static void root_gets_every_wall(void **state)
{
	struct inputs in = inputs();
	struct plan *p = make(&in);

	(void)state;
	assert_int_equal(p->ids, IDS_ROOT);
	assert_int_equal(p->degraded, 0);
	assert_true(p->veth);
	assert_int_equal(p->net, NET_NONE);
	assert_string_equal(p->user.name, "openhands");
	assert_true(p->limits.memory_bytes == 4 * G);
	assert_int_equal(p->limits.swap_bytes, 0);
	assert_string_equal(p->cwd, "/workspace");
	assert_string_equal(p->hostname, "ohsandbox");
	assert_false(p->reachable_objects);
	plan_free(p);
}

static void root_directory_comes_first_and_proc_after_all_mounts(void **state)
{
	struct inputs in = inputs();
	struct plan *p = make(&in);
	bool seen_proc = false;

	(void)state;
	assert_string_equal(p->mounts[0].target, "/");
	for (unsigned i = 0; i < p->n_mounts; i++) {
		enum mount_kind kind = p->mounts[i].kind;

		seen_proc = seen_proc || kind == MOUNT_PROC;
		assert_true(!seen_proc || kind == MOUNT_PROC || kind == MOUNT_MASK ||
			    kind == MOUNT_READONLY);
		for (unsigned k = 0; k < i; k++) /* nothing hides what was mounted before */
			assert_false(fs_is_beneath(p->mounts[i].target, p->mounts[k].target) &&
				     kind != MOUNT_READONLY);
		for (unsigned k = 0; k < MOUNT_LOWERS_MAX; k++)
			assert_int_equal(p->mounts[i].lower[k], -1);
		assert_int_equal(p->mounts[i].upper, -1);
		assert_int_equal(p->mounts[i].work, -1);
	}
	plan_free(p);
}

static void root_writes_host_directories_in_layers(void **state)
{
	static const char *const targets[] = { "/usr", "/opt", "/var/lib/dpkg" };
	static const char *const layers[] = { "usr", "opt", "dpkg" };
	struct inputs in = inputs();
	struct plan *p = make(&in);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		const struct mount_step *step = step_at(p, targets[i]);

		assert_non_null(step);
		assert_int_equal(step->kind, MOUNT_OVERLAY);
		assert_int_equal(step->lower_ids, MOUNT_IDS_SESSION);
		assert_string_equal(step->source, targets[i]);
		assert_string_equal(step->layer, layers[i]);
		assert_true(step->flags & MOUNT_VOLATILE);
	}
	assert_null(step_at(p, "/var/lib/apt/lists")); /* this host has none */
	assert_null(step_at(p, "/usr/local"));
	assert_int_equal(step_at(p, "/workspace")->lower_ids, MOUNT_IDS_OWNER);
	plan_free(p);
}

/* Nothing is hidden in them, and the workload's group is root's: no id of the host may mean one inside. */
static void read_only_host_directories_show_what_everybody_may_read(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.ends_with_us = true;
	p = make(&in);
	assert_int_equal(step_at(p, "/usr")->kind, MOUNT_BIND);
	assert_true(step_at(p, "/usr")->flags & MOUNT_RO);
	assert_int_equal(step_at(p, "/usr")->lower_ids, MOUNT_IDS_PLAIN);
	assert_int_equal(step_at(p, "/opt")->lower_ids, MOUNT_IDS_PLAIN);
	plan_free(p);
}

static void without_idmapped_mounts_host_directories_are_read_only(void **state)
{
	struct inputs one = inputs(), two = user_inputs(IDS_SUBIDS);
	struct inputs *both[] = { &one, &two };

	(void)state;
	one.host.idmapped_mounts = false;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct plan *p = make(both[i]);

		assert_int_equal(step_at(p, "/usr")->kind, MOUNT_BIND);
		assert_true(step_at(p, "/usr")->flags & MOUNT_RO);
		assert_int_equal(step_at(p, "/usr/local")->kind, MOUNT_OVERLAY);
		assert_null(step_at(p, "/usr/local")->source);
		assert_null(step_at(p, "/opt"));
		assert_null(step_at(p, "/var/lib/dpkg"));
		plan_free(p);
	}
}

static void named_root_is_one_layer_and_nothing_of_the_hosts_is_seen(void **state)
{
	struct inputs one = inputs(), two = user_inputs(IDS_SINGLE);
	struct inputs *both[] = { &one, &two };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct plan *p;

		both[i]->request.rootfs = TEXT("/srv/tree");
		both[i]->request.rootfs_mapped = i == 0;
		p = make(both[i]);
		assert_string_equal(step_at(p, "/")->source, "/srv/tree");
		assert_true(step_at(p, "/")->flags & MOUNT_GIVEN);
		assert_int_equal(step_at(p, "/")->lower_ids,
				 i == 0 ? MOUNT_IDS_SESSION : MOUNT_IDS_PLAIN);
		for (unsigned k = 1; k < p->n_mounts; k++)
			assert_false(p->mounts[k].source && p->mounts[k].kind == MOUNT_OVERLAY &&
				     !str_eq(p->mounts[k].target, "/workspace"));
		assert_null(step_at(p, "/usr"));
		assert_null(step_at(p, "/usr/local/bin"));
		assert_null(step_at(p, "/usr/bin/sudo"));
		plan_free(p);
	}
}

static void shell_of_a_named_root_is_the_users(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.rootfs = TEXT("/srv/tree");
	in.request.rootfs_shell = TEXT("/bin/sh");
	p = make(&in);
	assert_string_equal(p->user.shell, "/bin/sh");
	assert_string_equal(strv_env_get(p->env, "SHELL"), "/bin/sh");
	plan_free(p);
	in.request.user = TEXT("root");
	p = make(&in);
	assert_string_equal(p->user.shell, "/bin/sh");
	plan_free(p);
}

/* By sudo, a package manager runs as root in a run that began as somebody else. */
static void run_with_a_way_out_and_a_root_can_install(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.ends_with_us = true;
	in.request.net = NET_NAT;
	p = make(&in);
	assert_int_equal(step_at(p, "/usr")->kind, MOUNT_OVERLAY);
	assert_int_equal(step_at(p, "/var/lib/dpkg")->kind, MOUNT_OVERLAY);
	plan_free(p);
	in.policy.root_allowed = false;
	p = make(&in);
	assert_int_equal(step_at(p, "/usr")->kind, MOUNT_BIND);
	plan_free(p);
}

static void programs_of_ours_are_seen_in_every_kind_of_usr(void **state)
{
	struct inputs written = inputs(), bound = inputs(), user = user_inputs(IDS_SUBIDS);
	const struct mount_step *step;
	struct plan *p = make(&written);

	(void)state;
	assert_true(step_at(p, "/usr")->flags & MOUNT_SKELETON);
	assert_null(step_at(p, "/usr/bin/sudo"));
	plan_free(p);

	bound.request.ends_with_us = bound.host.local_bin = true;
	p = make(&bound);
	step = step_at(p, "/usr/local/bin");
	assert_int_equal(step->kind, MOUNT_OVERLAY);
	assert_int_equal(step->flags, MOUNT_RO | MOUNT_SKELETON);
	assert_int_equal(step->lower_ids, MOUNT_IDS_PLAIN);
	assert_null(step->layer);
	plan_free(p);
	bound.host.local_bin = false;
	p = make(&bound);
	assert_null(step_at(p, "/usr/local/bin"));
	plan_free(p);

	p = make(&user);
	assert_true(step_at(p, "/usr/local")->flags & MOUNT_SKELETON);
	plan_free(p);
}

static void a_sudo_of_the_hosts_is_covered_where_it_cannot_be_replaced(void **state)
{
	struct inputs written = inputs(), bound = inputs(), user = user_inputs(IDS_SINGLE);
	struct inputs *covered[] = { &bound, &user };
	struct plan *p;

	(void)state;
	written.host.sudo = bound.host.sudo = user.host.sudo = true;
	bound.request.ends_with_us = true;
	p = make(&written);
	assert_null(step_at(p, "/usr/bin/sudo"));
	plan_free(p);
	for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
		const struct mount_step *step;

		p = make(covered[i]);
		step = step_at(p, "/usr/bin/sudo");
		assert_int_equal(step->kind, MOUNT_BIND);
		assert_int_equal(step->flags, MOUNT_RO | MOUNT_PROGRAM);
		assert_string_equal(step->source, "sudo");
		plan_free(p);
	}
}

static void kept_layers_are_not_volatile(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.keep = true;
	p = make(&in);
	assert_true(p->keep);
	assert_false(step_at(p, "/workspace")->flags & MOUNT_VOLATILE);
	plan_free(p);
}

static void nothing_of_the_hosts_is_mounted_but_what_is_listed(void **state)
{
	static const char *const sources[] = { "/usr",	       "/opt",	      "/var/lib/dpkg",
					       "/src/project", "/dev/null",   "/dev/zero",
					       "/dev/full",    "/dev/random", "/dev/urandom",
					       "/dev/tty" };
	struct inputs in = inputs();
	struct plan *p = make(&in);

	(void)state;
	for (unsigned i = 0; i < p->n_mounts; i++) {
		bool listed = !p->mounts[i].source || p->mounts[i].kind == MOUNT_SYMLINK;

		for (size_t k = 0; !listed && k < ARRAY_LEN(sources); k++)
			listed = str_eq(p->mounts[i].source, sources[k]);
		assert_true(listed);
	}
	plan_free(p);
}

static void shared_memory_is_sized_from_the_limit(void **state)
{
	struct inputs in = inputs();
	struct plan *p = make(&in);

	(void)state;
	assert_true(step_at(p, "/dev/shm")->size_bytes == 2 * G);
	assert_true(step_at(p, "/tmp")->size_bytes == 2 * G);
	plan_free(p);
	in.policy.limits.memory_bytes = LIMIT_NONE;
	in.policy.limits.tmp_bytes = G;
	p = make(&in);
	assert_true(step_at(p, "/dev/shm")->size_bytes == 8 * G);
	assert_true(step_at(p, "/tmp")->size_bytes == G);
	plan_free(p);
}

static void memory_limit_fits_the_machine(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.host.memory_bytes = 2 * G;
	p = make(&in);
	assert_true(p->limits.memory_bytes == 2 * G / 100 * 75);
	plan_free(p);
	in.request.limits.memory_bytes = 3 * G; /* who names it gets it */
	in.request.limit_named[0] = true;
	p = make(&in);
	assert_true(p->limits.memory_bytes == 3 * G);
	plan_free(p);
}

static void named_limit_that_cannot_be_kept_is_refused_by_name(void **state)
{
	static const struct {
		unsigned index;
		const char *words;
	} cases[] = {
		{ 0,
		  "--memory cannot be kept: no cgroup controller 'memory' is at hand here; see 'ohsandbox doctor'" },
		{ 1,
		  "--swap cannot be kept: no cgroup controller 'memory' is at hand here; see 'ohsandbox doctor'" },
		{ 2,
		  "--cpus cannot be kept: no cgroup controller 'cpu' is at hand here; see 'ohsandbox doctor'" },
		{ 3,
		  "--pids cannot be kept: no cgroup controller 'pids' is at hand here; see 'ohsandbox doctor'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct inputs in = user_inputs(IDS_SUBIDS);

		in.request.limits = (struct limits) { .memory_bytes = G,
						      .swap_bytes = G,
						      .cpu_milli = 1000,
						      .pids = 100 };
		in.request.limit_named[cases[i].index] = true;
		refused(&in, EOPNOTSUPP, cases[i].words);
	}
}

static void default_limit_is_given_up_only_where_the_policy_says(void **state)
{
	struct inputs in = user_inputs(IDS_SUBIDS);
	struct plan *p = make(&in);

	(void)state;
	assert_int_equal(p->degraded, DEGRADED_MEMORY | DEGRADED_SWAP | DEGRADED_PIDS);
	assert_true(p->limits.memory_bytes == LIMIT_NONE);
	assert_true(p->limits.pids == LIMIT_NONE);
	plan_free(p);
	in.policy.allow_degraded &= ~(unsigned)DEGRADED_PIDS;
	refused(&in, EOPNOTSUPP,
		"limit 'pids' of policy 'default' cannot be kept: no cgroup controller 'pids' is at hand here, and the "
		"policy's allow_degraded does not list 'pids'; see 'ohsandbox doctor'");
}

static void no_swap_on_the_host_keeps_a_swap_limit(void **state)
{
	struct inputs in = user_inputs(IDS_SUBIDS);
	struct plan *p;

	(void)state;
	in.host.swap_bytes = 0;
	in.request.limit_named[1] = true;
	p = make(&in);
	assert_false(p->degraded & DEGRADED_SWAP);
	plan_free(p);
}

static void swap_without_accounting_is_named(void **state)
{
	struct inputs in = inputs();

	(void)state;
	in.host.controller[CONTROLLER_MEMORY].swap = false;
	in.request.limit_named[1] = true;
	refused(&in, EOPNOTSUPP,
		"--swap cannot be kept: no swap accounting 'memory' is at hand here; see 'ohsandbox doctor'");
}

static void limits_out_of_range_are_refused(void **state)
{
	struct inputs in = inputs();

	(void)state;
	in.request.limits.memory_bytes = 4096;
	in.request.limit_named[0] = true;
	refused(&in, ERANGE, "limit 'memory' of 4096 is outside 4194304 to 9223372036854775807");
	in = inputs();
	in.request.limits.pids = 0;
	in.request.limit_named[3] = true;
	refused(&in, ERANGE, "limit 'pids' of 0 is outside 1 to 4194304");
}

static void way_out_needs_net_admin(void **state)
{
	struct inputs in = user_inputs(IDS_SUBIDS);
	struct plan *p;

	(void)state;
	in.request.net = NET_NAT;
	refused(&in, EPERM,
		"--net nat: a way out needs CAP_NET_ADMIN on the host, which user alice lacks");
	in.request.net = -1;
	in.policy.net = NET_NAT;
	refused(&in, EPERM,
		"policy 'default' asks for network 'nat', which needs CAP_NET_ADMIN on the host, and does not allow "
		"degraded 'network'");
	in.policy.allow_degraded |= DEGRADED_NETWORK;
	p = make(&in);
	assert_int_equal(p->net, NET_NONE);
	assert_true(p->degraded & DEGRADED_NETWORK);
	assert_false(p->veth);
	plan_free(p);
}

static void history_alone_is_shown_where_there_is_a_way_out(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.net = NET_NAT;
	p = make(&in);
	assert_true(p->reachable_objects);
	plan_free(p);
	in.policy.git_objects = GIT_OBJECTS_ALL;
	p = make(&in);
	assert_false(p->reachable_objects);
	plan_free(p);
}

static void one_id_needs_the_policys_leave(void **state)
{
	struct inputs in = user_inputs(IDS_SINGLE);
	struct plan *p = make(&in);

	(void)state;
	assert_true(p->degraded & DEGRADED_IDS);
	plan_free(p);
	in.policy.allow_degraded &= ~(unsigned)DEGRADED_IDS;
	refused(&in, EPERM,
		"user alice has no range in /etc/subuid and /etc/subgid that newuidmap would map, and policy 'default' "
		"does not allow degraded 'ids': run 'usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "
		"alice' as root");
}

static void agent_is_the_policys_user_and_root_is_root(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.user = TEXT("agent");
	p = make(&in);
	assert_string_equal(p->user.name, "openhands");
	assert_false(p->as_root);
	plan_free(p);
	in.request.user = TEXT("root");
	p = make(&in);
	assert_true(p->as_root);
	assert_int_equal(p->user.uid, 0);
	assert_string_equal(strv_env_get(p->env, "HOME"), "/root");
	assert_string_equal(strv_env_get(p->env, "SUDO_UID"), "1000");
	plan_free(p);
	in.policy.root_allowed = false;
	refused(&in, EPERM, "--user root: policy 'default' does not allow root");
	in.request.user = TEXT("bob");
	refused(&in, EINVAL,
		"--user bob: a session has the users 'openhands' (also called 'agent') and 'root'");
}

static void environment_starts_empty(void **state)
{
	static const char *const names[] = {
		"PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "TZ"
	};
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	assert_int_equal(setenv("SECRET_OF_THE_CALLER", "1", 1), 0);
	p = make(&in);
	assert_int_equal(strv_len(p->env), ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_non_null(strv_env_get(p->env, names[i]));
	assert_string_equal(strv_env_get(p->env, "PATH"),
			    "/home/openhands/.local/bin:/usr/local/sbin:/usr/local/bin:"
			    "/usr/sbin:/usr/bin:/sbin:/bin");
	plan_free(p);
}

static void the_callers_variables_win_over_the_policys(void **state)
{
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.policy.env = (char *[]) { TEXT("A=policy"), TEXT("B=policy"), NULL };
	in.request.host_env = (char *[]) { TEXT("A=host"), TEXT("TZ=Europe/Rome"), NULL };
	in.request.env = (char *[]) { TEXT("B="), TEXT("C=a=b"), NULL };
	in.request.toolchain_path = (char *[]) { TEXT("/t/bin"), NULL };
	p = make(&in);
	assert_string_equal(strv_env_get(p->env, "A"), "policy");
	assert_string_equal(strv_env_get(p->env, "B"), "");
	assert_string_equal(strv_env_get(p->env, "C"), "a=b");
	assert_string_equal(strv_env_get(p->env, "TZ"), "Europe/Rome");
	assert_true(str_starts(strv_env_get(p->env, "PATH"),
			       "/home/openhands/.local/bin:/t/bin:/usr/local/sbin"));
	plan_free(p);
}

static void variables_without_a_name_are_refused(void **state)
{
	struct inputs in = inputs();

	(void)state;
	in.request.env = (char *[]) { TEXT("=x"), NULL };
	refused(&in, EINVAL, "environment: '' is not a name of a variable");
	in.request.env = (char *[]) { TEXT("A B=x"), NULL };
	refused(&in, EINVAL, "environment: 'A B' is not a name of a variable");
	in.request.env = (char *[]) { TEXT("AB"), NULL };
	refused(&in, EINVAL, "environment 'AB': no '=' in it");
}

static void directory_is_below_the_workspace_or_absolute(void **state)
{
	static const struct {
		const char *workdir, *subdir, *cwd;
	} cases[] = {
		{ NULL, "a/b", "/workspace/a/b" },
		{ "c", "a/b", "/workspace/c" },
		{ "/tmp", "a", "/tmp" },
		{ NULL, "", "/workspace" },
	};
	struct inputs in = inputs();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan *p;

		in.request.workdir = cases[i].workdir ? strdup(cases[i].workdir) : NULL;
		in.request.subdir = strdup(cases[i].subdir);
		p = make(&in);
		assert_string_equal(p->cwd, cases[i].cwd);
		plan_free(p);
		free(in.request.workdir);
		free(in.request.subdir);
	}
	in.request.subdir = NULL;
	in.request.workdir = TEXT("/a/../b");
	refused(&in, EINVAL, "--workdir /a/../b: '..' is not taken, name the directory inside");
}

static void hostnames_are_checked(void **state)
{
	struct inputs in = inputs();

	(void)state;
	in.request.hostname = TEXT("-x");
	refused(&in, EINVAL, "hostname '-x': letters, digits and inner hyphens, 1 to 63 of them");
	in.request.hostname = TEXT("a b");
	refused(&in, EINVAL, "hostname 'a b': letters, digits and inner hyphens, 1 to 63 of them");
}

static void hosts_that_cannot_are_refused(void **state)
{
	struct inputs in = inputs();

	(void)state;
	in.host.kernel_major = 5;
	in.host.kernel_minor = 10;
	refused(&in, ENOSYS, "kernel 5.10 is too old: sessions need Linux 5.12 or later");
	in = inputs();
	in.host.user_namespaces = false;
	refused(&in, EPERM,
		"user namespaces are switched off on this host: 'ohsandbox doctor' names the setting and the cure");
	in = inputs();
	in.host.without_pidfds = true;
	refused(&in, ENOSYS,
		"pidfd_open and pidfd_send_signal, by which a session is ended, are refused here: "
		"run ohsandbox outside of the container or filter that does it");
}

static void mounts_are_layers_unless_read_only_or_files(void **state)
{
	struct policy_mount mounts[] = {
		{ .host = TEXT("/a"), .inside = TEXT("/in/a"), .owner_ids = true },
		{ .host = TEXT("/b"), .inside = TEXT("/in/b"), .mode = MOUNT_MODE_RO },
		{ .host = TEXT("/c"), .inside = TEXT("/in/c"), .is_file = true, .plain_ids = true },
	};
	struct inputs in = inputs();
	struct plan *p;

	(void)state;
	in.request.mounts = mounts;
	in.request.n_mounts = ARRAY_LEN(mounts);
	p = make(&in);
	assert_int_equal(step_at(p, "/in/a")->kind, MOUNT_OVERLAY);
	assert_string_equal(step_at(p, "/in/a")->layer, "mount-0");
	assert_int_equal(step_at(p, "/in/a")->lower_ids, MOUNT_IDS_OWNER);
	assert_int_equal(step_at(p, "/in/b")->kind, MOUNT_BIND);
	assert_int_equal(step_at(p, "/in/b")->flags, MOUNT_RO | MOUNT_GIVEN);
	assert_int_equal(step_at(p, "/in/c")->kind, MOUNT_BIND);
	assert_int_equal(step_at(p, "/in/c")->lower_ids, MOUNT_IDS_PLAIN);
	plan_free(p);
}

static void same_inputs_give_the_same_plan(void **state)
{
	struct inputs in = inputs();
	struct plan *one = make(&in), *two = make(&in);
	autobuf struct buf a = { 0 }, b = { 0 };

	(void)state;
	plan_show(one, &a);
	plan_show(two, &b);
	assert_string_equal(buf_str(&a), buf_str(&b));
	plan_free(one);
	plan_free(two);
}

static void shown_plan_is_json_without_values_of_variables(void **state)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	autojson struct json_doc *doc = NULL;
	autobuf struct buf out = { 0 };
	struct inputs in = inputs();
	struct err e = { 0 };
	struct plan *p;

	(void)state;
	in.request.env = (char *[]) { TEXT("TOKEN=hunter2"), NULL };
	in.request.argv = (char *[]) { TEXT("make"), TEXT("\"quoted\""), NULL };
	p = make(&in);
	plan_show(p, &out);
	assert_ok(json_parse(buf_str(&out), out.len, &limits, &doc, &e));
	assert_non_null(strstr(buf_str(&out), "TOKEN"));
	assert_null(strstr(buf_str(&out), "hunter2"));
	plan_free(p);
}

static void added_step_comes_last_with_texts_of_its_own(void **state)
{
	struct inputs in = inputs();
	struct plan *p = make(&in);
	char target[] = "/run/ohsandbox/objects/0";
	struct mount_step step = mount_step_new(MOUNT_BIND, target, "/x");
	struct err e = { 0 };

	(void)state;
	assert_ok(plan_add_mount(p, &step, &e));
	target[1] = 'X';
	assert_string_equal(p->mounts[p->n_mounts - 1].target, "/run/ohsandbox/objects/0");
	plan_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_gets_every_wall),
		cmocka_unit_test(root_directory_comes_first_and_proc_after_all_mounts),
		cmocka_unit_test(root_writes_host_directories_in_layers),
		cmocka_unit_test(read_only_host_directories_show_what_everybody_may_read),
		cmocka_unit_test(without_idmapped_mounts_host_directories_are_read_only),
		cmocka_unit_test(named_root_is_one_layer_and_nothing_of_the_hosts_is_seen),
		cmocka_unit_test(shell_of_a_named_root_is_the_users),
		cmocka_unit_test(run_with_a_way_out_and_a_root_can_install),
		cmocka_unit_test(programs_of_ours_are_seen_in_every_kind_of_usr),
		cmocka_unit_test(a_sudo_of_the_hosts_is_covered_where_it_cannot_be_replaced),
		cmocka_unit_test(kept_layers_are_not_volatile),
		cmocka_unit_test(nothing_of_the_hosts_is_mounted_but_what_is_listed),
		cmocka_unit_test(shared_memory_is_sized_from_the_limit),
		cmocka_unit_test(memory_limit_fits_the_machine),
		cmocka_unit_test(named_limit_that_cannot_be_kept_is_refused_by_name),
		cmocka_unit_test(default_limit_is_given_up_only_where_the_policy_says),
		cmocka_unit_test(no_swap_on_the_host_keeps_a_swap_limit),
		cmocka_unit_test(swap_without_accounting_is_named),
		cmocka_unit_test(limits_out_of_range_are_refused),
		cmocka_unit_test(way_out_needs_net_admin),
		cmocka_unit_test(history_alone_is_shown_where_there_is_a_way_out),
		cmocka_unit_test(one_id_needs_the_policys_leave),
		cmocka_unit_test(agent_is_the_policys_user_and_root_is_root),
		cmocka_unit_test(environment_starts_empty),
		cmocka_unit_test(the_callers_variables_win_over_the_policys),
		cmocka_unit_test(variables_without_a_name_are_refused),
		cmocka_unit_test(directory_is_below_the_workspace_or_absolute),
		cmocka_unit_test(hostnames_are_checked),
		cmocka_unit_test(hosts_that_cannot_are_refused),
		cmocka_unit_test(mounts_are_layers_unless_read_only_or_files),
		cmocka_unit_test(same_inputs_give_the_same_plan),
		cmocka_unit_test(shown_plan_is_json_without_values_of_variables),
		cmocka_unit_test(added_step_comes_last_with_texts_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
