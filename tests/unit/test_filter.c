/* SPDX-License-Identifier: MIT */
/* test_filter.c - what the workload's filter answers, call by call, asked of the program itself. */
#include "unit.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/filter.h"
#include "plan/filter_join.h"
#include "plan/policy.h"

#if defined(__x86_64__)
#include <linux/audit.h>
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#include <linux/audit.h>
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW SECCOMP_RET_ALLOW
#define ERROR(n) (SECCOMP_RET_ERRNO | (n))
#define HIGH ((uint64_t)1 << 32) /* a bit the kernel does not look at in an int */

struct built {
	struct sock_filter *program;
	size_t len;
};

static struct policy *load(const char *name)
{
	autofree char *path = NULL;
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_true(asprintf(&path, "%s/policy/%s.json", getenv("OHS_SRCDIR"), name) > 0);
	assert_ok(setenv("OHS_POLICY_DIR", "/nonexistent", 1));
	path[strrchr(path, '/') - path] = '\0';
	assert_ok(setenv("OHS_POLICY_DIR", path, 1));
	assert_ok(policy_load(name, &p, &e));
	return p;
}

static struct built build(const char *name, bool single_id)
{
	struct policy *p = load(name);
	struct built b = { 0 };
	struct err e = { 0 };

	assert_ok(filter_build(p, single_id, &b.program, &b.len, &e));
	policy_free(p);
	return b;
}

static uint32_t ask(const struct built *b, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = OWN_ARCH, .args = { a0, a1, a2 } };

	return bpf_run(b->program, b->len, &data, sizeof(data));
}

static void default_policy_lets_programs_work(void **state)
{
	static const int calls[] = { SYS_read,	     SYS_write,	 SYS_openat,	 SYS_execve,
				     SYS_mmap,	     SYS_futex,	 SYS_exit_group, SYS_wait4,
				     SYS_getrandom,  SYS_ptrace, SYS_pidfd_open, SYS_statx,
				     SYS_epoll_wait, SYS_rseq,	 SYS_prctl };
	struct built b = build("default", false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(ask(&b, calls[i], 0, 0, 0), ALLOW);
	free(b.program);
}

static void known_but_not_allowed_calls_get_eperm(void **state)
{
	static const int calls[] = {
		SYS_mount,	SYS_umount2,	      SYS_bpf,	       SYS_perf_event_open,
		SYS_add_key,	SYS_keyctl,	      SYS_request_key, SYS_userfaultfd,
		SYS_kexec_load, SYS_init_module,      SYS_pivot_root,  SYS_chroot,
		SYS_fsopen,	SYS_open_tree,	      SYS_move_mount,  SYS_reboot,
		SYS_swapon,	SYS_settimeofday,     SYS_sethostname, SYS_pidfd_getfd,
		SYS_setns,	SYS_open_by_handle_at
	};
	struct built b = build("default", false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(ask(&b, calls[i], 0, 0, 0), ERROR(EPERM));
	free(b.program);
}

static void unknown_numbers_get_enosys(void **state)
{
	struct built b = build("default", false);

	(void)state;
	for (int nr = 500; nr < 1100; nr++)
		assert_int_equal(ask(&b, nr, 0, 0, 0), ERROR(ENOSYS));
#if defined(__x86_64__)
	assert_int_equal(ask(&b, 400, 0, 0, 0), ERROR(ENOSYS)); /* a hole in the table */
#endif
	free(b.program);
}

static void calls_that_programs_do_without_get_enosys(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_clone3, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(&b, SYS_io_uring_setup, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(&b, SYS_io_uring_enter, 0, 0, 0), ERROR(ENOSYS));
	free(b.program);
}

static void sync_of_the_host_is_only_pretended(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_sync, 0, 0, 0), ERROR(0));
	free(b.program);
}

