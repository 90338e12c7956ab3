/* SPDX-License-Identifier: MIT */
/* init.c - see init.h: from the boot message to the end. */
#include "sandbox/executor/init.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/cage.h"
#include "sandbox/executor/init_parts.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/shed.h"
#include "sandbox/inside.h"

static void host_ready(struct source *source, uint32_t events)
{
	(void)events;
	init_asked(container_of(source, struct init, ask[HOST]), HOST);
}

static void server_ready(struct source *source, uint32_t events)
{
	(void)events;
	init_asked(container_of(source, struct init, ask[SERVER]), SERVER);
}

static void signal_ready(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	/* Taken off before looking: what ends after this rings again. */
	if (read(source->fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
		return;
	children_reap(container_of(source, struct init, signals));
}

static void reap_more(struct timer *timer)
{
	children_reap(container_of(timer, struct init, reap_more));
}

static void deadline_passed(struct timer *timer)
{
	init_end(container_of(timer, struct init, deadline), NULL);
}

static int receive_boot(int ctl, struct ctl_message *m, struct err *e)
{
	int ret = ctl_receive(ctl, m, e);

	if (ret < 0)
		return ret;
	if (ret == 0 || m->kind != CTL_BOOT)
		return err_code(e, EPROTO, "init: no boot message");
	if (!m->boot.key[0] || !m->boot.workspace || m->boot.filter < 0)
		return err_code(e, EINVAL, "init: a boot message without key, workspace or filter");
	return 0;
}

/* What the other end of a link hears when this process cannot go on. */
static void last_words(int link, const struct err *e)
{
	struct ctl_message m = { .kind = CTL_FAILED, .failed = { .code = e->code } };
	struct err unheard;

	memcpy(m.failed.text, e->text, sizeof(m.failed.text));
	if (ctl_send(link, &m, &unheard) < 0)
		return; /* the end itself is told by end-of-file */
}

/* The server counts, and asks init for all else. */
static void drop_ways_in(struct ctl_leaf *l)
{
	for (unsigned k = 0; k < l->n_tasks; k++)
		drop_fd(&l->tasks[k]);
	l->n_tasks = 0;
	drop_fd(&l->dir);
	drop_fd(&l->procs);
	drop_fd(&l->list);
	drop_fd(&l->pids_max);
}

static void __attribute__((noreturn))
become_server(const struct init_fds *fds, struct ctl_boot *boot, int link)
{
	struct err e = { 0 };

	(void)close(fds->ctl);
	(void)close(fds->userns);
	drop_fd(&boot->filter);
	drop_fd(&boot->work_group_dir);
	for (unsigned k = 0; k < boot->n_work_groups; k++)
		drop_fd(&boot->work_groups[k]);
	for (unsigned k = 0; k < boot->n_leaves; k++)
		drop_ways_in(&boot->leaves[k]);
	if (shed_to_server(boot->server_uid, boot->server_gid, boot->single_id, &e) < 0 ||
	    server_run(boot, fds->listener, link, &e) < 0)
		last_words(link, &e);
	_exit(1);
}

/* The server is forked before anything else is made, so it holds nothing but what it needs. */
static int fork_server(struct init *i, const struct init_fds *fds, struct err *e)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int ours, theirs;

	if (ctl_pair(&ours, &theirs, e) < 0)
		return -e->code;
	i->server = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (i->server < 0)
		return err_errno(e, "init: fork the server");
	if (i->server == 0) {
		(void)close(ours);
		become_server(fds, i->boot, theirs);
	}
	(void)close(theirs);
	i->ask[SERVER].fd = ours;
	/* With one id for all it is the workload's filter that keeps signals from it, by this number. */
	if (i->boot->single_id && i->server > INSIDE_PID_SERVER_LAST)
		return err_code(e, EPROTO, "init: the server is process %d", (int)i->server);
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(e, "init: server link");
	return 0;
}

/* What was the server's alone: the key, every socket of the host's network, and what it counts by. */
static void forget(const struct init_fds *fds, struct ctl_boot *boot)
{
	explicit_bzero(boot->key, sizeof(boot->key));
	for (unsigned k = 0; k < boot->n_listeners; k++)
		drop_fd(&boot->listeners[k]);
	for (unsigned k = 0; k < boot->n_publish; k++)
		drop_fd(&boot->publish[k].listener);
	for (unsigned k = 0; k < boot->n_leaves; k++)
		for (unsigned c = 0; c < CTL_COUNTERS; c++)
			drop_fd(&boot->leaves[k].counter[c]);
	for (unsigned c = 0; boot->n_leaves && c < CTL_COUNTERS; c++)
		drop_fd(&boot->above[c]);
	if (fds->listener >= 0)
		(void)close(fds->listener);
}

/* Mapped, not read: the bytes stay shared with every other session of this policy. */
static int map_filter(struct init *i, struct err *e)
{
	struct stat st;
	void *bytes;

	if (fstat(i->boot->filter, &st) < 0)
		return err_errno(e, "init: filter");
	if (st.st_size <= 0)
		return err_code(e, EINVAL, "init: the filter is empty");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, i->boot->filter, 0);
	if (bytes == MAP_FAILED)
		return err_errno(e, "init: map the filter");
	i->starter.filter = bytes;
	i->starter.filter_len = (size_t)st.st_size;
	drop_fd(&i->boot->filter);
	return 0;
}

