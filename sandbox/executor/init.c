/* SPDX-License-Identifier: MIT */
/* init.c - see init.h. */
#include "sandbox/executor/init.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/ctl.h"
#include "sandbox/executor/cage.h"
#include "sandbox/executor/loop.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/shed.h"
#include "sandbox/executor/start.h"
#include "sandbox/inside.h"

#define CHILDREN_MAX 1024 /* started and not yet reaped, for both askers together */
#define REAP_BATCH 256	  /* then others get their turn: orphans may come without end */

/* Who asked for a process, and hears of it. */
enum asker { HOST, SERVER, ASKERS };

struct init {
	struct loop loop;
	struct ctl_boot *boot;
	struct starter starter;
	struct source ask[ASKERS], signals;
	struct timer deadline, reap_more;
	pid_t server;
	struct child *children;
	unsigned n_children;
	bool ended;
	struct err why; /* code 0: the host wanted it */
};

/* A process that somebody asked for, until it is reaped. */
struct child {
	struct child *next;
	struct init *init;
	struct source status; /* fd -1 once it is known how the start went */
	pid_t pid;
	uint32_t tag;
	enum asker asker;
	bool started, gives;
	int fds[3];
	unsigned n_fds;
};

static void end(struct init *i, const struct err *why)
{
	if (why)
		err_keep(&i->why, why);
	i->ended = true;
}

static void tell(struct init *i, enum asker asker, const struct ctl_message *m)
{
	struct err e = { 0 };

	if (i->ask[asker].fd < 0)
		return; /* the host of a session that outlives it */
	/* The server's end never blocks: one that does not read has failed, and init goes on. */
	if (ctl_send(i->ask[asker].fd, m, &e) < 0 && !(asker == HOST && e.code == EPIPE))
		end(i, &e);
}

static void tell_failed(struct init *i, enum asker asker, uint32_t tag, const struct err *why,
			bool exec)
{
	struct ctl_message m = { .kind = CTL_FAILED,
				 .failed = { .tag = tag, .code = why->code, .exec = exec } };

	memcpy(m.failed.text, why->text, sizeof(m.failed.text));
	tell(i, asker, &m);
}

static void close_fds(struct child *c)
{
	for (unsigned k = 0; k < c->n_fds; k++)
		drop_fd(&c->fds[k]);
	c->n_fds = 0;
}

static void status_close(struct child *c)
{
	loop_remove(&c->init->loop, &c->status);
	drop_fd(&c->status.fd);
	close_fds(c);
}

static void tell_started(struct child *c)
{
	struct ctl_message m = { .kind = CTL_STARTED,
				 .started = { .tag = c->tag, .pid = c->pid, .n_fds = c->n_fds } };
	struct err e = { 0 };

	/* Killed before it had made them: there is nothing to tell of as started. */
	if (c->gives && !c->n_fds) {
		(void)err_code(&e, ECHILD, "start: the process ended before it began");
		tell_failed(c->init, c->asker, c->tag, &e, false);
		return;
	}
	memcpy(m.started.fds, c->fds, sizeof(m.started.fds));
	tell(c->init, c->asker, &m);
	c->started = true;
}

static void status_ready(struct source *source, uint32_t events)
{
	struct child *c = container_of(source, struct child, status);
	struct start_report r;
	struct err e = { 0 };
	int ret = start_report_take(source->fd, &r, &e);

	(void)events;
	if (ret == -EAGAIN)
		return;
	if (ret > 0 && !r.err.code) {
		close_fds(c);
		memcpy(c->fds, r.fds, sizeof(c->fds));
		c->n_fds = r.n_fds;
		return;
	}
	if (ret > 0)
		tell_failed(c->init, c->asker, c->tag, &r.err, r.exec);
	else if (ret == 0)
		tell_started(c);
	else
		tell_failed(c->init, c->asker, c->tag, &e, false);
	status_close(c);
}

