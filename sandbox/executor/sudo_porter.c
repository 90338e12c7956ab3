/* SPDX-License-Identifier: MIT */
/* sudo_porter.c - see sudo_porter.h. What become_monitor() calls runs in the monitor.
 *
 * Who asks is told by the kernel, for the moment he connected. He may be gone since, and his number
 * another's: the leaf that a process stands in counts only if it was the same process when it was
 * looked for. */
#include "sandbox/executor/sudo_porter.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/cage.h"
#include "sandbox/executor/leaf.h"
#include "sandbox/executor/sudo_monitor.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define LOOKS 3	     /* for who asks, who may be moved from one group to another meanwhile */
#define CONNECTION 3 /* where a monitor keeps it, behind three ends of /dev/null */

struct visit {
	enum sudo_door door;
	unsigned leaf;
};

static void answer(int connection, const struct err *why)
{
	struct sudo_message m = { .kind = SUDO_FAILED, .failed = { .code = why->code } };
	struct err unheard;

	memcpy(m.failed.text, why->text, sizeof(m.failed.text));
	/* Who is gone needs no answer. The first packet on a connection never has to wait. */
	if (sudo_send(connection, &m, &unheard) < 0)
		return;
}

/* The kernel translates the ids for who asks it: so from inside the session's namespace. Other
 * users of the session (services, _apt) have no sudo, as on any machine. */
static int check_peer(int connection, const struct ctl_boot *b, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_errno(e, "who asks");
	if (peer.uid != 0 && peer.uid != b->user.uid)
		return err_code(e, EPERM, "uid %u may not: only '%s' and 'root' may",
				(unsigned)peer.uid, b->user.name);
	return 0;
}

/* Of the very process that connected, or (before Linux 6.5) of the one that has its number now. */
static int peer_pidfd(int connection, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return errno == ENOPROTOOPT ? pidfd_open(pid, 0) : -1;
}

/* In which group of commands he stands: what he asks for is a part of the same command. */
static int peer_leaf(int connection, const struct ctl_boot *b, unsigned *leaf, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	autoclose int pidfd = -1;
	struct pollfd ended = { .events = POLLIN };
	int ret = -EAGAIN;

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_errno(e, "who asks");
	ended.fd = pidfd = peer_pidfd(connection, peer.pid);
	if (pidfd < 0)
		return err_errno(e, "who asks: process %d", (int)peer.pid);
	/* One that is being moved is looked for again. The first leaf is the executor's own, and nobody
	 * shall come there for not having been seen anywhere. */
	for (int i = 0; i < LOOKS && ret < 0; i++)
		ret = leaf_of(b, peer.pid, leaf);
	if (poll(&ended, 1, 0) != 0)
		return err_code(e, ESRCH, "who asks: process %d has ended", (int)peer.pid);
	if (ret < 0)
		return err_code(e, EAGAIN, "who asks: process %d is in no group of commands",
				(int)peer.pid);
	return 0;
}

/* Nothing of init's is left but its memory, which nobody inside can read. */
static int shed_all(const struct starter *s, int connection, const struct visit *v, struct err *e)
{
	sigset_t none;

	if (start_become(s, v->leaf, v->door == SUDO_DOOR_ROOT, e) < 0 ||
	    check_peer(connection, s->boot, e) < 0)
		return -e->code;
	if (connection != CONNECTION && dup3(connection, CONNECTION, O_CLOEXEC) < 0)
		return err_errno(e, "descriptors");
	if (syscall(SYS_close_range, CONNECTION + 1, UINT_MAX, 0) < 0)
		return err_errno(e, "close_range");
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_errno(e, "signals");
	return cage_workload(s->filter, s->filter_len, e);
}

/* A group of v1 takes in whoever enters, however full it is; who is born in it counts. */
static int be_born_in(const struct ctl_boot *b, unsigned leaf, struct err *e)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid;

	if (!b->n_work_groups && !(leaf < b->n_leaves && b->leaves[leaf].n_tasks))
		return 0;
	if (leaf_enter(b, leaf, e) < 0)
		return -e->code;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid > 0)
		_exit(0);
	return pid < 0 ? err_errno(e, "start a process") : 0;
}

static void __attribute__((noreturn))
become_monitor(const struct starter *s, int connection, const struct visit *v)
{
	struct err e = { 0 };

	if (be_born_in(s->boot, v->leaf, &e) < 0 || shed_all(s, connection, v, &e) < 0) {
		answer(connection, &e);
		_exit(1);
	}
	sudo_monitor(CONNECTION, s->boot, v->door);
}

static int start_monitor(const struct starter *s, int connection, struct visit *v, struct err *e)
{
	pid_t pid;

	if (peer_leaf(connection, s->boot, &v->leaf, e) < 0)
		return -e->code;
	pid = start_fork(s, v->leaf);
	if (pid == 0)
		become_monitor(s, connection, v);
	return pid < 0 ? err_errno(e, "start a process") : 0;
}

void sudo_porter(const struct starter *s, int listener, enum sudo_door door)
{
	for (int i = 0; i < SUDO_PORTER_MAX; i++) {
		int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		struct visit v = { .door = door };
		struct err e = { 0 };

		if (connection < 0)
			break;
		if (start_monitor(s, connection, &v, &e) < 0)
			answer(connection, &e);
		/* Left open: the last close of what it carries could take its time, and an end does not. */
	}
	_exit(0);
}
