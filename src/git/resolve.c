/* SPDX-License-Identifier: MIT */
/* resolve.c - `ohsandbox-git resolve`: any revision git understands becomes a commit's id. */
#include <git2.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "git/command.h"
#include "git/gitlib.h"
#include "git/plumbing.h"

static int no_such(const struct arguments *args, struct err *e)
{
	return err_code(e, ERR_NONE_SUCH, "repository '%s' has no revision '%s'", args->repo.path,
			args->rev);
}

/* -ENOTSUP where libgit2 cannot open this repository. */
static int by_library(const struct arguments *args, char id[GIT_ID_MAX + 1], struct err *e)
{
	git_repository *repository = NULL;
	git_object *found = NULL, *commit = NULL;
	int n;

	if (gitlib_open(&args->repo, &repository, e) < 0)
		return -e->code;
	n = git_revparse_single(&found, repository, args->rev);
	if (n == 0)
		n = git_object_peel(&commit, found, GIT_OBJECT_COMMIT);
	if (n == 0)
		(void)git_oid_tostr(id, GIT_ID_MAX + 1, git_object_id(commit));
	else if (n == GIT_EAMBIGUOUS)
		(void)err_code(e, ENOTUNIQ,
			       "revision '%s' could be one of several: give more digits of it",
			       args->rev);
	else if (n == GIT_EPEEL || n == GIT_EINVALIDSPEC)
		(void)err_code(e, ERR_NONE_SUCH, "revision '%s' of '%s' is no commit", args->rev,
			       args->repo.path);
	else
		(void)no_such(args, e);
	git_object_free(commit);
	git_object_free(found);
	git_repository_free(repository);
	return n < 0 ? -e->code : 0;
}

/* The branch HEAD is on, for storages of references that only git can read; "" when detached. */
static int head_branch(const struct arguments *args, char ref[GIT_REF_MAX], struct err *e)
{
	static const char *const words[] = { "symbolic-ref", "--quiet", "HEAD", NULL };
	autobuf struct buf text = { 0 };
	int status = plumbing_run(&args->repo, words, NULL, &text, e);

	if (status < 0)
		return status;
	if (text.data)
		text.data[strcspn(text.data, "\n")] = '\0';
	if (status == 0 && git_ref_ok(buf_str(&text)))
		memcpy(ref, buf_str(&text), strlen(buf_str(&text)) + 1);
	return 0;
}

static int by_git(const struct arguments *args, char id[GIT_ID_MAX + 1], struct err *e)
{
	autofree char *spec = str_fmt(e, "%s^{commit}", args->rev);
	const char *const words[] = { "rev-parse",	  "--verify", "--quiet",
				      "--end-of-options", spec,	      NULL };
	autobuf struct buf text = { 0 };
	int status;

	if (!spec)
		return -e->code;
	status = plumbing_run(&args->repo, words, NULL, &text, e);
	if (status < 0)
		return status;
	if (text.data)
		text.data[strcspn(text.data, "\n")] = '\0';
	if (status || !git_id_ok(buf_str(&text)))
		return no_such(args, e);
	memcpy(id, buf_str(&text), strlen(buf_str(&text)) + 1);
	return 0;
}

static bool is_head(const char *rev)
{
	return str_eq(rev, "HEAD") || str_eq(rev, "@");
}

int command_resolve(const struct arguments *args, struct answer *a, struct err *e)
{
	char id[GIT_ID_MAX + 1] = "", ref[GIT_REF_MAX] = "";
	int n;

	if (!args->rev)
		return err_code(e, EINVAL, "--rev is missing");
	n = by_library(args, id, e);
	if (n == -ENOTSUP) {
		const struct err why = *e;

		n = by_git(args, id, e);
		if (n == 0 && is_head(args->rev))
			n = head_branch(args, ref, e);
		/* Without git, what libgit2 could not do is the better explanation. */
		if (n == -ENOTSUP)
			return err_code(e, ENOTSUP,
					"%.200s; with the program 'git' installed it may work",
					why.text);
	}
	if (n < 0)
		return n;
	jo_string(&a->json, "commit", id);
	jo_string(&a->json, "ref", ref);
	return 0;
}