static void foreign_abis_are_killed(void **state)
{
	struct built b = build("default", false);
	struct seccomp_data i386 = { .nr = 4, .arch = AUDIT_ARCH_I386 };

	(void)state;
	assert_int_equal(bpf_run(b.program, b.len, &i386, sizeof(i386)), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
	assert_int_equal(ask(&b, 0x40000000 | SYS_read, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(ask(&b, 0x40000000 | 0x3fff, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
#endif
	free(b.program);
}

static const uint64_t namespaces[] = { CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
				       CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET };

static void no_namespace_can_be_made(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_clone, SIGCHLD, 0, 0), ALLOW);
	assert_int_equal(
		ask(&b, SYS_clone, CLONE_VM | CLONE_FS | CLONE_THREAD | CLONE_SIGHAND, 0, 0),
		ALLOW);
	assert_int_equal(ask(&b, SYS_unshare, CLONE_FS | CLONE_FILES, 0, 0), ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		assert_int_equal(ask(&b, SYS_clone, namespaces[i] | SIGCHLD, 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_clone, namespaces[i] | HIGH, 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_unshare, namespaces[i], 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_unshare, namespaces[i] | CLONE_FS | HIGH, 0, 0),
				 ERROR(EPERM));
	}
	assert_int_equal(ask(&b, SYS_unshare, 0x80 /* CLONE_NEWTIME */, 0, 0), ERROR(EPERM));
	free(b.program);
}

static void nested_policy_lets_namespaces_be_made(void **state)
{
	struct built b = build("nested", false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
		assert_int_equal(ask(&b, SYS_clone, namespaces[i] | SIGCHLD, 0, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_setns, 3, 0, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_clone3, 0, 0, 0), ERROR(ENOSYS));
	free(b.program);
}

static void terminal_injection_is_refused_whatever_the_high_bits(void **state)
{
	static const uint64_t calls[] = { TIOCSTI, TIOCLINUX, TIOCSETD };
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_ioctl, 0, TCGETS, 0), ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		for (unsigned bit = 32; bit < 64; bit++) {
			assert_int_equal(ask(&b, SYS_ioctl, 0, calls[i], 0), ERROR(EPERM));
			assert_int_equal(ask(&b, SYS_ioctl, 0, calls[i] | (uint64_t)1 << bit, 0),
					 ERROR(EPERM));
		}
	free(b.program);
}

static void protocols_on_top_of_tcp_are_refused(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_setsockopt, 3, 6, 31), ERROR(ENOPROTOOPT));
	assert_int_equal(ask(&b, SYS_setsockopt, 3, 6 | HIGH, 31 | HIGH), ERROR(ENOPROTOOPT));
	assert_int_equal(ask(&b, SYS_setsockopt, 3, 6, 1 /* TCP_NODELAY */), ALLOW);
	assert_int_equal(ask(&b, SYS_setsockopt, 3, 1, 31), ALLOW);
	free(b.program);
}

static bool family_may(uint64_t family, uint64_t type, uint64_t protocol)
{
	bool inet = family == AF_INET || family == AF_INET6;

	if (family == AF_UNIX)
		return protocol == 0 &&
		       (type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET);
	if (family == AF_NETLINK)
		return protocol == 0 && (type == SOCK_RAW || type == SOCK_DGRAM);
	if (inet && type == SOCK_STREAM)
		return protocol == 0 || protocol == 6;
	if (inet && type == SOCK_DGRAM)
		return protocol == 0 || protocol == 17 || protocol == (family == AF_INET ? 1 : 58);
	return false;
}

static void socket_families_are_those_four(void **state)
{
	static const uint64_t flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK | SOCK_CLOEXEC, HIGH };
	struct built b = build("default", false);

	(void)state;
	for (uint64_t family = 0; family < 64; family++)
		for (uint64_t type = 0; type < 16; type++)
			for (uint64_t protocol = 0; protocol < 300; protocol++)
				for (size_t i = 0; i < ARRAY_LEN(flags); i++)
					assert_int_equal(ask(&b, SYS_socket,
							     family | (i ? HIGH : 0),
							     type | flags[i], protocol),
							 family_may(family, type, protocol)
								 ? ALLOW
								 : ERROR(EAFNOSUPPORT));
	free(b.program);
}

static void only_local_sockets_come_in_pairs(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_socketpair, AF_TIPC, SOCK_STREAM, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(&b, SYS_socketpair, AF_UNIX | HIGH, SOCK_DGRAM, 0),
			 ALLOW); /* the same int */
	free(b.program);
}

static void core_limit_cannot_be_changed(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_setrlimit, RLIMIT_NOFILE, 1, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_setrlimit, RLIMIT_CORE, 1, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_setrlimit, RLIMIT_CORE | HIGH, 1, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_prlimit64, 0, RLIMIT_CORE, 0x7fff0000), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_prlimit64, 0, RLIMIT_CORE | HIGH, 0x7fff0000), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_prlimit64, 0, RLIMIT_CORE, 0), ALLOW); /* it may be read */
	assert_int_equal(ask(&b, SYS_prlimit64, 0, RLIMIT_NOFILE, 0x7fff0000), ALLOW);
	free(b.program);
}

