/* SPDX-License-Identifier: MIT */
/* filter_walls.c - what the workload's filter refuses whatever its policy says, row by row.
 *
 * The executor is pid 1 (init) and pid 2 or 3 (server; see sandbox/inside.h) of the session's pid
 * namespace. */
#include <assert.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "plan/filter.h"
#include "sandbox/inside.h"

#define ANY_NAMESPACE                                                                            \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | (uint64_t)CLONE_NEWUSER | \
	 CLONE_NEWPID | (uint64_t)CLONE_NEWNET)
#define SOCK_FLAGS ((uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))

/* clang-format off */
/* The low 32 bits: the kernel looks at no more of an int. */
#define IS(i, v) { .index = (i), .op = SECCOMP_MASKED_EQ, .value = (uint32_t)(v), .mask = UINT32_MAX }
#define NONE_OF(i, bits) { .index = (i), .op = SECCOMP_MASKED_EQ, .value = 0, .mask = (bits) }
#define TYPE(i, v) { .index = (i), .op = SECCOMP_MASKED_EQ, .value = (v), .mask = UINT32_MAX & ~SOCK_FLAGS }
/* Either pid that the server may have: they differ in the last bit. */
#define SERVER(i) { .index = (i), .op = SECCOMP_MASKED_EQ, .value = INSIDE_PID_SERVER, .mask = UINT32_MAX & ~1u }
/* All 64: where the rule refuses, more than zero in any of them may as well be refused. */
#define NOT_ZERO(i) { .index = (i), .op = SECCOMP_NE, .value = 0, .mask = UINT64_MAX }

#define ROW(what, names, answer, where, reason, ...)                                              \
	{ .calls = names, .action = what, .error = answer, .when = where, .why = reason,          \
	  .args = { __VA_ARGS__ }, .n_args = ARRAY_LEN(((struct seccomp_arg[]){ __VA_ARGS__ })) }
#define REFUSE(names, answer, why, ...) \
	ROW(SECCOMP_REFUSE, names, answer, FILTER_ALWAYS, why, __VA_ARGS__)
#define REFUSE_ONE_ID(names, why, ...) \
	ROW(SECCOMP_REFUSE, names, EPERM, FILTER_SINGLE_ID, why, __VA_ARGS__)
#define SOCKET(family, type, protocol, why)                                                       \
	ROW(SECCOMP_ONLY, "socket", EAFNOSUPPORT, FILTER_ALWAYS, why,                             \
	    IS(0, family), TYPE(1, type), IS(2, protocol))
#define SOCKETPAIR(type, why)                                                                     \
	ROW(SECCOMP_ONLY, "socketpair", EAFNOSUPPORT, FILTER_ALWAYS, why, IS(0, AF_UNIX), TYPE(1, type))
/* clang-format on */

/* Protocols by number: the headers that name them do not agree with each other. */
enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMPV6 = 58, PROTO_ROUTE = 0 };
enum { OPTION_TCP_ULP = 31 };

/* Of fcntl and ioctl: who gets SIGIO, and what signal that is. */
enum { SETOWN = 8, SETSIG = 10, SETOWN_EX = 15, FILE_SETOWN = 0x8901, SOCKET_SETOWN = 0x8902 };

static_assert(INSIDE_PID_SERVER == 2 && INSIDE_PID_SERVER_LAST == 3, "SERVER() means these two");

