/* SPDX-License-Identifier: MIT */
/* sudo_command.c - see sudo_command.h. Everything below become_command() runs in the child. */
#include "sandbox/executor/sudo_command.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

#define OUTCOME_FD 3 /* where the child keeps its end, behind stdin, stdout and stderr */
#define SIGNALS_MAX 64

struct command {
	const struct sudo_request *r;
	const struct ctl_boot *boot;
	int slave, outcome;
};

static size_t list_len(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool has_variable(char *const *env, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (; env && *env; env++)
		if (strncmp(*env, entry, len) == 0 && (*env)[len] == '=')
			return true;
	return false;
}

char **sudo_command_env(char *const *request, char *const *session)
{
	char **env = calloc(list_len(request) + list_len(session) + 1, sizeof(*env));
	size_t n = 0;

	if (!env)
		return NULL;
	for (; request && *request; request++)
		env[n++] = *request;
	for (; session && *session; session++)
		if (!has_variable(env, *session))
			env[n++] = *session;
	return env;
}

static void __attribute__((noreturn)) fail(const struct command *c, const struct err *e)
{
	struct err unheard;

	/* The monitor is gone if this fails; nobody is left to be told. */
	if (io_write_all(c->outcome, e, sizeof(*e), &unheard) < 0)
		_exit(126);
	_exit(1);
}

/* As they are for the caller: what he ignores stays ignored, which nohup(1) counts on. */
static void set_signals(uint64_t ignored)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, none = { .sa_handler = SIG_IGN };
	sigset_t empty;

	for (int s = 1; s <= SIGNALS_MAX; s++)
		(void)sigaction(s, ignored & UINT64_C(1) << (s - 1) ? &none : &plain,
				NULL); /* SIGKILL, SIGSTOP and libc's own refuse */
	(void)sigemptyset(&empty);
	(void)sigprocmask(SIG_SETMASK, &empty, NULL); /* cannot fail with these arguments */
}

/* From behind, a process that takes the foreground is stopped for it, unless it holds that back. */
static int take_foreground(int slave, struct err *e)
{
	sigset_t stop, before;
	int ret;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &stop, &before); /* as above */
	ret = tcsetpgrp(slave, getpid());
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return ret < 0 ? err_errno(e, "take the terminal's foreground") : 0;
}

/* A line of our own on the command's stderr, as the caller would see it from any sudo. */
static void warn(const struct command *c, const char *what)
{
	int fd = c->r->fds[2] >= 0 ? c->r->fds[2] : c->slave;

	(void)dprintf(fd, "sudo: %s: %s\n", what, strerror(errno));
}

static int change_dir(const struct command *c, struct err *e)
{
	const struct sudo_request *r = c->r;
	bool here = r->dir >= 0 && fchdir(r->dir) == 0;

	/* Another sudo is there already; ours has to enter, with the rights of who it is now. */
	if (r->dir >= 0 && !here && !r->cwd)
		warn(c, "the command begins in '/': the current directory cannot be entered");
	if (r->cwd && chdir(r->cwd) == 0)
		return 0;
	if (r->cwd && !(r->flags & SUDO_TRY_CWD))
		return err_errno(e, "enter '%s'", r->cwd);
	if (r->cwd)
		warn(c, "the home directory cannot be entered");
	if (here)
		return 0;
	return chdir("/") < 0 ? err_errno(e, "enter '/'") : 0;
}

/* Descriptors 0, 1 and 2 are the command's, OUTCOME_FD is ours until exec, and nothing else is. */
static int arrange_fds(struct command *c, struct err *e)
{
	int all[4] = { c->r->fds[0], c->r->fds[1], c->r->fds[2], c->outcome }, high[4];

	/* Out of the way first: one of them may stand where another belongs. */
	for (int i = 0; i < 4; i++) {
		high[i] = fcntl(all[i] < 0 ? c->slave : all[i], F_DUPFD_CLOEXEC, 10);
		if (high[i] < 0)
			return err_errno(e, "descriptor %d", i);
	}
	for (int i = 0; i < 4; i++)
		if (dup3(high[i], i, i == OUTCOME_FD ? O_CLOEXEC : 0) < 0)
			return err_errno(e, "descriptor %d", i);
	c->outcome = OUTCOME_FD;
	if (syscall(SYS_close_range, OUTCOME_FD + 1, UINT_MAX, 0) < 0)
		return err_errno(e, "close_range");
	return 0;
}

static int prepare(struct command *c, struct err *e)
{
	const struct sudo_request *r = c->r;

	if (setpgid(0, 0) < 0)
		return err_errno(e, "process group");
	if (r->flags & SUDO_FOREGROUND && c->slave >= 0 && take_foreground(c->slave, e) < 0)
		return -e->code;
	if (change_dir(c, e) < 0 || arrange_fds(c, e) < 0)
		return -e->code;
	(void)umask((mode_t)r->umask);
	set_signals(r->ignored);
	return 0;
}

static void __attribute__((noreturn)) become_command(struct command *c)
{
	const struct sudo_request *r = c->r;
	char **env = sudo_command_env(r->env, c->boot->env);
	struct err e = { 0 };

	if (!env)
		(void)err_code(&e, ENOMEM, "environment");
	if (!env || prepare(c, &e) < 0)
		fail(c, &e);
	/* execvp looks in the PATH of `environ`; a script without "#!" goes to /bin/sh. */
	environ = env;
	(void)execvp(r->program, r->argv);
	if (errno == ENOENT && (!strchr(r->program, '/') || access(r->program, F_OK) < 0))
		(void)err_code(&e, ENOENT, "%s: command not found", r->program);
	else
		(void)err_errno(&e, "%s", r->program);
	fail(c, &e);
}

/* Its end of the pipe closes on exec. */
static int await_exec(int from, struct err *e)
{
	struct err said, broken;
	ssize_t n = io_read_full(from, &said, sizeof(said), &broken);

	if (n == 0)
		return 0;
	if (n != sizeof(said))
		return err_code(e, EPROTO, "the command ended before it began");
	*e = said;
	return -e->code;
}

pid_t sudo_command_start(const struct sudo_request *r, const struct ctl_boot *boot, int slave,
			 struct err *e)
{
	autoclose int from = -1, to = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	from = ends[0];
	to = ends[1];
	pid = fork();
	if (pid < 0)
		return err_errno(e, "start a process");
	if (pid == 0) {
		struct command c = { .r = r, .boot = boot, .slave = slave, .outcome = to };

		become_command(&c);
	}
	drop_fd(&to);
	return await_exec(from, e) < 0 ? -e->code : pid;
}