static void limits_of_others_cannot_be_set(void **state)
{
	struct built b = build("default", false);

	(void)state;
	for (uint64_t pid = 1; pid < 4; pid++) {
		assert_int_equal(ask(&b, SYS_prlimit64, pid, RLIMIT_CPU, 0x7fff0000), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_prlimit64, pid, RLIMIT_CPU, HIGH), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_prlimit64, pid, RLIMIT_CPU, 0), ALLOW);
		assert_int_equal(ask(&b, SYS_sched_setscheduler, pid, 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_sched_setparam, pid, 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_sched_setattr, pid, 0, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_setpriority, PRIO_PROCESS, pid, 0), ERROR(EPERM));
		assert_int_equal(ask(&b, SYS_ioprio_set, 1, pid, 0), ERROR(EPERM));
	}
	assert_int_equal(ask(&b, SYS_setpriority, PRIO_USER, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_setpriority, PRIO_USER | HIGH, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_setpriority, PRIO_PROCESS, 0, 5), ALLOW);
	assert_int_equal(ask(&b, SYS_ioprio_set, 3, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_sched_setaffinity, 1, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_sched_setaffinity, 2 | HIGH, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_sched_setaffinity, 77, 0, 0), ALLOW); /* a thread of its own */
	free(b.program);
}

static void old_personalities_are_refused(void **state)
{
	struct built b = build("default", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_personality, 0xffffffff, 0, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_personality, 0x40000, 0, 0), ALLOW);
	assert_int_equal(ask(&b, SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */, 0, 0),
			 ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_personality, 6, 0, 0), ERROR(EPERM));
	free(b.program);
}

static void with_one_id_the_server_gets_no_signal(void **state)
{
	static const uint64_t shut[] = { 2,
					 3,
					 (uint32_t)-2,
					 (uint64_t)-2,
					 (uint64_t)-3,
					 (uint32_t)-1,
					 (uint64_t)-1,
					 2 | HIGH,
					 3 | HIGH };
	struct built one = build("default", true), many = build("default", false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shut); i++) {
		assert_int_equal(ask(&one, SYS_kill, shut[i], SIGKILL, 0), ERROR(EPERM));
		assert_int_equal(ask(&many, SYS_kill, shut[i], SIGKILL, 0),
				 ALLOW); /* the ids refuse it */
	}
	assert_int_equal(ask(&one, SYS_kill, 4, SIGKILL, 0), ALLOW);
	assert_int_equal(ask(&one, SYS_kill, (uint64_t)-4, SIGKILL, 0), ALLOW);
	assert_int_equal(ask(&one, SYS_kill, 0, SIGKILL, 0), ALLOW);
	assert_int_equal(ask(&one, SYS_sched_setaffinity, 3, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&many, SYS_sched_setaffinity, 3, 0, 0), ALLOW);
	assert_int_equal(ask(&one, SYS_tkill, 2, SIGKILL, 0), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_tkill, 3, SIGKILL, 0), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_tgkill, 3, 3, SIGKILL), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_tgkill, 9, 2, SIGKILL), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_tgkill, 2, 9, SIGKILL), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_rt_sigqueueinfo, 2, SIGKILL, 0), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_rt_tgsigqueueinfo, 9, 2, SIGKILL), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_pidfd_open, 2, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_pidfd_send_signal, 5, SIGKILL, 0), ERROR(ENOSYS));
	assert_int_equal(ask(&one, SYS_fcntl, 5, 8 /* F_SETOWN */, 2), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_fcntl, 5, 15 | HIGH, 2), ERROR(EPERM));
	assert_int_equal(ask(&one, SYS_fcntl, 5, F_SETFL, 2), ALLOW);
	assert_int_equal(ask(&one, SYS_ioctl, 5, 0x8901, 2), ERROR(EPERM));
	free(one.program);
	free(many.program);
}

