/* SPDX-License-Identifier: MIT */
/* supervise.c - see supervise.h.
 *
 * poll(2), not epoll: regular files can be among the caller's streams, which epoll refuses, and of
 * a dozen descriptors a different few are waited for each time. What the executor says is foreign:
 * it decides about its own session and about nothing else. */
#include "launch/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "launch/powers.h"

#define HANGUP_GRACE_MS 2000
#define END_WAIT_MS 10000
#define MESSAGES_MAX 16 /* in one go: who floods us does not keep us from the clock */

/* Passed on to the command. */
static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,
				 SIGALRM, SIGTERM, SIGTSTP, SIGCONT, SIGVTALRM };

struct watch {
	struct launch *launch;
	struct relay *relay;
	int signals;
	struct outcome *out;
	uint64_t deadline_ns; /* 0: none */
	uint64_t hangup_ns;   /* end it then; 0: not hung up */
	unsigned end_signals; /* how many SIGINT and SIGTERM came */
	bool over;
};

static void our_signals(sigset_t *set)
{
	(void)sigemptyset(set); /* none of these can fail */
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
		(void)sigaddset(set, passed_on[i]);
	(void)sigaddset(set, SIGWINCH);
}

int supervise_signals(struct err *e)
{
	sigset_t read_from, blocked;
	int fd;

	our_signals(&read_from);
	blocked = read_from;
	/* Blocked and never read: a write to a closed pipe says EPIPE. */
	(void)sigaddset(&blocked, SIGPIPE);
	fd = signalfd(-1, &read_from, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(e, "signalfd");
	(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
	return fd;
}

void supervise_signals_end(void)
{
	sigset_t set;

	our_signals(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void send_signal(struct watch *w, int number)
{
	struct ctl_message m = {
		.kind = CTL_SIGNAL,
		.signal = { .tag = SUPERVISE_TAG, .signal = number, .group = true }
	};
	struct err e = { 0 };

	if (ctl_send(w->launch->ctl, &m, &e) < 0)
		log_debug("signal %d: %s", number, e.text);
}

/* Stop, as the caller's shell wants it, and the command with us. */
static void stop_both(struct watch *w)
{
	send_signal(w, SIGSTOP);
	relay_restore(w->relay);
	(void)raise(SIGSTOP);
	/* Woken by SIGCONT, which is read next. */
}

static void one_signal(struct watch *w, int number)
{
	if (number == SIGWINCH) {
		relay_resize(w->relay);
	} else if (number == SIGTSTP) {
		stop_both(w);
	} else if (number == SIGCONT) {
		relay_resume(w->relay);
		send_signal(w, SIGCONT);
	} else if ((number == SIGINT || number == SIGTERM) && ++w->end_signals >= 2) {
		w->out->ended_by = number;
		w->over = true;
	} else {
		send_signal(w, number);
	}
}

static void read_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	while (!w->over && read(w->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		one_signal(w, (int)info.ssi_signo);
}

/* The command's own end, or why it had no beginning. */
static int take_message(struct watch *w, struct ctl_message *m, struct err *e)
{
	struct outcome *out = w->out;

	switch (m->kind) {
	case CTL_STARTED:
		if (m->started.tag != SUPERVISE_TAG || m->started.n_fds != 1 || w->relay->tty ||
		    !w->relay->wants_tty)
			return 0;
		return relay_terminal(w->relay, take_fd(&m->started.fds[0]), e);
	case CTL_FAILED:
		if (m->failed.tag != SUPERVISE_TAG)
			return 0;
		out->not_started = true;
		out->exec_failed = m->failed.exec;
		out->failure.code = m->failed.code;
		memcpy(out->failure.text, m->failed.text, sizeof(out->failure.text));
		out->failure.text[sizeof(out->failure.text) - 1] = '\0';
		w->over = true;
		return 0;
	case CTL_EXITED:
		if (m->exited.tag != SUPERVISE_TAG)
			return 0;
		out->exited = true;
		out->wait_status = m->exited.wait_status;
		out->cpu_us = m->exited.cpu_us;
		out->peak_rss_bytes = m->exited.peak_rss_bytes;
		w->over = true;
		return 0;
	default:
		return 0;
	}
}

int supervise_no_word(struct err *e)
{
	return err_code(
		e, ECHILD,
		"the session's executor ended without a word: something around this command may "
		"forbid what it needs ('ohsandbox doctor' says what)");
}

static int read_messages(struct watch *w, struct err *e)
{
	for (int i = 0; i < MESSAGES_MAX && !w->over; i++) {
		struct ctl_message m;
		int r = ctl_receive(w->launch->ctl, &m, e);

		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return err_wrap(e, "the session's executor");
		if (r == 0)
			return supervise_no_word(e);
		r = take_message(w, &m, e);
		ctl_message_clear(&m);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Milliseconds until `when`, rounded up: never early, at most one late. */
static int until(uint64_t when, uint64_t now)
{
	uint64_t ms = when > now ? (when - now + 999999) / 1000000 : 0;

	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static int patience(const struct watch *w)
{
	uint64_t now = clock_ns();
	int ms = w->deadline_ns ? until(w->deadline_ns, now) : -1;

	if (w->hangup_ns && (ms < 0 || until(w->hangup_ns, now) < ms))
		ms = until(w->hangup_ns, now);
	if (w->relay->background && (ms < 0 || ms > RELAY_BACKGROUND_MS))
		ms = RELAY_BACKGROUND_MS;
	return ms;
}

static void look_at_clock(struct watch *w)
{
	uint64_t now = clock_ns();

	if (w->deadline_ns && now >= w->deadline_ns) {
		w->out->deadline = true;
		w->over = true;
	}
	if (w->hangup_ns && now >= w->hangup_ns)
		w->over = true;
	if (w->relay->hung_up && !w->hangup_ns) {
		/* The command's own terminal hangs up with ours; what ignores that has had its time. */
		w->out->hung_up = true;
		w->hangup_ns = now + HANGUP_GRACE_MS * 1000000ull;
		send_signal(w, SIGHUP);
	}
}

enum { POLL_CTL, POLL_LIFE, POLL_SIGNALS, POLL_RELAY };

static int once(struct watch *w, struct err *e)
{
	struct pollfd polls[POLL_RELAY + RELAY_POLLS] = {
		[POLL_CTL] = { .fd = w->launch->ctl, .events = POLLIN },
		[POLL_LIFE] = { .fd = w->launch->pidfd, .events = POLLIN },
		[POLL_SIGNALS] = { .fd = w->signals, .events = POLLIN },
	};
	size_t n = relay_polls(w->relay, polls + POLL_RELAY);

	if (poll(polls, POLL_RELAY + n, patience(w)) < 0 && errno != EINTR)
		return err_errno(e, "poll");
	if (polls[POLL_SIGNALS].revents)
		read_signals(w);
	if (polls[POLL_CTL].revents && read_messages(w, e) < 0)
		return -e->code;
	/* Its last words were read before. */
	if (!w->over && polls[POLL_LIFE].revents)
		return err_code(e, ECHILD, "the session's init was killed");
	if (w->relay->background)
		relay_resume(w->relay);
	relay_move(w->relay, polls + POLL_RELAY);
	look_at_clock(w);
	return 0;
}

static int kill_all(const struct launch *l, struct err *e)
{
	if (pidfd_send_signal(l->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return err_errno(e, "kill the session");
	return 0;
}

/* Its output is taken meanwhile, so that nobody who dies writing waits for us. */
int supervise_end(struct launch *l, struct relay *r, struct err *e)
{
	uint64_t give_up = clock_ns() + END_WAIT_MS * 1000000ull;
	siginfo_t info;

	for (;;) {
		struct pollfd polls[1 + RELAY_POLLS] = { { .fd = l->pidfd, .events = POLLIN } };
		size_t n = relay_polls(r, polls + 1);

		if (poll(polls, 1 + n, until(give_up, clock_ns())) < 0 && errno != EINTR)
			return err_errno(e, "poll");
		relay_move(r, polls + 1);
		if (polls[0].revents)
			break;
		if (clock_ns() >= give_up)
			return err_code(e, ETIMEDOUT, "the session's processes do not end");
	}
	(void)waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED | WNOHANG);
	return 0;
}

int supervise(struct launch *l, struct relay *r, int signals, uint64_t timeout_ms,
	      struct outcome *out, struct err *e)
{
	struct watch w = { .launch = l, .relay = r, .signals = signals, .out = out };
	struct err later = { 0 };
	int result = 0;

	if (timeout_ms)
		w.deadline_ns = clock_ns() + timeout_ms * 1000000u;
	/* A session that does not listen must not keep us from our loop. */
	if (fcntl(l->ctl, F_SETFL, O_NONBLOCK) < 0)
		result = err_errno(e, "the control socket");
	if (result == 0)
		result = powers_lower(e);
	while (result == 0 && !w.over)
		result = once(&w, e);
	relay_end_input(r);
	if ((powers_raise(&later) < 0 || kill_all(l, &later) < 0) && result == 0) {
		*e = later;
		result = -later.code;
	}
	return result;
}

void supervise_drain(struct relay *r, int signals, struct outcome *out)
{
	unsigned ends = 0;

	while (relay_pending(r) && ends < 2 && !(r->tty && r->hung_up)) {
		struct pollfd polls[1 + RELAY_POLLS] = { { .fd = signals, .events = POLLIN } };
		size_t n = relay_polls(r, polls + 1);
		struct signalfd_siginfo info;

		if (poll(polls, 1 + n, -1) < 0 && errno != EINTR)
			return;
		relay_move(r, polls + 1);
		while (polls[0].revents &&
		       read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) {
				ends++;
				out->ended_by = (int)info.ssi_signo;
			}
	}
}
