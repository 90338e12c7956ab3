/* SPDX-License-Identifier: MIT */
/* sudo_monitor.c - see sudo_monitor.h.
 *
 * With a terminal of the command's own, the monitor leads its session and the command is a job in
 * it, as under a shell: the command stops, and `sudo` stops in the caller's terminal with it, and
 * both go on when the caller's shell says so. */
#include "sandbox/executor/sudo_monitor.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/loop.h"
#include "sandbox/executor/sudo_command.h"
#include "sandbox/executor/terminal.h"

#define GRACE_MS 2000 /* between asking a command to end, and ending it */

struct monitor {
	int connection, children; /* a signalfd */
	int slave;		  /* -1: the command has no terminal of ours */
	pid_t command;
	pid_t front; /* whom the terminal's foreground goes back to when it goes on */
};

static void tell(const struct monitor *m, const struct sudo_message *message)
{
	struct err unheard;

	/* One that is gone is seen as the end of the connection. */
	if (sudo_send(m->connection, message, &unheard) < 0)
		return;
}

static void __attribute__((noreturn))
give_up(const struct monitor *m, const struct err *why, bool stranger)
{
	struct sudo_message answer = { .kind = SUDO_FAILED,
				       .failed = { .code = why->code, .stranger = stranger } };

	memcpy(answer.failed.text, why->text, sizeof(answer.failed.text));
	tell(m, &answer);
	_exit(1);
}

/* Set as the caller's is: the kernel takes from it what it knows. */
static int set_terminal(int slave, const struct sudo_terminal *t, struct err *e)
{
	struct termios now;

	if (tcgetattr(slave, &now) < 0)
		return err_errno(e, "settings of the terminal");
	now.c_iflag = t->iflag;
	now.c_oflag = t->oflag;
	now.c_cflag = t->cflag;
	now.c_lflag = t->lflag;
	memcpy(now.c_cc, t->cc, sizeof(now.c_cc));
	if (tcsetattr(slave, TCSANOW, &now) < 0)
		return err_errno(e, "set the terminal");
	return 0;
}

static int check(const struct sudo_request *r, struct err *e)
{
	bool complete = r->program && r->argv && r->argv[0];

	if (r->flags & SUDO_ASK)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(r->fds); i++)
		complete = complete && (r->fds[i] >= 0 || r->flags & SUDO_TTY);
	return complete ? 0 : err_code(e, EINVAL, "a request without a command or its descriptors");
}

/* The children's signal is waited for; what the terminal sends to who is not in its foreground, and
 * the end of the connection, are not meant to stop or end us. */
static int watch_signals(struct monitor *m, struct err *e)
{
	static const int ignored[] = {
		SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGHUP, SIGINT, SIGQUIT
	};
	sigset_t set;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			return err_errno(e, "signals");
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
	m->children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return m->children < 0 ? err_errno(e, "signalfd") : 0;
}

static void begin(struct monitor *m, const struct sudo_request *r, const struct ctl_boot *boot)
{
	struct sudo_message answer = { .kind = SUDO_STARTED, .started = { .terminal = -1 } };
	struct err e = { 0 };
	int master = -1;

	if (r->flags & SUDO_ASK) {
		tell(m, &answer);
		_exit(0);
	}
	if (r->flags & SUDO_TTY &&
	    (terminal_make(r->terminal.rows, r->terminal.cols, &master, &m->slave, &e) < 0 ||
	     set_terminal(m->slave, &r->terminal, &e) < 0))
		give_up(m, &e, false);
	if (watch_signals(m, &e) < 0)
		give_up(m, &e, false);
	m->command = m->front = sudo_command_start(r, boot, m->slave, &e);
	if (m->command < 0)
		give_up(m, &e, false);
	answer.started.pid = m->command;
	answer.started.terminal = master;
	tell(m, &answer);
	drop_fd(&master);
}

