/* SPDX-License-Identifier: MIT */
/* ask.c - see ask.h. */
#include "sandbox/sudo/ask.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGNALS_MAX 64

/* The map of a session with one id has one line of one id. */
static bool has_one_id(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned inside, outside, count = 0;
	bool one;

	if (!map)
		return false;
	one = fscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && count == 1;
	(void)fclose(map); /* only read */
	return one;
}

static int explain(const struct person *target, struct err *e)
{
	if (has_one_id())
		return err_code(
			e, ECONNREFUSED,
			"'%s' cannot be had: this session has a single id, because who started "
			"it has no subordinate ids ('ohsandbox doctor' says how to get them)",
			target->name);
	return err_code(e, ECONNREFUSED,
			"'%s' cannot be had: the policy of this session does not allow root",
			target->name);
}

int ask_connect(const struct person *target, struct err *e)
{
	struct sockaddr_un address;
	socklen_t len = sudo_address(target->uid ? SUDO_DOOR_USER : SUDO_DOOR_ROOT, &address);
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return err_errno(e, "socket");
	do {
		ret = connect(fd, (const struct sockaddr *)&address, len);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0 && errno == ECONNREFUSED)
		return explain(target, e);
	return ret < 0 ? err_errno(e, "connect to the session's init") : take_fd(&fd);
}

static uint64_t ignored_signals(void)
{
	uint64_t set = 0;

	for (int s = 1; s <= SIGNALS_MAX; s++) {
		struct sigaction now;

		if (sigaction(s, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			set |= UINT64_C(1) << (s - 1);
	}
	return set;
}

static mode_t own_umask(void)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return mask;
}

/* Those that are the caller's terminal stay with us: the command gets one of its own for them. */
static int fill_terminal(struct ask *a, struct sudo_request *r, struct err *e)
{
	if (a->tty->fd < 0)
		return 0;
	r->flags |= SUDO_TTY | (a->in_front ? SUDO_FOREGROUND : 0);
	for (int fd = 0; fd <= 2; fd++)
		if (tty_is_ours(fd))
			r->fds[fd] = -1;
	return tty_describe(a->tty, a->in_front, &r->terminal, e);
}

static int fill(struct ask *a, bool only, struct sudo_request *r, struct err *e)
{
	static char *none[] = { NULL };

	*r = (struct sudo_request) { .uid = a->target->uid,
				     .flags = only ? SUDO_ASK : 0,
				     .umask = own_umask(),
				     .ignored = ignored_signals(),
				     .program = a->words.program,
				     .argv = only ? none : a->words.argv,
				     .env = only ? none : a->env,
				     .fds = { -1, -1, -1 },
				     .dir = -1 };
	if (only)
		return 0;
	for (int fd = 0; fd <= 2; fd++)
		r->fds[fd] = fd;
	if (a->options->login) {
		r->cwd = a->target->home;
		r->flags |= SUDO_TRY_CWD;
	}
	if (a->options->dir) {
		r->cwd = (char *)(uintptr_t)a->options->dir;
		r->flags &= ~(uint32_t)SUDO_TRY_CWD;
	}
	return fill_terminal(a, r, e);
}

static int take_answer(struct sudo_message *m, struct ask *a, pid_t *pid, struct err *e)
{
	if (m->kind == SUDO_FAILED) {
		(void)err_code(e, m->failed.code > 0 ? m->failed.code : EPROTO, "%s",
			       m->failed.text);
		return m->failed.stranger ? err_wrap(e, "user '%s'", a->target->name) : -e->code;
	}
	if (m->kind != SUDO_STARTED)
		return err_code(e, EPROTO, "an answer of kind %d", (int)m->kind);
	*pid = m->started.pid;
	a->tty->master = take_fd(&m->started.terminal);
	if (a->tty->master >= 0 && fcntl(a->tty->master, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_errno(e, "the command's terminal");
	return 0;
}

int ask_start(int connection, struct ask *a, bool only, pid_t *pid, struct err *e)
{
	autoclose int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sudo_message m = { .kind = SUDO_REQUEST };
	struct err unsent = { 0 };
	int ret;

	if (fill(a, only, &m.request, e) < 0)
		return -e->code;
	m.request.dir = only ? -1 : dir;
	/* Who refuses may do so before he has read it all: his answer says more than our failure. */
	if (sudo_send(connection, &m, &unsent) < 0 && unsent.code == E2BIG) {
		*e = unsent;
		return -e->code;
	}
	m = (struct sudo_message) { 0 };
	ret = sudo_receive(connection, &m, e);
	if (ret == 0)
		return unsent.code ? err_code(e, unsent.code, "%s", unsent.text)
				   : err_code(e, ECHILD,
					      "no answer: the session is out of memory or "
					      "processes");
	if (ret > 0)
		ret = take_answer(&m, a, pid, e);
	sudo_message_clear(&m);
	return ret < 0 ? ret : 0;
}
