/* SPDX-License-Identifier: MIT */
/* spawn.c - see spawn.h. */
#include "launch/spawn.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The view of groups is unshared inside: it must be taken after entering them. */
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

int spawn(const struct inside *in, int group_dir, pid_t *pid, int *pidfd, struct err *e)
{
	int fd = -1;
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&fd,
		.exit_signal = SIGCHLD,
	};
	long got;

	/* As root the host makes the network's while the child works: it takes as long as all others. An
	 * ordinary user's must belong to his user namespace. */
	if (in->mode != IDS_ROOT)
		args.flags |= CLONE_NEWUSER | CLONE_NEWNET;
	if (group_dir >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group_dir;
	}
	/* Raw: libc has no wrapper, and none of its fork handlers is wanted. */
	got = syscall(SYS_clone3, &args, sizeof(args));
	if (got == 0)
		inside_main(in);
	if (got < 0)
		return err_errno(e, "clone the session's first process");
	*pid = (pid_t)got;
	*pidfd = fd; /* the kernel made it close-on-exec */
	return 0;
}