static struct child *child_new(struct init *i, enum asker asker, const struct ctl_start *request)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->init = i;
	c->asker = asker;
	c->tag = request->tag;
	c->gives = request->flags & (CTL_START_TTY | CTL_START_PIPES | CTL_START_HELPER);
	memset(c->fds, -1, sizeof(c->fds));
	c->status = (struct source) { .fd = -1, .events = EPOLLIN, .ready = status_ready };
	return c;
}

static int begin(struct init *i, enum asker asker, const struct ctl_start *request, struct err *e)
{
	struct child *c;
	int ret;

	if (i->n_children == CHILDREN_MAX)
		return err_code(e, EAGAIN, "start: %d processes are in hand", CHILDREN_MAX);
	c = child_new(i, asker, request);
	if (!c)
		return err_code(e, ENOMEM, "start: no memory");
	ret = start_process(&i->starter, request, &c->pid, &c->status.fd, e);
	if (ret < 0) {
		free(c);
		return ret;
	}
	c->next = i->children;
	i->children = c;
	i->n_children++;
	ret = loop_add(&i->loop, &c->status, e);
	if (ret < 0)
		end(i, e); /* nobody would ever hear of this process */
	return 0;
}

static void on_start(struct init *i, enum asker asker, struct ctl_message *m)
{
	struct err e = { 0 };

	/* The server holds sockets of the host's network. It has no way to send one, and even so. */
	if (asker == SERVER && m->start.n_fds) {
		(void)err_code(&e, EPROTO, "the server sent a descriptor");
		end(i, &e);
		return;
	}
	if (begin(i, asker, &m->start, &e) < 0)
		tell_failed(i, asker, m->start.tag, &e, false);
}

static void on_signal(struct init *i, enum asker asker, struct ctl_message *m)
{
	for (struct child *c = i->children; c; c = c->next) {
		if (c->asker != asker || c->tag != m->signal.tag)
			continue;
		/* Not reaped yet, so the number is still its own. It may have ended by itself. */
		(void)kill(m->signal.group ? -c->pid : c->pid, m->signal.signal);
		return;
	}
}

static void on_end(struct init *i, enum asker asker, struct ctl_message *m)
{
	(void)m;
	if (asker == HOST)
		end(i, NULL);
}

/* A connection to a port inside, for one that was published. The server moves the bytes. */
static int connect_inside(uint16_t port, struct err *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, "connect: socket");
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return err_errno(e, "connect to port %u inside", port);
	return take_fd(&fd);
}

static void on_connect(struct init *i, enum asker asker, struct ctl_message *m)
{
	struct ctl_message answer = { .kind = CTL_STARTED,
				      .started = { .tag = m->connect.tag, .n_fds = 1 } };
	struct err e = { 0 };
	autoclose int fd = connect_inside(m->connect.port, &e);

	if (fd < 0) {
		tell_failed(i, asker, m->connect.tag, &e, false);
		return;
	}
	answer.started.fds[0] = fd;
	tell(i, asker, &answer);
}

static void on_ready(struct init *i, enum asker asker, struct ctl_message *m)
{
	if (asker == SERVER)
		tell(i, HOST, m);
}

static void on_failed(struct init *i, enum asker asker, struct ctl_message *m)
{
	struct err e = { 0 };

	if (asker != SERVER)
		return;
	(void)err_code(&e, m->failed.code ? m->failed.code : EIO, "%s", m->failed.text);
	end(i, &e);
}

static void (*const handlers[])(struct init *, enum asker, struct ctl_message *) = {
	[CTL_START] = on_start,	    [CTL_SIGNAL] = on_signal, [CTL_END] = on_end,
	[CTL_CONNECT] = on_connect, [CTL_READY] = on_ready,   [CTL_FAILED] = on_failed,
};

static void asker_gone(struct init *i, enum asker asker)
{
	struct err e = { 0 };

	loop_remove(&i->loop, &i->ask[asker]);
	drop_fd(&i->ask[asker].fd);
	if (asker == SERVER) {
		(void)err_code(&e, EPIPE, "the server is gone");
		end(i, &e);
	} else if (i->boot->exit_on_eof) {
		end(i, NULL);
	}
}

