/* SPDX-License-Identifier: MIT */
/* filter_walls.c - what the workload's filter refuses whatever its policy says, row by row.
 *
 * The executor is pid 1 (init) and pid 2 (server) of the session's pid namespace. */
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "plan/filter.h"

#define ANY_NAMESPACE                                                                            \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | (uint64_t)CLONE_NEWUSER | \
	 CLONE_NEWPID | (uint64_t)CLONE_NEWNET)

/* The low 32 bits: the kernel looks at no more of an int. */
#define IS(i, v)                                                                                  \
	{                                                                                         \
		.index = (i), .op = SECCOMP_MASKED_EQ, .value = (uint32_t)(v), .mask = UINT32_MAX \
	}
#define NONE_OF(i, bits)                                                          \
	{                                                                         \
		.index = (i), .op = SECCOMP_MASKED_EQ, .value = 0, .mask = (bits) \
	}
#define TYPE(i, v)                                                   \
	{                                                            \
		.index = (i), .op = SECCOMP_MASKED_EQ, .value = (v), \
		.mask = UINT32_MAX & ~SOCK_FLAGS                     \
	}
/* All 64: where the rule refuses, more than zero in any of them may as well be refused. */
#define NOT_ZERO(i)                                                            \
	{                                                                      \
		.index = (i), .op = SECCOMP_NE, .value = 0, .mask = UINT64_MAX \
	}

#define SOCK_FLAGS ((uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
#define SOCKET_OF(family, type, protocol, reason)                                            \
	{                                                                                    \
		"socket", SECCOMP_ONLY, EAFNOSUPPORT,                                        \
			{ IS(0, family), TYPE(1, type), IS(2, protocol) }, 3, FILTER_ALWAYS, \
			reason                                                               \
	}

/* Protocols by number: the headers that name them do not agree with each other. */
enum { PROTO_ICMP = 1, PROTO_TCP = 6, PROTO_UDP = 17, PROTO_ICMPV6 = 58, PROTO_ROUTE = 0 };

enum { INIT_PID = 1, SERVER_PID = 2 };