static void a_refusal_wins_over_what_is_allowed(void **state)
{
	struct built b = build("strict", false);

	(void)state;
	assert_int_equal(ask(&b, SYS_ptrace, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(&b, SYS_vmsplice, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(&b, SYS_read, 0, 0, 0), ALLOW);
	free(b.program);
}

/* Of every call that the library knows, the answer to one with no arguments set. A change of this
 * table is a change of the wall: look at it, then write it anew with OHS_WRITE_TABLE=FILE. */
static void every_call_answers_as_the_table_says(void **state)
{
	autofree char *path = NULL;
	struct built b = build("default", false);
	const char *rewrite = getenv("OHS_WRITE_TABLE");
	char name[64];
	FILE *table;
	unsigned nr, answer;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	if (rewrite) {
		table = fopen(rewrite, "we");
		assert_non_null(table);
		for (nr = 0; nr < 450; nr++) {
			char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr);

			if (known)
				(void)fprintf(table, "%u %s 0x%x\n", nr, known,
					      ask(&b, (int)nr, 0, 0, 0));
			free(known);
		}
		assert_int_equal(fclose(table), 0);
	}
	assert_true(asprintf(&path, "%s/tests/unit/filter-default-x86_64", getenv("OHS_SRCDIR")) >
		    0);
	table = fopen(path, "re");
	assert_non_null(table);
	while (fscanf(table, "%u %63s %x", &nr, name, &answer) == 3)
		if (ask(&b, (int)nr, 0, 0, 0) != answer)
			fail_msg("call %u (%s) answers 0x%x, the table says 0x%x", nr, name,
				 ask(&b, (int)nr, 0, 0, 0), answer);
	(void)fclose(table);
	free(b.program);
}

static void filter_out_of_the_cache_is_the_one_that_was_built(void **state)
{
	struct scratch *s = *state;
	autobuf struct buf first = { 0 }, second = { 0 };
	struct policy *p = load("default");
	autoclose int one = -1, two = -1;
	struct err e = { 0 };

	assert_ok(filter_bytes(p, false, s->dir, &one, &e));
	assert_ok(filter_bytes(p, false, s->dir, &two, &e));
	assert_ok(io_read_all(one, 1 << 20, &first, &e));
	assert_ok(io_read_all(two, 1 << 20, &second, &e));
	assert_true(first.len > 0 && first.len % 8 == 0);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	policy_free(p);
}

static void filter_is_sealed(void **state)
{
	struct policy *p = load("default");
	autoclose int filter = -1;
	struct err e = { 0 };

	(void)state;
	assert_ok(filter_bytes(p, false, -1, &filter, &e));
	assert_int_equal(fcntl(filter, F_GET_SEALS),
			 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(pwrite(filter, "x", 1, 0), -1);
	policy_free(p);
}

static void cached_file_that_is_no_filter_is_made_anew(void **state)
{
	struct scratch *s = *state;
	struct policy *p = load("default");
	autoclose int one = -1, two = -1;
	autobuf struct buf first = { 0 }, second = { 0 };
	struct err e = { 0 };
	char command[200];

	assert_ok(filter_bytes(p, false, s->dir, &one, &e));
	(void)snprintf(command, sizeof(command), "for f in %s/filter-*; do printf abc > $f; done",
		       s->path);
	assert_int_equal(system(command), 0);
	assert_ok(filter_bytes(p, false, s->dir, &two, &e));
	assert_ok(io_read_all(one, 1 << 20, &first, &e));
	assert_ok(io_read_all(two, 1 << 20, &second, &e));
	assert_int_equal(first.len, second.len);
	policy_free(p);
}

static void policy_and_one_id_make_filters_of_their_own(void **state)
{
	struct scratch *s = *state;
	struct policy *p = load("default"), *strict = load("strict");
	autoclose int a = -1, b = -1, c = -1;
	autobuf struct buf one = { 0 }, two = { 0 }, three = { 0 };
	struct err e = { 0 };

	assert_ok(filter_bytes(p, false, s->dir, &a, &e));
	assert_ok(filter_bytes(p, true, s->dir, &b, &e));
	assert_ok(filter_bytes(strict, false, s->dir, &c, &e));
	assert_ok(io_read_all(a, 1 << 20, &one, &e));
	assert_ok(io_read_all(b, 1 << 20, &two, &e));
	assert_ok(io_read_all(c, 1 << 20, &three, &e));
	assert_true(one.len != two.len && one.len != three.len);
	policy_free(p);
	policy_free(strict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_policy_lets_programs_work),
		cmocka_unit_test(known_but_not_allowed_calls_get_eperm),
		cmocka_unit_test(unknown_numbers_get_enosys),
		cmocka_unit_test(calls_that_programs_do_without_get_enosys),
		cmocka_unit_test(sync_of_the_host_is_only_pretended),
		cmocka_unit_test(foreign_abis_are_killed),
		cmocka_unit_test(no_namespace_can_be_made),
		cmocka_unit_test(nested_policy_lets_namespaces_be_made),
		cmocka_unit_test(terminal_injection_is_refused_whatever_the_high_bits),
		cmocka_unit_test(protocols_on_top_of_tcp_are_refused),
		cmocka_unit_test(socket_families_are_those_four),
		cmocka_unit_test(only_local_sockets_come_in_pairs),
		cmocka_unit_test(core_limit_cannot_be_changed),
		cmocka_unit_test(limits_of_others_cannot_be_set),
		cmocka_unit_test(old_personalities_are_refused),
		cmocka_unit_test(with_one_id_the_server_gets_no_signal),
		cmocka_unit_test(a_refusal_wins_over_what_is_allowed),
		cmocka_unit_test(every_call_answers_as_the_table_says),
		scratch_test(filter_out_of_the_cache_is_the_one_that_was_built),
		cmocka_unit_test(filter_is_sealed),
		scratch_test(cached_file_that_is_no_filter_is_made_anew),
		scratch_test(policy_and_one_id_make_filters_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
