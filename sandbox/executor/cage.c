/* SPDX-License-Identifier: MIT */
/* cage.c - see cage.h.
 *
 * A table row is a call and at most two conditions on its arguments; rows of the same call are
 * alternatives. Arguments are compared in full, both halves of the 64 bits: the upper ones of an
 * int are the caller's to set, but no libc sets them, so a call that does is refused. */
#include "sandbox/executor/cage.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sandbox/inside.h"

#if defined(__x86_64__)
#define CAGE_ARCH AUDIT_ARCH_X86_64
#define CAGE_X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define CAGE_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH"
#endif

enum check { ANY, EQUALS, LACKS }; /* LACKS: none of these bits */

struct condition {
	enum check check;
	unsigned arg;
	uint32_t value;
};

struct rule {
	int call;
	struct condition when[2];
};

#define PROGRAM_MAX 512

struct program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short len;
	bool full;
};

static void emit(struct program *p, struct sock_filter instruction)
{
	if (p->len == PROGRAM_MAX)
		p->full = true;
	else
		p->code[p->len++] = instruction;
}

static void load(struct program *p, size_t offset)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* Compare the loaded word; skip `skip` instructions where it does not hold. */
static void require(struct program *p, enum check check, uint32_t value, uint8_t skip)
{
	if (check == EQUALS)
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
	else
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, skip, 0));
}

static unsigned condition_count(const struct rule *r)
{
	return (r->when[0].check != ANY) + (r->when[1].check != ANY);
}

static void emit_rule(struct program *p, const struct rule *r, uint32_t action)
{
	/* A condition is four instructions, the rule ends with one, and where the number matched
	 * and a condition did not, the number is loaded again for the next row. */
	unsigned n = condition_count(r), left = 4 * n + 1;

	require(p, EQUALS, (uint32_t)r->call, (uint8_t)(left + (n ? 1 : 0)));
	for (unsigned i = 0; i < n; i++) {
		const struct condition *c = &r->when[i];
		size_t at = offsetof(struct seccomp_data, args) + c->arg * sizeof(uint64_t);

		load(p, at);
		left -= 2;
		require(p, c->check, c->value, (uint8_t)left);
		load(p, at + sizeof(uint32_t));
		left -= 2;
		require(p, EQUALS, 0, (uint8_t)left);
	}
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
	if (n)
		load(p, offsetof(struct seccomp_data, nr));
}

static void emit_head(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CAGE_ARCH, 1, 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	load(p, offsetof(struct seccomp_data, nr));
#ifdef CAGE_X32_BIT
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CAGE_X32_BIT, 0, 1));
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
#endif
}

static int load_program(const struct sock_filter *code, unsigned short len, struct err *e)
{
	struct sock_fprog program = { .len = len, .filter = (struct sock_filter *)(uintptr_t)code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_errno(e, "seccomp: load a filter of %u instructions", len);
	return 0;
}

static int cage(const struct rule *rules, size_t n, uint32_t matched, uint32_t otherwise,
		struct err *e)
{
	struct program p = { .len = 0 };

	emit_head(&p);
	for (size_t i = 0; i < n; i++)
		emit_rule(&p, &rules[i], matched);
	emit(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise));
	if (p.full)
		return err_code(e, E2BIG, "seccomp: a table of more than %d instructions",
				PROGRAM_MAX);
	return load_program(p.code, p.len, e);
}

#define ALWAYS(name)               \
	{                          \
		.call = SYS_##name \
	}
#define WHEN(name, how, at, what)                                                  \
	{                                                                          \
		.call = SYS_##name, .when = {                                      \
			{ .check = (how), .arg = (at), .value = (uint32_t)(what) } \
		}                                                                  \
	}
#define WHEN2(name, how1, at1, what1, how2, at2, what2)                                \
	{                                                                              \
		.call = SYS_##name, .when = {                                          \
			{ .check = (how1), .arg = (at1), .value = (uint32_t)(what1) }, \
			{ .check = (how2), .arg = (at2), .value = (uint32_t)(what2) }  \
		}                                                                      \
	}

int cage_init(struct err *e)
{
	static const struct rule refused[] = {
		ALWAYS(kexec_load),
		ALWAYS(kexec_file_load),
		ALWAYS(init_module),
		ALWAYS(finit_module),
		ALWAYS(delete_module),
		ALWAYS(reboot),
		ALWAYS(swapon),
		ALWAYS(swapoff),
		ALWAYS(acct),
#ifdef SYS_iopl
		ALWAYS(iopl),
		ALWAYS(ioperm),
#endif
		ALWAYS(open_by_handle_at),
		ALWAYS(quotactl),
		ALWAYS(syslog),
#ifdef SYS_pidfd_getfd
		/* The way to a descriptor of another process: the server's are the host's. */
		ALWAYS(pidfd_getfd),
#endif
	};

	return cage(refused, ARRAY_LEN(refused), SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW, e);
}

