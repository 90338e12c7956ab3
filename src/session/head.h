/* SPDX-License-Identifier: MIT */
/* head.h - which repository, and which commit: read from its plain files, without libgit2.
 *
 * This is the path of every start, so it knows only what most starts need (HEAD, branches, full
 * ids); for the rest the caller asks ohsandbox-git. All reads have the rights of the
 * repository's owner; see owner.h. All content is foreign. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "session/refs.h"

struct repo {
	int top;    /* the work tree's top, or the bare repository */
	int git;    /* its own git directory: HEAD */
	int common; /* refs, packed-refs, objects, config; the same unless it is a linked work tree */
	bool bare;
	uid_t owner;
	char id[17]; /* of the common directory: device, inode, path and owner */
	char *path, *git_path, *common_path; /* absolute */
};

#define REPO_CLOSED ((struct repo) { .top = -1, .git = -1, .common = -1 })
#define autorepo __attribute__((cleanup(repo_close)))

/* Open the repository whose work tree's top (or bare directory) is `path`. An ordinary user's
 * own, or anybody's with `trust`; for root anybody's, read as its owner. -ENOENT when there is no
 * repository, -EPERM when it is somebody else's. */
must_check int repo_open(const char *path, bool trust, struct repo *out, struct err *e);
void repo_close(struct repo *r);

/* The commit's name where a repository has none yet. */
#define GIT_UNBORN "0000000000000000000000000000000000000000"

struct head {
	char commit[GIT_ID_MAX + 1]; /* GIT_UNBORN where there is no commit yet */
	char ref[GIT_REF_MAX]; /* "refs/heads/main" when the revision is HEAD and HEAD is a branch, else "" */
};

/* Find the commit of `rev` (NULL: HEAD). 1: found; 0: only ohsandbox-git can tell. A full id is
 * taken as it is: that there is such a commit is for the base to prove. */
must_check int head_read(const struct repo *r, const char *rev, struct head *out, struct err *e);

#define HEAD_FINGERPRINT_BYTES 65

/* A digest over what the private git directory is made of and what may change while the commit
 * stays: references, packed references, config, shallow, alternates. By stat alone: every
 * program that changes a reference does so by a rename, which marks the directory. */
must_check int head_fingerprint(const struct repo *r, char out[HEAD_FINGERPRINT_BYTES],
				struct err *e);

/* The repository's object directory and those it borrows from, the first level first and nested
 * ones behind, opened with the owner's rights. Returns the count, at most `max`. */
must_check int repo_objects(const struct repo *r, int *fds, size_t max, struct err *e);
