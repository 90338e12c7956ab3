/* SPDX-License-Identifier: MIT */
/* main.c - ohsandbox-git: what needs libgit2, in a process of its own.
 *
 * Started by ohsandbox with the ids of the repository's owner, descriptors of the directories to
 * fill and nothing else; it answers as session/gitrun.h says. Not meant to be run by hand. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "git/command.h"
#include "git/gitlib.h"
#include "session/gitrun.h"

struct command {
	const char *name;
	int (*run)(const struct arguments *args, struct answer *a, struct err *e);
	bool needs_repo;
};

static const struct command commands[] = {
	{ "resolve", command_resolve, true }, /* --rev: which commit is it? */
	{ "base", command_base, true },	   /* --tree --index, --pack, --layer: make what is given */
	{ "layer", command_base, true },   /* the same, with --layer alone */
	{ "dirty", command_dirty, true },  /* --list: what git status reports */
	{ "patch", command_patch, false }, /* standard input: changes; standard output: a patch */
	{ "unregister", command_unregister, true }, /* --tree-path: forget it in the repository */
};

enum option_kind { OPTION_TEXT, OPTION_FD, OPTION_FLAG };

struct option {
	const char *name;
	enum option_kind kind;
	size_t offset;
};

#define TEXT(flag, member)                                            \
	{                                                             \
		flag, OPTION_TEXT, offsetof(struct arguments, member) \
	}
#define FD(flag, member)                                            \
	{                                                           \
		flag, OPTION_FD, offsetof(struct arguments, member) \
	}
#define FLAG(flag, member)                                            \
	{                                                             \
		flag, OPTION_FLAG, offsetof(struct arguments, member) \
	}

static const struct option options[] = {
	TEXT("--repo", repo_path),
	TEXT("--commit", commit),
	TEXT("--rev", rev),
	TEXT("--ref", ref),
	TEXT("--tree-path", tree_path),
	TEXT("--name", name),
	TEXT("--email", email),
	TEXT("--default-name", default_name),
	TEXT("--default-email", default_email),
	FD("--tree", tree),
	FD("--index", index),
	FD("--pack", pack),
	FD("--layer", layer),
	FD("--list", list),
	FLAG("--reachable", reachable),
	FLAG("--summary", summary),
};

static int parse_fd(const char *text, int *out, struct err *e)
{
	uint64_t fd;

	if (str_u64(text, 3, 1023, &fd, e) < 0)
		return -e->code;
	if (fcntl((int)fd, F_GETFD) < 0)
		return err_errno(e, "descriptor %s", text);
	*out = (int)fd;
	return 0;
}

/* --over COMMIT:FD, the most promising first. */
static int parse_over(char *text, struct arguments *args, struct err *e)
{
	char *fd = strchr(text, ':');
	struct over over = { .commit = text };

	if (!fd || args->n_over == OVER_MAX)
		return err_code(e, EINVAL, "--over: too many or not COMMIT:FD");
	*fd++ = '\0';
	if (!git_id_ok(text) || parse_fd(fd, &over.index, e) < 0)
		return err_code(e, EINVAL, "--over: not COMMIT:FD");
	args->over[args->n_over++] = over;
	return 0;
}

/* Returns how many words it took. */
static int parse_option(char **argv, struct arguments *args, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];
		void *member = (char *)args + o->offset;

		if (!str_eq(argv[0], o->name))
			continue;
		if (o->kind == OPTION_FLAG) {
			*(bool *)member = true;
			return 1;
		}
		if (!argv[1])
			break;
		if (o->kind == OPTION_FD)
			return parse_fd(argv[1], member, e) < 0 ? err_wrap(e, "%s", o->name) : 2;
		*(const char **)member = argv[1];
		return 2;
	}
	if (str_eq(argv[0], "--over") && argv[1])
		return parse_over(argv[1], args, e) < 0 ? -e->code : 2;
	return err_code(e, EINVAL, "ohsandbox-git does not know '%s'", argv[0]);
}

/* What we are given is for us, not for a git we may start. */
static void set_up_process(void)
{
	struct rlimit files;

	(void)syscall(SYS_close_range, 3U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */);
	(void)signal(SIGPIPE, SIG_IGN);
	/* One descriptor a level of directories. Should it not be granted, a deep tree fails by name. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int run(const struct command *c, char **argv, struct answer *a, struct err *e)
{
	struct arguments args = { .tree = -1,
				  .index = -1,
				  .pack = -1,
				  .layer = -1,
				  .list = -1,
				  .repo = REPO_CLOSED };
	int r;

	for (int n; *argv; argv += n) {
		n = parse_option(argv, &args, e);
		if (n < 0)
			return n;
	}
	if (c->needs_repo && !args.repo_path)
		return err_code(e, EINVAL, "--repo is missing");
	/* Whether it may be used was decided before we were started: the ids we have decide the rest. */
	if (args.repo_path && repo_open(args.repo_path, true, &args.repo, e) < 0)
		return -e->code;
	r = gitlib_start(e);
	if (r == 0)
		r = c->run(&args, a, e);
	repo_close(&args.repo);
	return r;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	struct answer a;

	if (fcntl(GIT_RUN_ANSWER_FD, F_GETFD) < 0 || argc < 2) {
		(void)fputs("ohsandbox-git: started by ohsandbox itself, not by hand\n", stderr);
		return 2;
	}
	set_up_process();
	answer_begin(&a);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_eq(argv[1], commands[i].name))
			return answer_end(&a, run(&commands[i], argv + 2, &a, &e) < 0 ? &e : NULL);
	(void)err_code(&e, EINVAL, "ohsandbox-git has no command '%s'", argv[1]);
	return answer_end(&a, &e);
}