int cage_server(int link, struct err *e)
{
	const struct rule allowed[] = {
		ALWAYS(read),
		ALWAYS(write),
		ALWAYS(writev),
		ALWAYS(pread64),
		ALWAYS(close),
#ifdef SYS_epoll_wait
		ALWAYS(epoll_wait),
#endif
		ALWAYS(epoll_pwait),
		ALWAYS(epoll_ctl),
		ALWAYS(accept4),
		ALWAYS(shutdown),
		ALWAYS(clock_gettime),
		ALWAYS(getrandom),
		ALWAYS(fstatfs),
		ALWAYS(getrusage),
		ALWAYS(exit_group),
		ALWAYS(rt_sigreturn),
		ALWAYS(restart_syscall),
		ALWAYS(brk),
		ALWAYS(munmap),
		ALWAYS(madvise),
		WHEN(mmap, LACKS, 2, PROT_EXEC),
		ALWAYS(mremap),
		/* An address would reconnect the socket on the way (MSG_FASTOPEN), to anywhere. */
		WHEN2(sendto, EQUALS, 4, 0, EQUALS, 5, 0),
		WHEN(recvfrom, EQUALS, 0, link),
		WHEN(recvmsg, EQUALS, 0, link),
		WHEN2(setsockopt, EQUALS, 1, IPPROTO_TCP, EQUALS, 2, TCP_NODELAY),
		WHEN2(setsockopt, EQUALS, 1, SOL_SOCKET, EQUALS, 2, SO_RCVBUF),
		WHEN2(getsockopt, EQUALS, 1, SOL_SOCKET, EQUALS, 2, SO_ERROR),
		WHEN(fcntl, EQUALS, 1, F_GETFL),
		WHEN(fcntl, EQUALS, 1, F_SETFL),
		WHEN(ioctl, EQUALS, 1, TIOCSWINSZ),
		WHEN(ioctl, EQUALS, 1, TIOCGPTN),
		WHEN(ioctl, EQUALS, 1, TIOCGPGRP),
		WHEN(ioctl, EQUALS, 1, TCGETS),
		WHEN(ioctl, EQUALS, 1, TCSETSF),
#if OHS_SANITIZED
		/* To end, and to say what was found. */
		ALWAYS(sigaltstack),
		ALWAYS(gettid),
		ALWAYS(futex),
		ALWAYS(sched_yield),
#endif
	};

	return cage(allowed, ARRAY_LEN(allowed), SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM, e);
}

static int check_filter(size_t len, struct err *e)
{
	if (len == 0 || len % sizeof(struct sock_filter) ||
	    len / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return err_code(e, EINVAL, "seccomp: %zu bytes are no filter", len);
	return 0;
}

int cage_workload(const void *bytes, size_t len, struct err *e)
{
	if (check_filter(len, e) < 0)
		return -e->code;
	return load_program(bytes, (unsigned short)(len / sizeof(struct sock_filter)), e);
}

/* The same program, but that it tells of what it would answer with EPERM. */
static struct sock_filter *telling(const void *bytes, size_t len)
{
	struct sock_filter *code = malloc(len);

	if (!code)
		return NULL;
	memcpy(code, bytes, len);
	for (size_t i = 0; i < len / sizeof(*code); i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == (SECCOMP_RET_ERRNO | EPERM))
			code[i].k = SECCOMP_RET_USER_NOTIF;
	return code;
}

int cage_workload_told(const void *bytes, size_t len, int *listener, struct err *e)
{
	/* A caller that waits for its answer is disturbed by no signal but a fatal one: since 5.19. */
	static const unsigned flags[] = { SECCOMP_FILTER_FLAG_NEW_LISTENER | 1u << 5,
					  SECCOMP_FILTER_FLAG_NEW_LISTENER };
	autofree struct sock_filter *code = NULL;
	struct sock_fprog program;

	*listener = -1;
	if (check_filter(len, e) < 0)
		return -e->code;
	code = telling(bytes, len);
	if (!code)
		return err_code(e, ENOMEM, "seccomp: no memory");
	program = (struct sock_fprog) { .len = (unsigned short)(len / sizeof(*code)),
					.filter = code };
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		*listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &program);
		if (*listener >= 0)
			return 0;
	}
	return cage_workload(bytes, len, e);
}
