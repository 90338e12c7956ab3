/* SPDX-License-Identifier: MIT */
/* dirty.c - `ohsandbox-git dirty`: what `git status` reports, as a list into a descriptor: one
 * letter (M: there, D: gone), the path, a NUL.
 *
 * libgit2 runs no filter and no monitor for it. Where git itself has to do it, every filter the
 * configuration names is replaced by none. */
#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "git/command.h"
#include "git/gitlib.h"
#include "git/plumbing.h"

#define LIST_MAX ((size_t)256 << 20)
#define FILTERS_MAX 24

static void add(struct buf *list, char letter, const char *path)
{
	buf_putc(list, letter);
	buf_add(list, path, strlen(path) + 1);
}

static bool is_gone(unsigned status)
{
	/* Deleted in the index but there in the work tree is both deleted and untracked. */
	return (status & (GIT_STATUS_WT_DELETED | GIT_STATUS_INDEX_DELETED)) &&
	       !(status & GIT_STATUS_WT_NEW);
}

static int list_by_library(const struct arguments *args, struct buf *list, struct err *e)
{
	git_status_options options = { .version = GIT_STATUS_OPTIONS_VERSION };
	git_repository *repository = NULL;
	git_status_list *found = NULL;
	int n;

	if (gitlib_open(&args->repo, &repository, e) < 0)
		return -e->code;
	options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
	options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
			GIT_STATUS_OPT_EXCLUDE_SUBMODULES | GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH;
	n = git_status_list_new(&found, repository, &options);
	for (size_t i = 0; n == 0 && i < git_status_list_entrycount(found); i++) {
		const git_status_entry *entry = git_status_byindex(found, i);
		const git_diff_delta *delta = entry->index_to_workdir ? entry->index_to_workdir
								      : entry->head_to_index;

		add(list, is_gone(entry->status) ? 'D' : 'M', delta->new_file.path);
	}
	git_status_list_free(found);
	git_repository_free(repository);
	return n < 0 ? err_git(e, n, "status of '%s'", args->repo.path) : 0;
}

/* "-c filter.NAME.clean=" and so on for every filter there is: a command that is empty is none. */
static int silence_filters(const struct arguments *args, char **words, unsigned *n, struct err *e)
{
	static const char *const list[] = { "config",	    "--name-only", "-z",
					    "--get-regexp", "^filter\\.",  NULL };
	autobuf struct buf names = { 0 };
	int status = plumbing_run(&args->repo, list, NULL, &names, e);

	if (status < 0)
		return status;
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
		const char *name = names.data + at, *key = strrchr(name, '.');
		const char *value = key && str_eq(key, ".required") ? "false" : "";

		if (*n + 2 >= FILTERS_MAX * 2)
			return err_code(e, E2BIG,
					"the configuration of '%s' names too many filters",
					args->repo.path);
		words[(*n)++] = str_dup("-c", e);
		words[(*n)++] = str_fmt(e, "%s=%s", name, value);
		if (!words[*n - 2] || !words[*n - 1])
			return -e->code;
	}
	return 0;
}

/* "XY path\0" each; with renames switched off a path stands alone. */
static int parse_status(const struct buf *text, struct buf *list)
{
	for (size_t at = 0; at + 4 < text->len; at += strlen(text->data + at) + 1) {
		const char *line = text->data + at;

		if (line[0] && line[1] && line[2] == ' ')
			add(list, line[1] == 'D' || (line[0] == 'D' && line[1] == ' ') ? 'D' : 'M',
			    line + 3);
	}
	return 0;
}

static int list_by_git(const struct arguments *args, struct buf *list, struct err *e)
{
	autofree char *tree = str_fmt(e, "--work-tree=%s", args->repo.path);
	const char *const tail[] = { tree,
				     "status",
				     "--porcelain=v1",
				     "-z",
				     "--untracked-files=all",
				     "--no-renames",
				     "--ignore-submodules=all" };
	char *words[FILTERS_MAX * 2 + ARRAY_LEN(tail) + 1] = { NULL };
	autobuf struct buf text = { 0 };
	unsigned n = 0, filters;
	int status;

	if (!tree)
		return -e->code;
	status = silence_filters(args, words, &n, e);
	filters = n;
	for (size_t i = 0; i < ARRAY_LEN(tail); i++)
		words[n++] = (char *)tail[i];
	if (status == 0)
		status = plumbing_run(&args->repo, (const char *const *)words, NULL, &text, e);
	while (filters)
		free(words[--filters]);
	if (status < 0)
		return status;
	if (status)
		return err_code(e, EIO, "git status of '%s' ended with status %d", args->repo.path,
				status);
	return parse_status(&text, list);
}

int command_dirty(const struct arguments *args, struct answer *a, struct err *e)
{
	autobuf struct buf list = { .limit = LIST_MAX };
	int n;

	if (args->list < 0)
		return err_code(e, EINVAL, "--list is missing");
	if (args->repo.bare)
		return err_code(e, EINVAL,
				"'%s' is a bare repository: it has no changes to carry over",
				args->repo.path);
	n = list_by_library(args, &list, e);
	if (n == -ENOTSUP) {
		struct err why = *e;

		buf_reset(&list);
		n = list_by_git(args, &list, e);
		if (n == -ENOTSUP)
			*e = why;
	}
	if (n < 0)
		return n;
	if (buf_check(&list, e) < 0 || io_write_all(args->list, buf_str(&list), list.len, e) < 0)
		return err_wrap(e, "list of changes");
	jo_u64(&a->json, "bytes", list.len);
	return 0;
}