/* To the whole group; one that left it is still the command. */
static void signal_command(const struct monitor *m, int number)
{
	if (kill(-m->command, number) < 0 && errno == ESRCH)
		(void)kill(m->command, number); /* not reaped yet: the number is its own */
}

static void go_on(const struct monitor *m, bool foreground)
{
	/* A terminal that has hung up has no foreground any more. */
	if (m->slave >= 0)
		(void)tcsetpgrp(m->slave, foreground ? m->front : getpid());
	signal_command(m, SIGCONT);
}

/* The command may have given the foreground to a group of its own children, as shells do. */
static void stopped(struct monitor *m, int number)
{
	struct sudo_message told = { .kind = SUDO_STOPPED, .signal = number };
	pid_t front = m->slave >= 0 ? tcgetpgrp(m->slave) : -1;

	m->front = front > 0 && front != getpid() ? front : m->command;
	tell(m, &told);
}

static void look_at_command(struct monitor *m)
{
	struct sudo_message told = { .kind = SUDO_ENDED };
	struct signalfd_siginfo info;
	pid_t pid;

	/* Taken off before looking: what happens after this rings again. */
	if (read(m->children, &info, sizeof(info)) < 0 && errno != EAGAIN)
		_exit(1);
	do {
		pid = waitpid(m->command, &told.wait_status, WNOHANG | WUNTRACED);
		if (pid == m->command && WIFSTOPPED(told.wait_status)) {
			stopped(m, WSTOPSIG(told.wait_status));
		} else if (pid == m->command) {
			tell(m, &told);
			_exit(0);
		}
	} while (pid > 0);
}

/* It was killed, or its terminal is gone: the command is asked to end, and then ended. */
static void __attribute__((noreturn)) left_alone(struct monitor *m)
{
	static const int asking[] = { SIGHUP, SIGTERM, SIGCONT };
	struct pollfd wait = { .fd = m->children, .events = POLLIN };
	uint64_t until = loop_now() + GRACE_MS, now;

	for (size_t i = 0; i < ARRAY_LEN(asking); i++)
		signal_command(m, asking[i]);
	/* It may stop and go on all the time, which is told of too. */
	while ((now = loop_now()) < until && poll(&wait, 1, (int)(until - now)) > 0)
		look_at_command(m);
	signal_command(m, SIGKILL);
	_exit(1);
}

static void hear(struct monitor *m)
{
	struct sudo_message said = { 0 };
	struct err e = { 0 };

	if (sudo_receive(m->connection, &said, &e) <= 0)
		left_alone(m);
	if (said.kind == SUDO_SIGNAL)
		signal_command(m, said.signal);
	else if (said.kind == SUDO_GO_ON)
		go_on(m, said.foreground);
	sudo_message_clear(&said);
}

void sudo_monitor(int connection, const struct ctl_boot *boot, enum sudo_door door)
{
	struct monitor m = { .connection = connection, .children = -1, .slave = -1 };
	struct sudo_message said = { 0 };
	struct err e = { 0 };
	uid_t own = door == SUDO_DOOR_ROOT ? 0 : boot->user.uid;
	int ret = sudo_receive_request(connection, &said, &e);

	if (ret == 0)
		_exit(0);
	if (ret > 0 && said.request.uid != own) {
		(void)err_code(&e, EPERM, "the users of this session are '%s' and 'root'",
			       boot->user.name);
		give_up(&m, &e, true);
	}
	if (ret < 0 || check(&said.request, &e) < 0)
		give_up(&m, &e, false);
	begin(&m, &said.request, boot);
	sudo_message_clear(&said);
	for (;;) {
		struct pollfd wait[] = { { .fd = m.connection, .events = POLLIN },
					 { .fd = m.children, .events = POLLIN } };

		if (poll(wait, ARRAY_LEN(wait), -1) < 0)
			continue;
		if (wait[1].revents)
			look_at_command(&m);
		if (wait[0].revents)
			hear(&m);
	}
}