static const struct filter_wall walls[] = {
	{ "clone3",
	  SECCOMP_REFUSE,
	  ENOSYS,
	  { { 0 } },
	  0,
	  FILTER_ALWAYS,
	  "its flags stand in memory, where no filter sees them; libc falls back to clone" },
	{ "clone",
	  SECCOMP_ONLY,
	  EPERM,
	  { NONE_OF(0, ANY_NAMESPACE) },
	  1,
	  FILTER_UNLESS_NESTED,
	  "a new user namespace opens kernel code that only root reaches otherwise" },
	{ "unshare",
	  SECCOMP_ONLY,
	  EPERM,
	  { NONE_OF(0, ANY_NAMESPACE | CLONE_NEWTIME) },
	  1,
	  FILTER_UNLESS_NESTED,
	  "the same by another door" },
	{ "setns",
	  SECCOMP_REFUSE,
	  EPERM,
	  { { 0 } },
	  0,
	  FILTER_UNLESS_NESTED,
	  "the same by another door" },

	{ "ioctl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, TIOCSTI) },
	  1,
	  FILTER_ALWAYS,
	  "types into the terminal of whoever watches" },
	{ "ioctl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, TIOCLINUX) },
	  1,
	  FILTER_ALWAYS,
	  "pastes into a console, which is the same" },

	{ "setrlimit",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, RLIMIT_CORE) },
	  1,
	  FILTER_ALWAYS,
	  "a limit of 0 would let a core_pattern pipe run, as the host's root" },
	{ "prlimit64",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, RLIMIT_CORE), NOT_ZERO(2) },
	  2,
	  FILTER_ALWAYS,
	  "the same" },
	{ "prlimit64",
	  SECCOMP_REFUSE,
	  EPERM,
	  { NOT_ZERO(0), NOT_ZERO(2) },
	  2,
	  FILTER_ALWAYS,
	  "a limit on the executor's CPU time would kill it" },
	{ "sched_setscheduler sched_setparam sched_setattr",
	  SECCOMP_REFUSE,
	  EPERM,
	  { NOT_ZERO(0) },
	  1,
	  FILTER_ALWAYS,
	  "the executor would never run again" },
	{ "sched_setaffinity",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, INIT_PID) },
	  1,
	  FILTER_ALWAYS,
	  "the executor stays where it is; threads pin themselves by their number" },
	{ "sched_setaffinity",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, SERVER_PID) },
	  1,
	  FILTER_ALWAYS,
	  "the same" },
	{ "setpriority",
	  SECCOMP_REFUSE,
	  EPERM,
	  { NOT_ZERO(1) },
	  1,
	  FILTER_ALWAYS,
	  "the executor keeps its priority" },
	{ "setpriority",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, PRIO_USER) },
	  1,
	  FILTER_ALWAYS,
	  "the executor may be of the same user" },
	{ "ioprio_set",
	  SECCOMP_REFUSE,
	  EPERM,
	  { NOT_ZERO(1) },
	  1,
	  FILTER_ALWAYS,
	  "the executor keeps its priority" },
	{ "ioprio_set",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, IOPRIO_WHO_USER) },
	  1,
	  FILTER_ALWAYS,
	  "the executor may be of the same user" },

	SOCKET_OF(AF_UNIX, SOCK_STREAM, 0, "local sockets"),
	SOCKET_OF(AF_UNIX, SOCK_DGRAM, 0, "local sockets"),
	SOCKET_OF(AF_UNIX, SOCK_SEQPACKET, 0, "local sockets"),
	SOCKET_OF(AF_INET, SOCK_STREAM, 0,
		  "TCP; every other family and protocol is kernel code nobody here needs"),
	SOCKET_OF(AF_INET, SOCK_STREAM, PROTO_TCP, "TCP"),
	SOCKET_OF(AF_INET, SOCK_DGRAM, 0, "UDP"),
	SOCKET_OF(AF_INET, SOCK_DGRAM, PROTO_UDP, "UDP"),
	SOCKET_OF(AF_INET, SOCK_DGRAM, PROTO_ICMP, "ping without raw sockets"),
	SOCKET_OF(AF_INET6, SOCK_STREAM, 0, "TCP"),
	SOCKET_OF(AF_INET6, SOCK_STREAM, PROTO_TCP, "TCP"),
	SOCKET_OF(AF_INET6, SOCK_DGRAM, 0, "UDP"),
	SOCKET_OF(AF_INET6, SOCK_DGRAM, PROTO_UDP, "UDP"),
	SOCKET_OF(AF_INET6, SOCK_DGRAM, PROTO_ICMPV6, "ping without raw sockets"),
	SOCKET_OF(AF_NETLINK, SOCK_RAW, PROTO_ROUTE,
		  "libc lists addresses by it; nf_tables, xfrm and the like stay shut"),
	SOCKET_OF(AF_NETLINK, SOCK_DGRAM, PROTO_ROUTE, "the same"),
	{ "socketpair",
	  SECCOMP_ONLY,
	  EAFNOSUPPORT,
	  { IS(0, AF_UNIX), TYPE(1, SOCK_STREAM) },
	  2,
	  FILTER_ALWAYS,
	  "no other family has pairs that are needed" },
	{ "socketpair",
	  SECCOMP_ONLY,
	  EAFNOSUPPORT,
	  { IS(0, AF_UNIX), TYPE(1, SOCK_DGRAM) },
	  2,
	  FILTER_ALWAYS,
	  "" },
	{ "socketpair",
	  SECCOMP_ONLY,
	  EAFNOSUPPORT,
	  { IS(0, AF_UNIX), TYPE(1, SOCK_SEQPACKET) },
	  2,
	  FILTER_ALWAYS,
	  "" },

	/* With one id the kernel lets the workload signal the server; init it protects by itself. */
	{ "kill", SECCOMP_REFUSE, EPERM, { IS(0, SERVER_PID) }, 1, FILTER_SINGLE_ID, "the server" },
	{ "kill",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, -SERVER_PID) },
	  1,
	  FILTER_SINGLE_ID,
	  "the server's process group" },
	{ "kill",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, -1) },
	  1,
	  FILTER_SINGLE_ID,
	  "everybody, so the server too" },
	{ "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(0, SERVER_PID) },
	  1,
	  FILTER_SINGLE_ID,
	  "the server" },
	{ "tgkill rt_tgsigqueueinfo",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, SERVER_PID) },
	  1,
	  FILTER_SINGLE_ID,
	  "the server" },
	{ "pidfd_send_signal",
	  SECCOMP_REFUSE,
	  ENOSYS,
	  { { 0 } },
	  0,
	  FILTER_SINGLE_ID,
	  "a descriptor says no number; /proc/2 opened is one of the server" },
	{ "fcntl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, 8 /* F_SETOWN */) },
	  1,
	  FILTER_SINGLE_ID,
	  "the kernel would send the signal" },
	{ "fcntl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, 10 /* F_SETSIG */) },
	  1,
	  FILTER_SINGLE_ID,
	  "the same" },
	{ "fcntl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, 15 /* F_SETOWN_EX */) },
	  1,
	  FILTER_SINGLE_ID,
	  "the same" },
	{ "ioctl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, 0x8901 /* FIOSETOWN */) },
	  1,
	  FILTER_SINGLE_ID,
	  "the same" },
	{ "ioctl",
	  SECCOMP_REFUSE,
	  EPERM,
	  { IS(1, 0x8902 /* SIOCSPGRP */) },
	  1,
	  FILTER_SINGLE_ID,
	  "the same" },
};

const struct filter_wall *filter_walls(size_t *n)
{
	*n = ARRAY_LEN(walls);
	return walls;
}
