/* SPDX-License-Identifier: MIT */
/* ctl.h - the host and the executor's init, and init and its server, talk over this.
 *
 * SOCK_SEQPACKET, one message a packet, descriptors by SCM_RIGHTS. Both ends are built together;
 * a version byte catches a mistake. Numbers are in host order. Init reads only messages of this
 * form: of counted fields, never foreign text.
 *
 * host -> init    BOOT (first, once), START, SIGNAL, END
 * init -> host    READY, STARTED, FAILED, EXITED
 * server -> init  START, SIGNAL, CONNECT, MOVE, CLEAR, STAND, GO; never a descriptor
 * init -> server  STARTED, FAILED, EXITED, ANSWERED, REFUSED
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/wire.h"

#define CTL_VERSION 1
#define CTL_MESSAGE_MAX (256u * 1024) /* bytes of one message, descriptors aside */
#define CTL_FDS_MAX WIRE_FDS_MAX
#define CTL_STRINGS_MAX 4096 /* in argv or env */
#define CTL_LEAVES 4	     /* groups for commands, below the workload's */

enum ctl_kind {
	CTL_BOOT = 1,
	CTL_START,
	CTL_SIGNAL,
	CTL_END,
	CTL_READY,
	CTL_STARTED,
	CTL_FAILED,
	CTL_EXITED,
	CTL_CONNECT,
	CTL_MOVE,
	CTL_CLEAR,
	CTL_ANSWERED,
	CTL_REFUSED,
	CTL_STAND, /* the session is about to be frozen: no time passes for it */
	CTL_GO,
};

/* Who runs, as the session sees it. */
struct ctl_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid;
};

/* What a group counts: files of the kernel, opened for reading. Theirs differ between v1 and v2, and
 * so do their forms: leaf_counters() in the executor reads both. */
enum ctl_counter {
	CTL_COUNT_CPU,	     /* cpuacct.usage or cpu.stat */
	CTL_COUNT_CPU_LIMIT, /* cpu.stat, of the group that has the limit */
	CTL_COUNT_MEMORY_PEAK, /* memory.max_usage_in_bytes or memory.peak; for writing where it resets */
	CTL_COUNT_MEMORY_EVENTS, /* memory.oom_control or memory.events */
	CTL_COUNT_PIDS,		 /* pids.current */
	CTL_COUNT_PIDS_EVENTS,	 /* pids.events */
	CTL_COUNTERS
};

/* A group for one command at a time, below that of the workload. Every descriptor may be -1. */
struct ctl_leaf {
	int tasks[3]; /* v1: opened for writing */
	unsigned n_tasks;
	int dir;      /* v2: for CLONE_INTO_CGROUP */
	int procs;    /* v2: cgroup.procs, opened for writing */
	int list;     /* the directory, for reading who is in it */
	int pids_max; /* for writing */
	int counter[CTL_COUNTERS];
};

struct ctl_boot {
	char id[16];
	char key[65];	  /* of the session; hexadecimal */
	bool exit_on_eof; /* the session ends with its supervisor (run) */
	bool root_allowed;
	bool as_root;	    /* --user root: what the server starts is root's */
	uint64_t root_caps; /* mask of CAP_ numbers that root keeps */
	bool shell_early;   /* start the shell without being asked for it */
	bool single_id;	    /* executor and workload share one host id */
	uid_t server_uid;   /* relative to where init stands */
	gid_t server_gid;
	struct ctl_user user; /* the policy's; root is 0, "root", "/root", the same shell */
	char *workspace;      /* directory the session starts in: "/workspace" */
	char **env;	      /* "K=V", NULL-terminated: of every workload process */
	uint64_t nofile, fsize_bytes;
	uint64_t deadline_ms; /* init ends the session by itself after this; 0: never */
	/* Descriptors, in this order in the message. */
	int filter;	    /* sealed memfd: struct sock_filter array for the workload */
	int work_groups[8]; /* v1: `tasks` files of the workload's leaf, opened for writing */
	unsigned n_work_groups;
	int work_group_dir; /* v2: the leaf's directory, for CLONE_INTO_CGROUP; -1 on v1 */
	/* Where there are leaves, every process of the workload stands in one, and none in the group
	 * above them but as work_groups say. */
	struct ctl_leaf leaves[CTL_LEAVES];
	unsigned n_leaves;
	int above[CTL_COUNTERS];	 /* counters of the group above them */
	uint64_t leaf_memory, leaf_pids; /* their limits; UINT64_MAX: none */
	uint64_t cpu_milli;		 /* of the session; UINT64_MAX: no limit */
	bool way_out;			 /* the session may reach others */
	bool filter_tells;		 /* calls that the filter refuses can be told of */
	int listeners[4];		 /* of the host: 127.0.0.1 and ::1 */
	unsigned n_listeners;
	struct ctl_publish {
		int listener;  /* of the host */
		uint16_t port; /* inside, on loopback */
	} publish[8];
	unsigned n_publish;
};

