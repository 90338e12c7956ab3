/* SPDX-License-Identifier: MIT */
/* start.c - see start.h. Everything below start_child() runs in the child, in that order. */
#include "sandbox/executor/start.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/executor/cage.h"
#include "sandbox/executor/helper.h"
#include "sandbox/executor/shed.h"

#define STATUS_FD 3 /* where the child keeps its end, behind stdin, stdout and stderr */

/* What crosses the status socket beside the descriptors. */
struct report_bytes {
	struct err err;
	bool exec;
};

struct child {
	const struct starter *s;
	const struct ctl_start *request;
	int status;
	int io[3];   /* becomes 0, 1, 2 */
	int give[3]; /* what goes to whoever asked */
	unsigned n_give;
	bool as_root;
};

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int) * 3)];
};

static int report_send(int status, const struct report_bytes *bytes, const int *fds, unsigned n_fds)
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

	*r = (struct start_report) { .fds = { -1, -1, -1 } };
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
	return 1;
}

static void __attribute__((noreturn))
child_fail(const struct child *c, const struct err *e, bool exec)
{
	struct report_bytes bytes = { .err = *e, .exec = exec };

	/* Init is gone if this fails, and with it the session. */
	(void)report_send(c->status, &bytes, NULL, 0);
	_exit(exec && e->code == ENOENT ? 127 : 126);
}

/* v1: writing 0 means the writer itself; a pid would cost milliseconds after an idle gap. */
static int enter_groups(const struct ctl_boot *b, struct err *e)
{
	for (unsigned i = 0; i < b->n_work_groups; i++)
		if (write(b->work_groups[i], "0", 1) != 1)
			return err_errno(e, "start: enter group %u of the workload", i);
	return 0;
}

static int set_limit(__rlimit_resource_t what, uint64_t value, struct err *e)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return err_errno(e, "start: getrlimit");
	/* Nobody here may raise the hard limit that the host left. */
	if (value > now.rlim_max)
		value = now.rlim_max;
	if (setrlimit(what, &(struct rlimit) { .rlim_cur = value, .rlim_max = value }) < 0)
		return err_errno(e, "start: setrlimit");
	return 0;
}

static uint64_t limit_value(uint64_t value)
{
	return value == 0 || value == UINT64_MAX ? RLIM_INFINITY : value;
}

static int set_limits(const struct ctl_boot *b, struct err *e)
{
	if (b->nofile && set_limit(RLIMIT_NOFILE, b->nofile, e) < 0)
		return -e->code;
	return set_limit(RLIMIT_FSIZE, limit_value(b->fsize_bytes), e);
}

/* A pty of its own, its controlling terminal. Its node in /dev/pts belongs to who opens it: so
 * this happens with the workload's ids. */
static int make_terminal(struct child *c, struct err *e)
{
	struct winsize size = { .ws_row = c->request->rows, .ws_col = c->request->cols };
	int unlock = 0, master, slave;

	master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return err_errno(e, "start: open /dev/ptmx");
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return err_errno(e, "start: unlock the terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_errno(e, "start: open the terminal's other end");
	if (size.ws_row && size.ws_col && ioctl(master, TIOCSWINSZ, &size) < 0)
		return err_errno(e, "start: terminal of %u by %u", size.ws_row, size.ws_col);
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_errno(e, "start: take the terminal");
	c->io[0] = c->io[1] = c->io[2] = slave;
	c->give[c->n_give++] = master;
	return 0;
}

static int make_socket(struct child *c, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "start: socketpair");
	c->io[0] = pair[0];
	c->give[c->n_give++] = pair[1];
	return 0;
}

/* Made with the workload's ids, or it could not open its own /dev/stdout again. */
static int make_pipes(struct child *c, struct err *e)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return err_errno(e, "start: pipe");
	c->io[0] = in[0];
	c->io[1] = out[1];
	c->io[2] = err[1];
	c->give[0] = in[1];
	c->give[1] = out[0];
	c->give[2] = err[0];
	c->n_give = 3;
	return 0;
}

