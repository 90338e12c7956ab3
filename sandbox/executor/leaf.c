/* SPDX-License-Identifier: MIT */
/* leaf.c - see leaf.h. All that is read here is numbers of the kernel's. */
#include "sandbox/executor/leaf.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "sandbox/executor/init_parts.h"

enum {
	LIST_BYTES_MAX = 1 << 20,
	CLEAR_LOOK_MS = 2, /* until the first look at what was killed; then twice as long */
	CLEAR_LOOK_MOST_MS = 64,
	CLEAR_MS = 5000, /* what does not die within this stays, and the answer says so */
};

/* --- in and out ------------------------------------------------------------------------------ */

static const struct ctl_leaf *find(const struct ctl_boot *b, unsigned leaf)
{
	return leaf < b->n_leaves ? &b->leaves[leaf] : NULL;
}

int leaf_dir(const struct ctl_boot *b, unsigned leaf)
{
	const struct ctl_leaf *l = find(b, leaf);

	return l ? l->dir : b->work_group_dir;
}

/* v1: writing 0 means the writer itself; a pid would cost milliseconds after an idle gap. */
int leaf_enter(const struct ctl_boot *b, unsigned leaf, struct err *e)
{
	const struct ctl_leaf *l = find(b, leaf);

	for (unsigned i = 0; i < b->n_work_groups; i++)
		if (write(b->work_groups[i], "0", 1) != 1)
			return err_errno(e, "start: enter group %u of the workload", i);
	for (unsigned i = 0; l && i < l->n_tasks; i++)
		if (write(l->tasks[i], "0", 1) != 1)
			return err_errno(e, "start: enter leaf %u", leaf);
	return 0;
}

static int write_pid(int fd, pid_t pid, struct err *e)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", (int)pid);

	if (fd >= 0 && write(fd, text, (size_t)n) != n)
		return err_errno(e, "move process %d", (int)pid);
	return 0;
}

static int move(const struct ctl_leaf *l, pid_t pid, struct err *e)
{
	for (unsigned i = 0; i < l->n_tasks; i++)
		if (write_pid(l->tasks[i], pid, e) < 0)
			return -e->code;
	return write_pid(l->procs, pid, e);
}

static void answer(struct init *i, uint32_t tag, int code)
{
	struct ctl_message m = { .kind = CTL_ANSWERED, .answered = { .tag = tag, .code = code } };

	init_tell(i, SERVER, &m);
}

void leaf_move(struct init *i, const struct ctl_ask *ask, pid_t leader)
{
	const struct ctl_leaf *l = find(i->boot, ask->leaf);
	struct err e = { 0 };

	if (!l)
		(void)err_code(&e, ENOENT, "no leaf %u", ask->leaf);
	else if (!leader)
		(void)err_code(&e, ESRCH, "it has ended");
	else
		(void)move(l, leader, &e); /* answered with its code */
	answer(i, ask->tag, e.code);
}

/* --- who is in it ---------------------------------------------------------------------------- */

/* Call `each` for every process of the leaf; returns how many it said yes to. Opened each time: v1 shows
 * who reads a list again what he saw the first time. */
static unsigned each_listed(int list, bool (*each)(pid_t pid, pid_t arg), pid_t arg)
{
	autobuf struct buf text = { .limit = 2 * LIST_BYTES_MAX };
	struct err e = { 0 };
	unsigned n = 0;
	char *at;

	if (io_read_file(list, "cgroup.procs", LIST_BYTES_MAX, &text, &e) < 0)
		return 0; /* the group is gone, and nobody can be in it */
	for (at = text.data; at && *at; at += *at == '\n') {
		pid_t pid = (pid_t)strtol(at, &at, 10);

		/* 0: one that our pid namespace does not show; there is none in a session's group. */
		if (pid <= 0)
			break;
		n += each(pid, arg);
	}
	return n;
}

static bool is(pid_t pid, pid_t arg)
{
	return pid == arg;
}