static void asked(struct init *i, enum asker asker)
{
	struct ctl_message m = { 0 };
	struct err e = { 0 };
	int ret = ctl_receive(i->ask[asker].fd, &m, &e);

	if (ret == -EAGAIN)
		return;
	if (ret < 0)
		end(i, &e);
	else if (ret == 0)
		asker_gone(i, asker);
	else if (m.kind < ARRAY_LEN(handlers) && handlers[m.kind])
		handlers[m.kind](i, asker, &m);
	ctl_message_clear(&m);
}

static void host_ready(struct source *source, uint32_t events)
{
	(void)events;
	asked(container_of(source, struct init, ask[HOST]), HOST);
}

static void server_ready(struct source *source, uint32_t events)
{
	(void)events;
	asked(container_of(source, struct init, ask[SERVER]), SERVER);
}

static void tell_exited(const struct child *c, int wait_status, const struct rusage *used)
{
	const struct timeval *user = &used->ru_utime, *system = &used->ru_stime;
	struct ctl_message m = { .kind = CTL_EXITED,
				 .exited = { .tag = c->tag, .wait_status = wait_status } };

	m.exited.cpu_us = (uint64_t)(user->tv_sec + system->tv_sec) * 1000000 +
			  (uint64_t)(user->tv_usec + system->tv_usec);
	m.exited.peak_rss_bytes = (uint64_t)used->ru_maxrss * 1024;
	tell(c->init, c->asker, &m);
}

static void child_ended(struct init *i, pid_t pid, int wait_status, const struct rusage *used)
{
	struct child **at = &i->children, *c;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	c = *at;
	if (!c)
		return; /* an orphan */
	/* Its end may be seen before what it said (descriptors, then how it went): that comes first. */
	for (int k = 0; k < 2 && c->status.fd >= 0; k++)
		status_ready(&c->status, EPOLLIN);
	if (c->status.fd >= 0)
		status_close(c);
	if (c->started)
		tell_exited(c, wait_status, used);
	*at = c->next;
	i->n_children--;
	free(c);
}

static void reap(struct init *i)
{
	struct err e = { 0 };
	struct rusage used;
	int status;

	for (int n = 0; n < REAP_BATCH; n++) {
		pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &used);

		if (pid <= 0)
			return;
		if (pid == i->server) {
			(void)err_code(&e, ECHILD, "the server ended (wait status %#x)",
				       (unsigned)status);
			end(i, &e);
			return;
		}
		child_ended(i, pid, status, &used);
	}
	loop_arm(&i->loop, &i->reap_more, 0);
}

static void signal_ready(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	/* Taken off before looking: what ends after this rings again. */
	if (read(source->fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
		return;
	reap(container_of(source, struct init, signals));
}

static void reap_more(struct timer *timer)
{
	reap(container_of(timer, struct init, reap_more));
}

static void deadline_passed(struct timer *timer)
{
	end(container_of(timer, struct init, deadline), NULL);
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

/* What was the server's alone: the key, and every socket of the host's network. */
static void forget(const struct init_fds *fds, struct ctl_boot *boot)
{
	explicit_bzero(boot->key, sizeof(boot->key));
	for (unsigned k = 0; k < boot->n_listeners; k++)
		drop_fd(&boot->listeners[k]);
	for (unsigned k = 0; k < boot->n_publish; k++)
		drop_fd(&boot->publish[k].listener);
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
	i->deadline.fire = deadline_passed;
	i->reap_more.fire = reap_more;
	if (shed_caps(e) < 0 || map_filter(i, e) < 0 || loop_init(&i->loop, e) < 0 ||
	    watch_signals(i, e) < 0 || loop_add(&i->loop, &i->ask[HOST], e) < 0 ||
	    loop_add(&i->loop, &i->ask[SERVER], e) < 0)
		return -e->code;
	if (i->boot->deadline_ms)
		loop_arm(&i->loop, &i->deadline, loop_now() + i->boot->deadline_ms);
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