/* clang-format off */
static const struct filter_wall walls[] = {
	REFUSE("clone3", ENOSYS,
	       "its flags stand in memory, where no filter sees them; libc falls back to clone"),
	ROW(SECCOMP_ONLY, "clone", EPERM, FILTER_UNLESS_NESTED,
	    "a new user namespace opens kernel code that only root reaches otherwise",
	    NONE_OF(0, ANY_NAMESPACE)),
	ROW(SECCOMP_ONLY, "unshare", EPERM, FILTER_UNLESS_NESTED, "the same by another door",
	    NONE_OF(0, ANY_NAMESPACE | CLONE_NEWTIME)),
	ROW(SECCOMP_REFUSE, "setns", EPERM, FILTER_UNLESS_NESTED, "the same by another door"),

	REFUSE("ioctl", EPERM, "types into the terminal of whoever watches", IS(1, TIOCSTI)),
	REFUSE("ioctl", EPERM, "pastes into a console, which is the same", IS(1, TIOCLINUX)),
	REFUSE("ioctl", EPERM, "line disciplines are modems' and buses' code, loaded by asking for it",
	       IS(1, TIOCSETD)),
	REFUSE("setsockopt", ENOPROTOOPT, "TLS and ESP in the kernel, likewise; libraries do it themselves",
	       IS(1, PROTO_TCP), IS(2, OPTION_TCP_ULP)),

	REFUSE("setrlimit", EPERM, "a limit of 0 would let a core_pattern pipe run, as the host's root",
	       IS(0, RLIMIT_CORE)),
	REFUSE("prlimit64", EPERM, "the same", IS(1, RLIMIT_CORE), NOT_ZERO(2)),
	REFUSE("prlimit64", EPERM, "a limit on the executor's CPU time would kill it",
	       NOT_ZERO(0), NOT_ZERO(2)),
	REFUSE("sched_setscheduler sched_setparam sched_setattr", EPERM,
	       "the executor would never run again", NOT_ZERO(0)),
	REFUSE("sched_setaffinity", EPERM,
	       "the executor stays where it is; threads pin themselves by their number", IS(0, INSIDE_PID_INIT)),
	REFUSE("sched_setaffinity", EPERM, "the same", IS(0, INSIDE_PID_SERVER)),
	REFUSE_ONE_ID("sched_setaffinity", "the same", IS(0, INSIDE_PID_SERVER_LAST)),
	REFUSE("setpriority", EPERM, "the executor keeps its priority", NOT_ZERO(1)),
	REFUSE("setpriority", EPERM, "the executor may be of the same user", IS(0, PRIO_USER)),
	REFUSE("ioprio_set", EPERM, "the executor keeps its priority", NOT_ZERO(1)),
	REFUSE("ioprio_set", EPERM, "the executor may be of the same user", IS(0, IOPRIO_WHO_USER)),

	/* Every other family and protocol is kernel code that nobody here needs. */
	SOCKET(AF_UNIX, SOCK_STREAM, 0, "local sockets"),
	SOCKET(AF_UNIX, SOCK_DGRAM, 0, "local sockets"),
	SOCKET(AF_UNIX, SOCK_SEQPACKET, 0, "local sockets"),
	SOCKET(AF_INET, SOCK_STREAM, 0, "TCP"),
	SOCKET(AF_INET, SOCK_STREAM, PROTO_TCP, "TCP"),
	SOCKET(AF_INET, SOCK_DGRAM, 0, "UDP"),
	SOCKET(AF_INET, SOCK_DGRAM, PROTO_UDP, "UDP"),
	SOCKET(AF_INET, SOCK_DGRAM, PROTO_ICMP, "ping without raw sockets"),
	SOCKET(AF_INET6, SOCK_STREAM, 0, "TCP"),
	SOCKET(AF_INET6, SOCK_STREAM, PROTO_TCP, "TCP"),
	SOCKET(AF_INET6, SOCK_DGRAM, 0, "UDP"),
	SOCKET(AF_INET6, SOCK_DGRAM, PROTO_UDP, "UDP"),
	SOCKET(AF_INET6, SOCK_DGRAM, PROTO_ICMPV6, "ping without raw sockets"),
	SOCKET(AF_NETLINK, SOCK_RAW, PROTO_ROUTE,
	       "libc lists addresses by it; nf_tables, xfrm and the like stay shut"),
	SOCKET(AF_NETLINK, SOCK_DGRAM, PROTO_ROUTE, "the same"),
	SOCKETPAIR(SOCK_STREAM, "no other family has pairs that are needed"),
	SOCKETPAIR(SOCK_DGRAM, "the same"),
	SOCKETPAIR(SOCK_SEQPACKET, "the same"),

	/* With one id the kernel lets the workload signal the server; init it protects by itself. */
	REFUSE_ONE_ID("kill", "the server", SERVER(0)),
	REFUSE_ONE_ID("kill", "the server's process group", IS(0, -INSIDE_PID_SERVER)),
	REFUSE_ONE_ID("kill", "the same", IS(0, -INSIDE_PID_SERVER_LAST)),
	REFUSE_ONE_ID("kill", "everybody, so the server too", IS(0, -1)),
	REFUSE_ONE_ID("tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open", "the server",
		      SERVER(0)),
	REFUSE_ONE_ID("tgkill rt_tgsigqueueinfo", "the server", SERVER(1)),
	ROW(SECCOMP_REFUSE, "pidfd_send_signal", ENOSYS, FILTER_SINGLE_ID,
	    "a descriptor says no number; /proc/3 opened is one of the server"),
	REFUSE_ONE_ID("fcntl", "the kernel would send the signal", IS(1, SETOWN)),
	REFUSE_ONE_ID("fcntl", "the same", IS(1, SETSIG)),
	REFUSE_ONE_ID("fcntl", "the same", IS(1, SETOWN_EX)),
	REFUSE_ONE_ID("ioctl", "the same", IS(1, FILE_SETOWN)),
	REFUSE_ONE_ID("ioctl", "the same", IS(1, SOCKET_SETOWN)),
};
/* clang-format on */

const struct filter_wall *filter_walls(size_t *n)
{
	*n = ARRAY_LEN(walls);
	return walls;
}