enum {
	CTL_START_TTY = 1 << 0,	  /* init makes a pty; STARTED carries its master end */
	CTL_START_PIPES = 1 << 1, /* init makes stdin, stdout, stderr; STARTED carries our ends */
	CTL_START_ROOT = 1 << 2,  /* as the session's root; refused where the policy says no */
	CTL_START_HELPER =
		1 << 3, /* no exec: the executor's own file helper, one socket comes back */
	CTL_START_SHELL =
		1 << 4, /* with TTY or PIPES: stdin is a stream socket instead, whose other end
				      comes back behind the rest */
	CTL_START_TRANSFER = 1 << 5, /* with HELPER: one that does a single transfer */
	CTL_START_VIEW = 1 << 6,     /* with HELPER: it ends at once, and gives the file viewer's
					 listener behind its socket */
	CTL_START_TOLD =
		1 << 7, /* what the filter refuses it is told of, if the host's kernel can */
	CTL_START_LAST = 1 << 8, /* the session ends with it; the host's to say */
	/* neither TTY nor PIPES nor HELPER: the message carries stdin, stdout, stderr */
};

struct ctl_start {
	uint32_t tag; /* the sender's name for it, in every answer */
	uint32_t flags;
	uint32_t leaf; /* which it starts in, where there are leaves */
	uint16_t rows, cols;
	char **argv; /* argv[0] is searched in PATH where it has no slash */
	char **env;  /* added to the session's; "K=V" */
	char *cwd;   /* absolute; NULL: the workspace */
	int fds[3];
	unsigned n_fds;
};

struct ctl_signal {
	uint32_t tag;
	int32_t signal;
	bool group; /* its whole process group */
};

/* Connect to 127.0.0.1:port inside; the answer is STARTED with the socket, or FAILED. */
struct ctl_connect {
	uint32_t tag;
	uint16_t port;
};

/* Of a process that was started (`of`: its tag) and a leaf; the answer is ANSWERED.
 * MOVE: it goes to this leaf, and what it forks from now on is born there.
 * CLEAR: everything in the leaf is killed but this process (`of` 0: no exception); where there are no
 * leaves, this process group of its session. Answered when they are gone, and, where that is
 * asked for, the process itself was interrupted (SIGINT). */
struct ctl_ask {
	uint32_t tag, of, leaf;
	bool interrupt;
	int32_t group;
};

struct ctl_answered {
	uint32_t tag;
	int32_t code; /* errno */
};

/* System calls that the filter refused to a process that was started with CTL_START_TOLD, or to one
 * that it started. Several of the same are told of together, a little later than the first. */
struct ctl_refused {
	uint32_t tag;  /* of the process that was started */
	uint32_t call; /* CTL_CALLS_OTHER: more kinds than can be told apart */
	uint32_t count;
	uint64_t args[3]; /* of the first */
};
#define CTL_CALLS_OTHER UINT32_MAX

struct ctl_started {
	uint32_t tag;
	bool told;   /* refused calls will be told of */
	int32_t pid; /* in the session's pid namespace */
	int fds[3]; /* TTY: master (SHELL: and socket); PIPES: stdin, stdout, stderr (SHELL: stdout,
			stderr, socket); HELPER: socket; answer to CONNECT: socket, pid 0 */
	unsigned n_fds;
};

struct ctl_failed {
	uint32_t tag;
	int32_t code; /* errno */
	bool exec;    /* it was exec that failed: 126 or 127 to a shell's user */
	char text[ERR_TEXT_BYTES];
};

struct ctl_exited {
	uint32_t tag;
	int32_t wait_status; /* as waitpid gives it */
	uint64_t cpu_us, peak_rss_bytes;
};

struct ctl_message {
	enum ctl_kind kind;
	union {
		struct ctl_boot boot;
		struct ctl_start start;
		struct ctl_signal signal;
		struct ctl_started started;
		struct ctl_failed failed;
		struct ctl_exited exited;
		struct ctl_connect connect;
		struct ctl_ask ask;
		struct ctl_answered answered;
		struct ctl_refused refused;
	};
};

/* A leaf without descriptors; close those of one. */
void ctl_leaf_init(struct ctl_leaf *l);
void ctl_leaf_clear(struct ctl_leaf *l);

/* Make the pair: `host` close-on-exec, `other` for the executor. */
must_check int ctl_pair(int *host, int *other, struct err *e);

/* Send one message with the descriptors its struct names; they stay the caller's. */
must_check int ctl_send(int fd, const struct ctl_message *m, struct err *e);

/* Receive one message. 1 and *m filled (strings on the heap, descriptors close-on-exec, both
 * the message's until ctl_message_clear), 0 at end-of-file, -EAGAIN where nothing is there on a
 * non-blocking socket, or an error: -EPROTO for what is not a message of ours. */
must_check int ctl_receive(int fd, struct ctl_message *m, struct err *e);

/* The same from bytes: descriptors are taken out of `fds` (set to -1 there) in their order. Does no
 * I/O; on failure *m is cleared, and descriptors not taken yet are still the caller's. */
must_check int ctl_decode(const void *bytes, size_t len, int *fds, unsigned n_fds,
			  struct ctl_message *m, struct err *e);

/* The bytes of a message, and the descriptors that go with them (still the caller's). */
must_check int ctl_encode(const struct ctl_message *m, struct buf *out, int fds[CTL_FDS_MAX],
			  unsigned *n_fds, struct err *e);

/* For received messages: free strings, wipe the key, close descriptors that were not taken (set to
 * -1). A list (argv, env) is one block: who takes it frees it by one free(). */
void ctl_message_clear(struct ctl_message *m);
