/* SPDX-License-Identifier: MIT */
/* plumbing.c - see plumbing.h. */
#include "git/plumbing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"

#define ARGS_MAX 160
#define OUTPUT_MAX ((size_t)256 << 20)

static char *const clean_env[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"LC_ALL=C",
	"HOME=/nonexistent",
	"XDG_CONFIG_HOME=/nonexistent",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_ATTR_NOSYSTEM=1",
	/* In the environment and not as an option: protocol.X.allow in the repository's own
	 * configuration would win over protocol.allow. */
	"GIT_ALLOW_PROTOCOL=none",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_TERMINAL_PROMPT=0",
	NULL,
};

/* Not looked for in PATH: that is the caller's, and the owner of the repository is not he. */
static const char *const places[] = { "/usr/local/bin/git", "/usr/bin/git", "/bin/git" };

static void child(char *const *argv, int in, int out)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	if (prctl(PR_SET_PDEATHSIG, 9) < 0)
		_exit(127);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		(void)execve(places[i], argv, clean_env);
	_exit(127);
}

int plumbing_start(const struct repo *r, const char *const *args, struct plumbing *out,
		   struct err *e)
{
	autofree char *git_dir = str_fmt(e, "--git-dir=%s", r->git_path);
	const char *argv[ARGS_MAX] = { "git",
				       "--no-pager",
				       git_dir,
				       "-c",
				       "core.hooksPath=/dev/null",
				       "-c",
				       "core.fsmonitor=false",
				       "-c",
				       "core.untrackedCache=false",
				       NULL };
	int in[2], back[2];
	unsigned n = 0;

	if (!git_dir)
		return -e->code;
	while (argv[n])
		n++;
	for (unsigned i = 0; args[i]; i++) {
		if (n + 1 == ARGS_MAX)
			return err_code(e, E2BIG, "too many arguments for git");
		argv[n++] = args[i];
	}
	if (pipe2(in, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	if (pipe2(back, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return err_errno(e, "make a pipe");
	}
	out->pid = fork();
	if (out->pid == 0)
		child((char *const *)argv, in[0], back[1]);
	(void)close(in[0]);
	(void)close(back[1]);
	out->in = in[1];
	out->out = back[0];
	if (out->pid > 0)
		return 0;
	(void)err_errno(e, "start git");
	(void)plumbing_end(out);
	return -e->code;
}

int plumbing_missing(struct err *e)
{
	return err_code(
		e, ENOTSUP,
		"this repository needs the program 'git' to be read, which is not installed");
}

int plumbing_end(struct plumbing *p)
{
	int status = 0;

	drop_fd(&p->in);
	drop_fd(&p->out);
	if (p->pid <= 0)
		return 127;
	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	p->pid = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int plumbing_run(const struct repo *r, const char *const *args, const char *input, struct buf *out,
		 struct err *e)
{
	struct plumbing p = PLUMBING_NONE;
	int n, status;

	out->limit = OUTPUT_MAX;
	if (plumbing_start(r, args, &p, e) < 0)
		return -e->code;
	/* Inputs are a few lines: they fit into the pipe, so this cannot wait for a reader. */
	n = input ? io_write_all(p.in, input, strlen(input), e) : 0;
	drop_fd(&p.in);
	if (n == 0)
		n = io_read_all(p.out, OUTPUT_MAX, out, e);
	status = plumbing_end(&p);
	if (status == 127)
		return plumbing_missing(e);
	return n < 0 ? err_wrap(e, "git %s", args[0]) : status;
}