int leaf_of(const struct ctl_boot *b, pid_t pid, unsigned *leaf)
{
	*leaf = 0;
	for (unsigned i = 0; i < b->n_leaves; i++)
		if (each_listed(b->leaves[i].list, is, pid)) {
			*leaf = i;
			return 0;
		}
	return b->n_leaves ? -EAGAIN : 0;
}

/* --- ending all in it ------------------------------------------------------------------------ */

/* A leaf on its way to hold nobody but `leader`. */
struct clearing {
	struct init *init;
	struct timer timer;
	struct ctl_ask ask;
	pid_t leader;
	uint64_t since_ms, look_ms;
};

static bool kill_but(pid_t pid, pid_t leader)
{
	if (pid == leader)
		return false;
	(void)kill(pid, SIGKILL); /* it may have ended meanwhile */
	return true;
}

/* Its parent is stopped, and has not heard of its end: "7 (name) Z ...", whatever the name is. */
static bool is_dead(DIR *proc, const char *pid)
{
	char path[NAME_MAX + sizeof("/stat")], text[128];
	autoclose int fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/stat", pid);
	fd = openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return true;
	text[n] = '\0';
	at = strrchr(text, ')');
	return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

/* Without leaves: this process group of the leader's session, which is the leader's to name. */
static unsigned kill_group(pid_t leader, pid_t group)
{
	autodir DIR *proc = opendir("/proc");
	struct dirent *d;
	unsigned n = 0;

	while (proc && leader > 0 && (d = readdir(proc))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 1 && getsid(pid) == leader && getpgid(pid) == group &&
		    !is_dead(proc, d->d_name))
			n += kill_but(pid, leader);
	}
	return n;
}

/* While nobody in the leaf can fork, each one that lives is on the list, and one look ends them. */
static void let_fork(const struct init *i, const struct ctl_leaf *l, bool may)
{
	char text[24] = "max";

	if (!l || l->pids_max < 0)
		return;
	if (!may)
		(void)strcpy(text, "0");
	else if (i->boot->leaf_pids != UINT64_MAX)
		(void)snprintf(text, sizeof(text), "%" PRIu64, i->boot->leaf_pids);
	/* If this fails they are killed as well, only not at once. */
	(void)!write(l->pids_max, text, strlen(text));
}

static void look(struct clearing *c)
{
	const struct ctl_leaf *l = find(c->init->boot, c->ask.leaf);
	bool late = loop_time(&c->init->loop) - c->since_ms > CLEAR_MS;
	unsigned left = l && l->list >= 0 ? each_listed(l->list, kill_but, c->leader)
					  : kill_group(c->leader, c->ask.group);

	if (left && !late) {
		loop_arm(&c->init->loop, &c->timer, loop_time(&c->init->loop) + c->look_ms);
		c->look_ms *= c->look_ms < CLEAR_LOOK_MOST_MS ? 2 : 1;
		return;
	}
	let_fork(c->init, l, true);
	/* Before the answer: who hears it may then talk to the process. */
	if (c->ask.interrupt && c->leader) {
		(void)kill(c->leader, SIGINT);
		(void)kill(c->leader, SIGCONT);
	}
	answer(c->init, c->ask.tag, left ? EBUSY : 0);
	free(c);
}

static void look_again(struct timer *timer)
{
	look(container_of(timer, struct clearing, timer));
}

void leaf_clear(struct init *i, const struct ctl_ask *ask, pid_t leader)
{
	struct clearing *c = calloc(1, sizeof(*c));

	if (!c) {
		answer(i, ask->tag, ENOMEM);
		return;
	}
	*c = (struct clearing) { .init = i,
				 .timer.fire = look_again,
				 .ask = *ask,
				 .leader = leader,
				 .since_ms = loop_time(&i->loop),
				 .look_ms = CLEAR_LOOK_MS };
	/* It would go on with its next command as soon as this one is killed: both are news to it at
	 * the same time, when it is interrupted. */
	if (ask->interrupt && leader)
		(void)kill(leader, SIGSTOP);
	let_fork(i, find(i->boot, ask->leaf), false);
	look(c);
}
