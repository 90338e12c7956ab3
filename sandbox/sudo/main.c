/* SPDX-License-Identifier: MIT */
/* main.c - `sudo` inside a session: asks the session's init for a process of another user.
 *
 * Set-user-ID programs gain nothing inside, on purpose; this one has no power of its own. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/sudo/ask.h"
#include "sandbox/sudo/env.h"
#include "sandbox/sudo/options.h"
#include "sandbox/sudo/people.h"
#include "sandbox/sudo/relay.h"
#include "sandbox/sudo/tty.h"

#define PASSWD "/etc/passwd"

struct call {
	struct options options;
	struct person caller, target;
	struct ask ask;
	struct tty tty;
};

static int complain(const struct err *e)
{
	(void)fprintf(stderr, "sudo: %s\n", e->text);
	return 1;
}

/* What is closed now would be given to something of ours, and then to the command. */
static void fill_closed(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= 2 && fcntl(fd, F_SETFD, 0) == 0);
	if (fd > 2)
		(void)close(fd);
}

static int who(struct call *c, struct err *e)
{
	const char *name = c->options.user ? c->options.user : "root";

	if (person_numbered(PASSWD, getuid(), &c->caller, e) < 0 ||
	    person_named(PASSWD, name, &c->target, e) < 0)
		return -e->code;
	c->caller.gid = getgid();
	return 0;
}

static int what(struct call *c, struct err *e)
{
	struct ask *a = &c->ask;
	struct env_case env = { .options = &c->options,
				.from = environ,
				.caller = &c->caller,
				.target = &c->target };

	if (words_make(&c->options, environ, &c->caller, &c->target, &a->words, e) < 0)
		return -e->code;
	env.words = c->options.login || c->options.shell ? a->words.argv : c->options.command;
	a->env = env_make(&env, e);
	if (!a->env || tty_open(&c->tty, e) < 0)
		return -e->code;
	a->piped = !tty_is_ours(0) || !tty_is_ours(1);
	a->in_front = !a->piped && tty_in_front(&c->tty);
	return 0;
}

/* As the command ended. */
static int end_like(int status)
{
	sigset_t this;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the core is the command's to leave */
	(void)signal(WTERMSIG(status), SIG_DFL);
	(void)sigemptyset(&this);
	(void)sigaddset(&this, WTERMSIG(status));
	(void)sigprocmask(SIG_UNBLOCK, &this, NULL); /* cannot fail with these arguments */
	(void)raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run(struct call *c, int connection, struct err *e)
{
	struct relay r = { .connection = connection,
			   .tty = &c->tty,
			   .piped = c->ask.piped,
			   .in_front = c->ask.in_front };
	int status = 0;

	if (ask_start(connection, &c->ask, false, &r.command, e) < 0 ||
	    relay_run(&r, &status, e) < 0)
		return -e->code;
	return end_like(status);
}

/* Who wants to be who he is needs nobody's leave: so that a script for both kinds of sessions works
 * in those that have one user alone. Returns only with an error. */
static int run_alone(struct call *c, struct err *e)
{
	const char *dir = c->options.dir;

	if (c->options.login && !dir && chdir(c->target.home) < 0)
		(void)fprintf(stderr, "sudo: the home directory cannot be entered: %s\n",
			      strerror(errno));
	if (dir && chdir(dir) < 0)
		return err_errno(e, "enter '%s'", dir);
	environ = c->ask.env;
	(void)execvp(c->ask.words.program, c->ask.words.argv);
	return errno == ENOENT ? err_code(e, ENOENT, "%s: command not found", c->ask.words.program)
			       : err_errno(e, "%s", c->ask.words.program);
}

/* The part that goes on; the other one ends here, and the caller's shell goes on too. */
static int to_background(struct err *e)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(e, "fork");
	if (pid > 0)
		_exit(0);
	return 0;
}

static int command(struct call *c, struct err *e)
{
	autoclose int connection = -1;

	if (what(c, e) < 0 || (c->options.background && to_background(e) < 0))
		return -e->code;
	connection = ask_connect(&c->target, e);
	if (connection == -ECONNREFUSED && c->target.uid == getuid())
		return run_alone(c, e);
	return connection < 0 ? connection : run(c, connection, e);
}

/* -l and -v: would it be allowed? */
static int may(struct call *c, struct err *e)
{
	autoclose int connection = ask_connect(&c->target, e);
	pid_t nobody = 0;

	if (connection < 0)
		return connection;
	return ask_start(connection, &c->ask, true, &nobody, e);
}

/* Where the command would be found. */
static int show_command(const char *name, struct err *e)
{
	const char *at = ENV_PATH;

	while (!strchr(name, '/') && *at) {
		size_t len = strcspn(at, ":");
		autofree char *path = str_fmt(e, "%.*s/%s", (int)len, at, name);

		if (!path)
			return -e->code;
		if (access(path, X_OK) == 0)
			return puts(path) < 0 ? err_errno(e, "write") : 0;
		at += len + (at[len] == ':');
	}
	if (strchr(name, '/') && access(name, X_OK) == 0)
		return puts(name) < 0 ? err_errno(e, "write") : 0;
	return err_code(e, ENOENT, "%s: command not found", name);
}

static int list(const struct call *c, struct err *e)
{
	char host[65] = "";

	if (*c->options.command)
		return show_command(*c->options.command, e);
	(void)gethostname(host, sizeof(host) - 1); /* an empty one reads well enough */
	if (printf("User %s may run the following commands on %s:\n"
		   "    (%s) NOPASSWD: SETENV: ALL\n",
		   c->caller.name, host, c->target.name) < 0)
		return err_errno(e, "write");
	return 0;
}

/* The exit status, or a negative errno. */
static int obey(struct call *c, struct err *e)
{
	bool runs = *c->options.command || c->options.login || c->options.shell;

	if (c->options.forget && !runs && !c->options.list && !c->options.validate)
		return 0; /* there is nothing that could be forgotten */
	if (who(c, e) < 0)
		return -e->code;
	if (!c->options.list && !c->options.validate)
		return command(c, e);
	if (may(c, e) < 0)
		return -e->code;
	return c->options.list ? list(c, e) : 0;
}

static void call_clear(struct call *c)
{
	words_clear(&c->ask.words);
	list_free(c->ask.env);
	person_clear(&c->caller);
	person_clear(&c->target);
	options_clear(&c->options);
	drop_fd(&c->tty.fd);
	drop_fd(&c->tty.master);
}

int main(int argc, char **argv)
{
	__attribute__((cleanup(call_clear))) struct call c = { .tty = { .fd = -1, .master = -1 } };
	struct err e = { 0 };
	int ret;

	fill_closed();
	c.ask = (struct ask) { .options = &c.options,
			       .caller = &c.caller,
			       .target = &c.target,
			       .tty = &c.tty };
	if (options_parse(argc, argv, &c.options, &e) < 0) {
		(void)complain(&e);
		(void)fputs(options_usage, stderr);
		return 1;
	}
	if (c.options.help || c.options.version) {
		(void)fputs(c.options.help ? options_usage
					   : "sudo of ohsandbox " PACKAGE_VERSION "\n",
			    stdout);
		return 0;
	}
	ret = obey(&c, &e);
	return ret < 0 ? complain(&e) : ret;
}
