/* SPDX-License-Identifier: MIT */
/* init_ask.c - what init is asked for, by the host and by its server, and what it tells them. */
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "sandbox/executor/init_parts.h"
#include "sandbox/executor/leaf.h"

void init_end(struct init *i, const struct err *why)
{
	if (why)
		err_keep(&i->why, why);
	i->ended = true;
}

void init_tell(struct init *i, enum asker asker, const struct ctl_message *m)
{
	struct err e = { 0 };

	if (i->ask[asker].fd < 0)
		return; /* the host of a session that outlives it */
	/* The server's end never blocks: one that does not read has failed, and init goes on. */
	if (ctl_send(i->ask[asker].fd, m, &e) < 0 && !(asker == HOST && e.code == EPIPE))
		init_end(i, &e);
}

void init_tell_failed(struct init *i, enum asker asker, uint32_t tag, const struct err *why,
		      bool exec)
{
	struct ctl_message m = { .kind = CTL_FAILED,
				 .failed = { .tag = tag, .code = why->code, .exec = exec } };

	memcpy(m.failed.text, why->text, sizeof(m.failed.text));
	init_tell(i, asker, &m);
}

static void on_start(struct init *i, enum asker asker, struct ctl_message *m)
{
	struct err e = { 0 };

	/* The server holds sockets of the host's network. It has no way to send one, and even so. */
	if (asker == SERVER && m->start.n_fds) {
		(void)err_code(&e, EPROTO, "the server sent a descriptor");
		init_end(i, &e);
		return;
	}
	if (asker == SERVER && i->boot->as_root)
		m->start.flags |= CTL_START_ROOT;
	if (child_begin(i, asker, &m->start, &e) < 0)
		init_tell_failed(i, asker, m->start.tag, &e, false);
}

static void on_signal(struct init *i, enum asker asker, struct ctl_message *m)
{
	const struct child *c = child_find(i, asker, m->signal.tag);

	/* Not reaped yet, so the number is still its own. It may have ended by itself. */
	if (c)
		(void)kill(m->signal.group ? -c->pid : c->pid, m->signal.signal);
}

static void on_end(struct init *i, enum asker asker, struct ctl_message *m)
{
	(void)m;
	if (asker == HOST)
		init_end(i, NULL);
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
		init_tell_failed(i, asker, m->connect.tag, &e, false);
		return;
	}
	answer.started.fds[0] = fd;
	init_tell(i, asker, &answer);
}

/* The process that the server means, where it lives; it may ask about its own alone. */
static pid_t leader_of(const struct init *i, const struct ctl_ask *ask)
{
	const struct child *c = ask->of ? child_find(i, SERVER, ask->of) : NULL;

	return c ? c->pid : 0;
}

static void on_move(struct init *i, enum asker asker, struct ctl_message *m)
{
	if (asker == SERVER)
		leaf_move(i, &m->ask, leader_of(i, &m->ask));
}

static void on_clear(struct init *i, enum asker asker, struct ctl_message *m)
{
	if (asker == SERVER)
		leaf_clear(i, &m->ask, leader_of(i, &m->ask));
}

/* What ends a session in time, or waits for what stands still, is told by this loop. */
static void on_stand(struct init *i, enum asker asker, struct ctl_message *m)
{
	(void)m;
	if (asker == SERVER)
		loop_stand(&i->loop);
}

static void on_go(struct init *i, enum asker asker, struct ctl_message *m)
{
	(void)m;
	if (asker == SERVER)
		loop_go(&i->loop);
}

static void on_ready(struct init *i, enum asker asker, struct ctl_message *m)
{
	if (asker == SERVER)
		init_tell(i, HOST, m);
}

static void on_failed(struct init *i, enum asker asker, struct ctl_message *m)
{
	struct err e = { 0 };

	if (asker != SERVER)
		return;
	(void)err_code(&e, m->failed.code ? m->failed.code : EIO, "%s", m->failed.text);
	init_end(i, &e);
}

static void (*const handlers[])(struct init *, enum asker, struct ctl_message *) = {
	[CTL_START] = on_start,	    [CTL_SIGNAL] = on_signal, [CTL_END] = on_end,
	[CTL_CONNECT] = on_connect, [CTL_READY] = on_ready,   [CTL_FAILED] = on_failed,
	[CTL_MOVE] = on_move,	    [CTL_CLEAR] = on_clear,   [CTL_STAND] = on_stand,
	[CTL_GO] = on_go,
};

static void asker_gone(struct init *i, enum asker asker)
{
	struct err e = { 0 };

	loop_remove(&i->loop, &i->ask[asker]);
	drop_fd(&i->ask[asker].fd);
	if (asker == SERVER) {
		(void)err_code(&e, EPIPE, "the server is gone");
		init_end(i, &e);
	} else if (i->boot->exit_on_eof) {
		init_end(i, NULL);
	}
}

void init_asked(struct init *i, enum asker asker)
{
	struct ctl_message m = { 0 };
	struct err e = { 0 };
	int ret = ctl_receive(i->ask[asker].fd, &m, &e);

	if (ret == -EAGAIN)
		return;
	if (ret < 0)
		init_end(i, &e);
	else if (ret == 0)
		asker_gone(i, asker);
	else if (m.kind < ARRAY_LEN(handlers) && handlers[m.kind])
		handlers[m.kind](i, asker, &m);
	ctl_message_clear(&m);
}