static int make_io(struct child *c, struct err *e)
{
	unsigned flags = c->request->flags;
	struct report_bytes none = { .exec = false };
	int ret = 0;

	if (flags & CTL_START_TTY)
		ret = make_terminal(c, e);
	else if (flags & CTL_START_PIPES)
		ret = make_pipes(c, e);
	if (ret == 0 && flags & (CTL_START_SHELL | CTL_START_HELPER))
		ret = make_socket(c, e);
	if (ret < 0 || !c->n_give)
		return ret;
	ret = report_send(c->status, &none, c->give, c->n_give);
	if (ret < 0)
		return err_code(e, -ret, "start: give the descriptors: %s", strerror(-ret));
	for (unsigned i = 0; i < c->n_give; i++)
		(void)close(c->give[i]);
	return 0;
}

/* Descriptors 0, 1 and 2 are the process's, STATUS_FD is ours until exec, and nothing else is. */
static int arrange_fds(struct child *c, struct err *e)
{
	int high[4], all[4] = { c->io[0], c->io[1], c->io[2], c->status };

	/* Out of the way first: one of them may stand where another belongs. */
	for (int i = 0; i < 4; i++) {
		high[i] = fcntl(all[i], F_DUPFD_CLOEXEC, 10);
		if (high[i] < 0)
			return err_errno(e, "start: descriptor %d", i);
	}
	for (int i = 0; i < 4; i++)
		if (dup3(high[i], i, i == STATUS_FD ? O_CLOEXEC : 0) < 0)
			return err_errno(e, "start: descriptor %d", i);
	c->status = STATUS_FD;
	if (syscall(SYS_close_range, STATUS_FD + 1, UINT_MAX, 0) < 0)
		return err_errno(e, "start: close_range");
	return 0;
}

static int helper_fds(struct child *c, struct err *e)
{
	c->io[1] = c->io[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (c->io[1] < 0)
		return err_errno(e, "start: open /dev/null");
	return arrange_fds(c, e);
}

/* Ids of the session; nothing of the executor's is left but its memory, which is not readable. */
static int become_workload(struct child *c, struct err *e)
{
	const struct ctl_boot *b = c->s->boot;
	struct shed shed = {
		.userns = c->s->userns,
		.uid = c->as_root ? 0 : b->user.uid,
		.gid = c->as_root ? 0 : b->user.gid,
		.caps = c->as_root || b->user.uid == 0 ? b->root_caps : 0,
		.one_id = b->single_id,
	};

	return shed_to_workload(&shed, e);
}

static const char *env_value(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* Add "K=V" unless a later list has that name already. Returns the new count. */
static size_t env_add(char **env, size_t n, char *entry)
{
	const char *equals = strchr(entry, '=');
	size_t len = equals ? (size_t)(equals - entry) + 1 : strlen(entry);

	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], entry, len) == 0)
			return n;
	env[n] = entry;
	return n + 1;
}

