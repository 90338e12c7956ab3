/* SPDX-License-Identifier: MIT */
/* pack.c - see pack.h.
 *
 * git's plumbing takes deltas over as they are, so it does large histories in seconds; libgit2
 * computes all of them anew and is there for hosts without git. */
#include "git/pack.h"

#include <fcntl.h>
#include <git2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "git/gitlib.h"
#include "git/plumbing.h"

static int feed(git_indexer *indexer, git_indexer_progress *stats, int from, struct answer *a,
		struct err *e)
{
	char chunk[65536];

	for (;;) {
		ssize_t n = io_read_full(from, chunk, sizeof(chunk), e);
		int r;

		if (n <= 0)
			return (int)n;
		r = git_indexer_append(indexer, chunk, (size_t)n, stats);
		if (r < 0)
			return err_git(e, r, "read the pack of git");
		answer_progress(a, stats->received_objects, stats->total_objects);
	}
}

static int index_stream(struct objects *o, int from, const char *where, struct answer *a,
			struct err *e)
{
	git_indexer_progress stats = { 0 };
	git_indexer *indexer = NULL;
	int n = git_indexer_new(&indexer, where, 0444, objects_odb(o), NULL);

	if (n < 0)
		return err_git(e, n, "begin a pack");
	n = feed(indexer, &stats, from, a, e);
	if (n == 0) {
		n = git_indexer_commit(indexer, &stats);
		n = n < 0 ? err_git(e, n, "end a pack") : 0;
	}
	git_indexer_free(indexer);
	return n;
}

/* 0; 1 when there is no git. */
static int pack_by_git(const struct repo *r, const struct repo_format *format, struct objects *o,
		       const char *commit, const char *where, struct answer *a, struct err *e)
{
	const char *const args[] = { "pack-objects",
				     "--revs",
				     "--include-tag",
				     "--stdout",
				     "-q",
				     "--threads=2",
				     "--delta-base-offset",
				     format->promisor ? "--missing=allow-promisor" : NULL,
				     NULL };
	struct plumbing git = PLUMBING_NONE;
	char line[GIT_ID_MAX + 2];
	int n, status;

	(void)snprintf(line, sizeof(line), "%s\n", commit);
	if (plumbing_start(r, args, &git, e) < 0)
		return -e->code;
	/* Where git does not even start, this write fails and the status says why. */
	n = io_write_all(git.in, line, strlen(line), e);
	drop_fd(&git.in);
	if (n == 0)
		n = index_stream(o, git.out, where, a, e);
	status = plumbing_end(&git);
	if (status == 127)
		return 1;
	if (status)
		return err_code(e, EIO, "git pack-objects ended with status %d", status);
	return n;
}

static int pack_by_library(struct objects *o, const char *commit, const char *where, struct err *e)
{
	git_packbuilder *builder = NULL;
	git_revwalk *walk = NULL;
	git_oid id;
	int n = git_oid_fromstr(&id, commit);

	if (n == 0)
		n = git_packbuilder_new(&builder, objects_repository(o));
	if (n == 0)
		n = git_revwalk_new(&walk, objects_repository(o));
	if (n == 0)
		n = git_revwalk_push(walk, &id);
	if (n == 0)
		n = git_packbuilder_insert_walk(builder, walk);
	if (n == 0)
		n = git_packbuilder_write(builder, where, 0444, NULL, NULL);
	git_revwalk_free(walk);
	git_packbuilder_free(builder);
	return n < 0 ? err_git(e, n, "pack the history of %s", commit) : 0;
}

/* libgit2 knows no SHA-256, so git makes the index of the pack too. */
static int pack_sha256(const struct repo *r, const char *commit, int dir, struct err *e)
{
	static const char *const args[] = { "pack-objects", "--revs", "--include-tag",
					    "--stdout",	    "-q",     NULL };
	static const char *const index_args[] = { "index-pack", "pack/pack-history.pack", NULL };
	autobuf struct buf pack = { 0 }, said = { 0 };
	char line[GIT_ID_MAX + 2];
	autoclose int fd = -1;
	int status;

	(void)snprintf(line, sizeof(line), "%s\n", commit);
	status = plumbing_run(r, args, line, &pack, e);
	if (status < 0)
		return status;
	fd = status ? -1
		    : openat(dir, index_args[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || io_write_all(fd, buf_str(&pack), pack.len, e) < 0)
		return err_code(e, EIO, "pack the history of %s: git ended with status %d", commit,
				status);
	/* Our descriptors are not git's, and the directory's path is not for it to walk. */
	if (fchdir(dir) < 0)
		return err_errno(e, "enter the pack's directory");
	status = plumbing_run(r, index_args, NULL, &said, e);
	if (chdir("/") < 0)
		return err_errno(e, "leave the pack's directory");
	return status > 0 ? err_code(e, EIO, "git index-pack ended with status %d", status)
			  : status;
}

int pack_reachable(const struct repo *r, const struct repo_format *format, struct objects *o,
		   const char *commit, int dir, struct answer *a, struct err *e)
{
	char where[64];
	int n;

	if ((mkdirat(dir, "pack", 0755) < 0 || mkdirat(dir, "info", 0755) < 0) && errno != EEXIST)
		return err_errno(e, "create the pack's directory");
	if (str_eq(commit, GIT_UNBORN))
		return 0;
	(void)snprintf(where, sizeof(where), "/proc/self/fd/%d/pack", dir);
	if (format->sha256)
		return pack_sha256(r, commit, dir, e);
	n = pack_by_git(r, format, o, commit, where, a, e);
	return n > 0 ? pack_by_library(o, commit, where, e) : n;
}