static int watch_signals(struct init *i, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
		return err_errno(e, "init: block SIGCHLD");
	i->signals = (struct source) { .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
				       .events = EPOLLIN,
				       .ready = signal_ready };
	if (i->signals.fd < 0)
		return err_errno(e, "init: signalfd");
	return loop_add(&i->loop, &i->signals, e);
}

static int set_up(struct init *i, const struct init_fds *fds, struct err *e)
{
	i->starter = (struct starter) { .boot = i->boot, .userns = fds->userns };
	i->ask[HOST] = (struct source) { .fd = fds->ctl, .events = EPOLLIN, .ready = host_ready };
	i->ask[SERVER].events = EPOLLIN;
	i->ask[SERVER].ready = server_ready;
	notify_init(&i->notify, i);
	i->deadline.fire = deadline_passed;
	i->reap_more.fire = reap_more;
	if (shed_caps(e) < 0 || map_filter(i, e) < 0 || loop_init(&i->loop, e) < 0 ||
	    watch_signals(i, e) < 0 || loop_add(&i->loop, &i->ask[HOST], e) < 0 ||
	    loop_add(&i->loop, &i->ask[SERVER], e) < 0 ||
	    sudo_open(&i->sudo, &i->starter, &i->loop, e) < 0)
		return -e->code;
	if (i->boot->deadline_ms)
		loop_arm(&i->loop, &i->deadline, loop_time(&i->loop) + i->boot->deadline_ms);
	return cage_init(e);
}

static int serve(struct init *i, const struct init_fds *fds, struct err *e)
{
	int ret = fork_server(i, fds, e);

	if (ret < 0)
		return ret;
	forget(fds, i->boot);
	ret = set_up(i, fds, e);
	while (ret == 0 && !i->ended)
		ret = loop_turn(&i->loop, e);
	if (ret == 0 && i->why.code) {
		*e = i->why;
		return -e->code;
	}
	return ret;
}

int init_run(const struct init_fds *fds, struct err *e)
{
	struct ctl_message boot = { 0 };
	struct init i = { .boot = &boot.boot, .ask = { { .fd = -1 }, { .fd = -1 } } };
	int ret = receive_boot(fds->ctl, &boot, e);

	if (ret == 0)
		ret = serve(&i, fds, e);
	/* The session ends with this process: nothing else has to be released. */
	if (ret < 0)
		last_words(fds->ctl, e);
	ctl_message_clear(&boot);
	return ret;
}
