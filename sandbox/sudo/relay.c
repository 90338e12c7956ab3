/* SPDX-License-Identifier: MIT */
/* relay.c - see relay.h.
 *
 * Signals are read, not handled: so that one at any time is as good as at any other. Those that the
 * caller ignores stay ignored. */
#include "sandbox/sudo/relay.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int watched[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGUSR1,
			       SIGUSR2, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH };

static void watched_set(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
		struct sigaction now;

		if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			(void)sigaddset(set, watched[i]);
	}
}

static void say(const struct relay *r, const struct sudo_message *m)
{
	struct err unheard;

	/* A monitor that is gone is seen as the end of the connection. */
	if (sudo_send(r->connection, m, &unheard) < 0)
		return;
}

static void pass_signal(const struct relay *r, int number)
{
	const struct sudo_message m = { .kind = SUDO_SIGNAL, .signal = number };

	say(r, &m);
}

static void go_on(const struct relay *r, bool foreground)
{
	const struct sudo_message m = { .kind = SUDO_GO_ON, .foreground = foreground };

	say(r, &m);
}

static bool take_terminal(struct relay *r)
{
	struct err e;

	/* A terminal that cannot be set is none to be in the foreground of. */
	return tty_in_front(r->tty) && tty_raw(r->tty, r->piped, &e) == 0;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Returns what read(2) did; the chunk must be empty. */
static ssize_t fill(struct relay_bytes *b, int fd)
{
	ssize_t n = read(fd, b->bytes, sizeof(b->bytes));

	b->from = 0;
	b->len = n > 0 ? (size_t)n : 0;
	return n;
}

static ssize_t empty(struct relay_bytes *b, int fd)
{
	ssize_t n = write(fd, b->bytes + b->from, b->len);

	if (n > 0) {
		b->from += (size_t)n;
		b->len -= (size_t)n;
	}
	return n;
}

static bool only_later(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void read_terminal(struct relay *r)
{
	ssize_t n = fill(&r->in, r->tty->fd);

	if (n > 0 || only_later(n))
		return;
	r->input_over = true;
	pass_signal(r, SIGHUP);
}

static void write_terminal(struct relay *r)
{
	if (empty(&r->out, r->tty->fd) >= 0 || only_later(-1))
		return;
	r->output_over = true;
	r->out.len = 0;
}

/* False where nothing is to be had now. */
static bool read_command(struct relay *r)
{
	ssize_t n = fill(&r->out, r->tty->master);

	if (r->output_over)
		r->out.len = 0;
	if (n > 0)
		return true;
	/* EIO: nobody has the other end any more. */
	if (!only_later(n))
		drop_fd(&r->tty->master);
	return false;
}

static void write_command(struct relay *r)
{
	if (empty(&r->in, r->tty->master) < 0 && !only_later(-1))
		r->in.len = 0;
}

/* ---- stops and signals ------------------------------------------------------------------------ */

/* Stop as the command did, and the others of the job with us. False where there is nobody who could
 * let us go on again: then the kernel does not stop us either. */
static bool stop(const struct relay *r, int number)
{
	sigset_t this, before, pending;

	(void)sigemptyset(&this);
	(void)sigaddset(&this, number);
	(void)sigprocmask(SIG_UNBLOCK, &this, &before); /* cannot fail with these arguments */
	(void)kill(r->tty->fd < 0 || number == SIGSTOP ? getpid() : 0, number);
	/* Here we stand still. SIGCONT is held back: it is there if it was that. */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

/* The command can mean us, and would hear itself. */
static bool is_from_command(const struct relay *r, const struct signalfd_siginfo *s)
{
	pid_t from = (pid_t)s->ssi_pid;

	return s->ssi_code == SI_USER && from > 0 &&
	       (from == r->command || getpgid(from) == r->command);
}

/* Passed on? Then somebody wants the command to do something, most likely to end. */
static bool take_signal(struct relay *r)
{
	struct signalfd_siginfo s;

	if (read(r->signals, &s, sizeof(s)) != sizeof(s))
		return false;
	if (s.ssi_signo == SIGWINCH) {
		tty_resize(r->tty);
		return false;
	}
	if (s.ssi_signo == SIGCONT) {
		/* The shell may have given us the foreground while we ran. */
		if (!r->piped && !r->tty->raw && take_terminal(r))
			go_on(r, true);
		return false;
	}
	if (is_from_command(r, &s))
		return false;
	pass_signal(r, (int)s.ssi_signo);
	return true;
}

/* All that was written before: the kernel moves it before a read says that there is nothing. A
 * terminal that takes nothing keeps nobody waiting who asks us to end. */
static void flush(struct relay *r)
{
	while (r->tty->master >= 0 || r->out.len) {
		struct pollfd wait[] = { { .fd = r->tty->fd, .events = POLLOUT },
					 { .fd = r->signals, .events = POLLIN } };

		if (!r->out.len && (r->tty->master < 0 || !read_command(r)))
			return;
		if (!r->out.len)
			continue;
		if (poll(wait, ARRAY_LEN(wait), -1) < 0 || (wait[1].revents && take_signal(r)))
			return;
		if (wait[0].revents)
			write_terminal(r);
	}
}

static void command_stopped(struct relay *r, int number)
{
	bool wants_terminal = number == SIGTTIN || number == SIGTTOU;

	if (wants_terminal && take_terminal(r)) {
		go_on(r, true);
		return;
	}
	flush(r);
	tty_restore(r->tty);
	if (!stop(r, number) && wants_terminal)
		pass_signal(r, SIGHUP); /* it would ask for ever */
	go_on(r, !r->piped && take_terminal(r));
}

static int hear(struct relay *r, struct err *e)
{
	struct sudo_message m = { 0 };
	int ret = sudo_receive(r->connection, &m, e);

	if (ret == 0)
		return err_code(e, ECHILD, "the process that looked after the command was killed");
	if (ret < 0)
		return ret;
	if (m.kind == SUDO_STOPPED) {
		command_stopped(r, m.signal);
	} else if (m.kind == SUDO_ENDED) {
		r->ended = true;
		r->wait_status = m.wait_status;
	}
	sudo_message_clear(&m);
	return 0;
}

/* ---- the loop --------------------------------------------------------------------------------- */

enum { CONNECTION, SIGNALS, TERMINAL, COMMAND, WAITS };

static void what_to_wait_for(const struct relay *r, struct pollfd w[WAITS])
{
	const struct tty *t = r->tty;
	bool reads = t->raw && !r->input_over && !r->in.len, writes = r->out.len > 0;

	w[CONNECTION] = (struct pollfd) { .fd = r->connection, .events = POLLIN };
	w[SIGNALS] = (struct pollfd) { .fd = r->signals, .events = POLLIN };
	/* A hang-up is told of whatever is waited for: none is waited for where nothing is to be done. */
	w[TERMINAL] = (struct pollfd) { .fd = reads || writes ? t->fd : -1,
					.events = (short)((reads ? POLLIN : 0) |
							  (writes ? POLLOUT : 0)) };
	w[COMMAND] = (struct pollfd) { .fd = t->master,
				       .events = (short)((r->out.len ? 0 : POLLIN) |
							 (r->in.len ? POLLOUT : 0)) };
}

static void move_bytes(struct relay *r, const struct pollfd w[WAITS])
{
	if (w[TERMINAL].revents && r->out.len)
		write_terminal(r);
	if (w[TERMINAL].revents & ~POLLOUT && r->tty->raw && !r->in.len && !r->input_over)
		read_terminal(r);
	if (w[COMMAND].revents && r->in.len)
		write_command(r);
	if (w[COMMAND].revents & ~POLLOUT && !r->out.len)
		(void)read_command(r);
}

static int turn(struct relay *r, struct err *e)
{
	struct pollfd w[WAITS];

	what_to_wait_for(r, w);
	if (poll(w, WAITS, -1) < 0)
		return errno == EINTR ? 0 : err_errno(e, "poll");
	move_bytes(r, w);
	if (w[SIGNALS].revents)
		(void)take_signal(r);
	return w[CONNECTION].revents ? hear(r, e) : 0;
}

static int begin(struct relay *r, struct err *e)
{
	sigset_t set;

	watched_set(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signals < 0)
		return err_errno(e, "signalfd");
	tty_resize(r->tty); /* it may have changed since it was described */
	if (r->piped || !tty_in_front(r->tty))
		return 0;
	if (tty_raw(r->tty, false, e) < 0)
		return -e->code;
	if (!r->in_front)
		go_on(r, true);
	return 0;
}

int relay_run(struct relay *r, int *wait_status, struct err *e)
{
	int ret = begin(r, e);

	while (ret == 0 && !r->ended)
		ret = turn(r, e);
	flush(r);
	tty_restore(r->tty);
	drop_fd(&r->signals);
	if (ret == 0)
		*wait_status = r->wait_status;
	return ret;
}
