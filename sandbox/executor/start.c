/* SPDX-License-Identifier: MIT */
/* start.c - see start.h: init's part. What the forked process does is in start_child.c. */
#include "sandbox/executor/start.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/leaf.h"
#include "sandbox/executor/start_parts.h"

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int) * 3)];
};

int report_send(int status, const struct report_bytes *bytes, const int *fds, unsigned n_fds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = sizeof(*bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };

	if (n_fds) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	}
	return sendmsg(status, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int start_report_take(int status, struct start_report *r, struct err *e)
{
	struct report_bytes bytes = { 0 };
	struct iovec iov = { .iov_base = &bytes, .iov_len = sizeof(bytes) };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(status, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	*r = (struct start_report) { .listener = -1, .fds = { -1, -1, -1 } };
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : err_errno(e, "start: status");
	if (n == 0)
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		r->n_fds = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(r->fds, CMSG_DATA(c), r->n_fds * sizeof(int));
	}
	bytes.err.text[sizeof(bytes.err.text) - 1] = '\0';
	r->err = bytes.err;
	r->exec = bytes.exec;
	if (bytes.listener && r->n_fds == 1) {
		r->listener = take_fd(&r->fds[0]);
		r->n_fds = 0;
	}
	return 1;
}

static int refuse(const struct starter *s, const struct ctl_start *r, struct err *e)
{
	unsigned makes_io = CTL_START_TTY | CTL_START_PIPES | CTL_START_HELPER;

	if (r->flags & CTL_START_ROOT && !s->boot->root_allowed)
		return err_code(e, EPERM, "the policy does not let root be had");
	/* Each of them makes descriptors to give, and there is room for those of one. */
	if (__builtin_popcount(r->flags & makes_io) > 1)
		return err_code(e, EINVAL, "start: terminal, pipes and helper exclude each other");
	if (!(r->flags & CTL_START_HELPER) && (!r->argv || !r->argv[0]))
		return err_code(e, EINVAL, "start: no command");
	if (!(r->flags & makes_io) && r->n_fds != 3)
		return err_code(e, EINVAL, "start: stdin, stdout and stderr are missing");
	if (r->flags & CTL_START_SHELL && !(r->flags & (CTL_START_TTY | CTL_START_PIPES)))
		return err_code(e, EINVAL, "start: a shell without a terminal or pipes");
	return 0;
}

pid_t start_fork(const struct starter *s, unsigned leaf)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int dir = leaf_dir(s->boot, leaf);

	if (dir >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)dir;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int start_process(const struct starter *s, const struct ctl_start *request, pid_t *pid, int *status,
		  struct err *e)
{
	autoclose int ours = -1, child = -1;
	int pair[2];
	pid_t made;

	if (refuse(s, request, e) < 0)
		return -e->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "start: socketpair");
	ours = pair[0];
	child = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(e, "start: status socket");
	made = start_fork(s, request->leaf);
	if (made < 0)
		return err_errno(e, "start: fork");
	if (made == 0)
		start_child(s, request, child);
	*pid = made;
	*status = take_fd(&ours);
	return 0;
}
