/* SPDX-License-Identifier: MIT */
/* obey.c - an executor whose server was taken over: it does what an attacker in it would try. Linked
 * in place of the executor's own table of routes; never installed.
 *
 *	POST /obey "calls"		every call that would lead on, each with arguments that do no
 *					harm: "reached: NAME" for those that the filter let through
 *	POST /obey "reconnect PORT"	what an accepted socket of the host's network would be good for:
 *					every descriptor is disconnected, then connected to the host's
 *					PORT, and given to whoever listens on any other
 *
 * Linked with -Wl,--wrap=cage_server it is the negative control: the same server without its filter. */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/cage.h"
#include "sandbox/executor/route.h"

#define DESCRIPTORS 64

/* Named by --wrap. */
int __wrap_cage_server(int link, struct err *e);

int __wrap_cage_server(int link, struct err *e)
{
	(void)link;
	(void)e;
	return 0;
}

static const struct sockaddr_in nowhere = { .sin_family = AF_INET };
static const long address = (long)(uintptr_t)&nowhere;

/* A descriptor of -1 or a path that is not there: what is reached fails, and not with EPERM. */
static const struct {
	const char *name;
	long number, args[6];
} calls[] = {
	{ "socket", SYS_socket, { AF_UNIX, -1 } },
	{ "socketpair", SYS_socketpair, { AF_UNIX, -1 } },
	{ "connect", SYS_connect, { -1, address, sizeof(nowhere) } },
	{ "bind", SYS_bind, { -1, address, sizeof(nowhere) } },
	{ "listen", SYS_listen, { -1, 1 } },
	{ "sendmsg", SYS_sendmsg, { -1 } },
	{ "sendmmsg", SYS_sendmmsg, { -1 } },
	{ "sendto an address", SYS_sendto, { -1, 0, 0, MSG_FASTOPEN, address, sizeof(nowhere) } },
	{ "sendto the address 0", SYS_sendto, { -1, 0, 0, MSG_FASTOPEN, 0, sizeof(nowhere) } },
	{ "recvmsg of any socket", SYS_recvmsg, { -1 } },
	{ "getsockname", SYS_getsockname, { -1 } },
	{ "setsockopt", SYS_setsockopt, { -1, SOL_SOCKET, SO_REUSEPORT } },
	{ "execve", SYS_execve, { (long)(uintptr_t) "/nonexistent" } },
	{ "execveat", SYS_execveat, { -1, (long)(uintptr_t) "", 0, 0, 0x1000 } },
	{ "clone", SYS_clone, { CLONE_SIGHAND } },
	{ "clone3", SYS_clone3, { 0 } },
	{ "openat", SYS_openat, { -1, (long)(uintptr_t) "x" } },
	{ "openat2", SYS_openat2, { -1 } },
	{ "readlinkat", SYS_readlinkat, { -1, (long)(uintptr_t) "x" } },
	{ "memfd_create", SYS_memfd_create, { 0 } },
	{ "dup", SYS_dup, { -1 } },
	{ "dup3", SYS_dup3, { -1 } },
	{ "fcntl(F_DUPFD)", SYS_fcntl, { -1 } },
	{ "mmap of code", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1 } },
	{ "mprotect", SYS_mprotect, { 1, 4096, PROT_READ | PROT_EXEC } },
	{ "pkey_mprotect", SYS_pkey_mprotect, { 1, 4096, PROT_READ | PROT_EXEC, -1 } },
	{ "ptrace", SYS_ptrace, { PTRACE_SEIZE, 0x7fffffff } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0x7fffffff } },
	{ "pidfd_open", SYS_pidfd_open, { 0x7fffffff } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1 } },
	{ "kill", SYS_kill, { 0x7fffffff } },
	{ "setns", SYS_setns, { -1 } },
	{ "unshare", SYS_unshare, { 1 } },
	{ "prctl", SYS_prctl, { -1 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0 } },
	{ "io_submit", SYS_io_submit, { 0 } },
	{ "ioctl", SYS_ioctl, { -1, 0x5412 /* TIOCSTI */ } },
	{ "bpf", SYS_bpf, { -1 } },
	{ "keyctl", SYS_keyctl, { -1 } },
};

static void try_calls(struct buf *out)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const long *a = calls[i].args;
		long r = syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);

		if (r >= 0 || errno != EPERM)
			buf_printf(out, "reached: %s (%s)\n", calls[i].name,
				   r < 0 ? strerror(errno) : "it succeeded");
	}
	buf_printf(out, "tried: %zu\n", sizeof(calls) / sizeof(calls[0]));
}

static void try_pass(int from, int fd)
{
	union {
		struct cmsghdr head; /* for its alignment */
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { .iov_base = (char[]) { "x" }, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	(void)!sendmsg(from, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void try_reconnect(unsigned short port, struct buf *out)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	const struct sockaddr *target = (const struct sockaddr *)&to;

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		(void)!connect(fd, &none, sizeof(none));
		if (connect(fd, target, sizeof(to)) == 0 || errno == EINPROGRESS)
			buf_printf(out, "connected: descriptor %d\n", fd);
		(void)!sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, target, sizeof(to));
	}
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		for (int other = 0; other < DESCRIPTORS; other++)
			try_pass(fd, other);
	buf_puts(out, "tried\n");
}

static void post_obey(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf out = { 0 };

	(void)s;
	if (len >= 9 && memcmp(body, "reconnect", 9) == 0)
		try_reconnect((unsigned short)atoi(body + 9), &out);
	else
		try_calls(&out);
	conn_reply(c, 200, "text/plain", buf_str(&out), out.len);
}

static void get_alive(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, "text/plain", "ok", 2);
}

const struct route routes[] = {
	{ "GET", "/alive", true, 0, .handle = get_alive },
	{ "POST", "/obey", false, 64, .handle = post_obey },
};
const size_t routes_count = sizeof(routes) / sizeof(routes[0]);