static size_t list_len(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* The session's root is told who it came from, so that git does not call the tree foreign. */
static size_t env_of_root(char **env, size_t n, const struct ctl_boot *b, char ids[2][32])
{
	static const char *const fixed[] = { "HOME=/root", "USER=root", "LOGNAME=root" };

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		n = env_add(env, n, (char *)(uintptr_t)fixed[i]);
	if (b->user.uid == 0)
		return n;
	(void)snprintf(ids[0], sizeof(ids[0]), "SUDO_UID=%u", (unsigned)b->user.uid);
	(void)snprintf(ids[1], sizeof(ids[1]), "SUDO_GID=%u", (unsigned)b->user.gid);
	n = env_add(env, n, ids[0]);
	return env_add(env, n, ids[1]);
}

/* First come, first kept: the request's own, then what root needs, then the session's. */
static size_t env_make(char **env, const struct child *c, char ids[2][32])
{
	const struct ctl_boot *b = c->s->boot;
	size_t n = 0;

	for (char **v = c->request->env; v && *v; v++)
		n = env_add(env, n, *v);
	if (c->as_root)
		n = env_of_root(env, n, b, ids);
	for (char **v = b->env; v && *v; v++)
		n = env_add(env, n, *v);
	env[n] = NULL;
	return n;
}

static void __attribute__((noreturn)) child_exec(struct child *c)
{
	char **env =
		calloc(list_len(c->request->env) + list_len(c->s->boot->env) + 6, sizeof(*env));
	struct err e = { 0 };
	char ids[2][32];

	if (!env) {
		(void)err_code(&e, ENOMEM, "start: environment");
		child_fail(c, &e, false);
	}
	(void)env_make(env, c, ids);
	if (cage_workload(c->s->filter, c->s->filter_len, &e) < 0)
		child_fail(c, &e, false);
	/* execvp looks in the PATH of `environ`; a script without "#!" goes to /bin/sh. */
	environ = env;
	if (!env_value(env, "PATH"))
		(void)putenv((char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin");
	(void)execvp(c->request->argv[0], c->request->argv);
	(void)err_errno(&e, "exec '%s'", c->request->argv[0]);
	child_fail(c, &e, true);
}

static void __attribute__((noreturn)) child_serve(struct child *c)
{
	struct err e = { 0 };

	if (cage_workload(c->s->filter, c->s->filter_len, &e) < 0)
		child_fail(c, &e, false);
	(void)close(c->status); /* says that it serves */
	helper_main(STDIN_FILENO);
}

static int change_dir(const struct child *c, struct err *e)
{
	const char *dir = c->request->cwd ? c->request->cwd : c->s->boot->workspace;

	if (chdir(dir) < 0)
		return err_errno(e, "start in '%s'", dir);
	return 0;
}

static int child_prepare(struct child *c, struct err *e)
{
	sigset_t none;

	if (enter_groups(c->s->boot, e) < 0 || become_workload(c, e) < 0 ||
	    set_limits(c->s->boot, e) < 0)
		return -e->code;
	(void)umask(022);
	if (setsid() < 0)
		return err_errno(e, "start: setsid");
	if (make_io(c, e) < 0 || change_dir(c, e) < 0)
		return -e->code;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_errno(e, "start: sigprocmask");
	return c->request->flags & CTL_START_HELPER ? helper_fds(c, e) : arrange_fds(c, e);
}

static void __attribute__((noreturn))
start_child(const struct starter *s, const struct ctl_start *request, int status)
{
	struct child c = { .s = s,
			   .request = request,
			   .status = status,
			   .as_root = request->flags & CTL_START_ROOT };
	struct err e = { 0 };

	memcpy(c.io, request->fds, sizeof(c.io));
	if (child_prepare(&c, &e) < 0)
		child_fail(&c, &e, false);
	if (request->flags & CTL_START_HELPER)
		child_serve(&c);
	child_exec(&c);
}

static int refuse(const struct starter *s, const struct ctl_start *r, struct err *e)
{
	unsigned makes_io = CTL_START_TTY | CTL_START_PIPES | CTL_START_HELPER;

	if (r->flags & CTL_START_ROOT && !s->boot->root_allowed)
		return err_code(e, EPERM, "the policy does not let root be had");
	if (!(r->flags & CTL_START_HELPER) && (!r->argv || !r->argv[0]))
		return err_code(e, EINVAL, "start: no command");
	if (!(r->flags & makes_io) && r->n_fds != 3)
		return err_code(e, EINVAL, "start: stdin, stdout and stderr are missing");
	if (r->flags & CTL_START_SHELL && !(r->flags & CTL_START_TTY))
		return err_code(e, EINVAL, "start: a shell without a terminal");
	return 0;
}

/* fork, straight into the workload's group where there is one (v2). */
static pid_t fork_into(int group_dir)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (group_dir >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group_dir;
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
	made = fork_into(s->boot->work_group_dir);
	if (made < 0)
		return err_errno(e, "start: fork");
	if (made == 0)
		start_child(s, request, child);
	*pid = made;
	*status = take_fd(&ours);
	return 0;
}
