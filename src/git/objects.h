/* SPDX-License-Identifier: MIT */
/* objects.h - commits, trees and blobs of a repository, by libgit2 or by git's plumbing.
 *
 * The objects alone are opened, never the repository's configuration: so what libgit2 refuses a
 * repository for (extensions it does not know) does not matter here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "session/head.h"

enum object_kind { OBJECT_COMMIT = 1, OBJECT_TREE = 2, OBJECT_BLOB = 3, OBJECT_TAG = 4 };

struct object_id {
	uint8_t bytes[32]; /* as many as the repository's ids have; the others are zero */
};

struct object {
	enum object_kind kind;
	const uint8_t *data; /* followed by a NUL that size does not count */
	size_t size;
	void *owner; /* private */
	void *heap;  /* private */
};

#define autoobject __attribute__((cleanup(object_clear)))

struct objects;

/* What a repository's configuration says about its storage. */
struct repo_format {
	bool sha256, reftable, promisor;
};

must_check int repo_format_read(const struct repo *r, struct repo_format *out, struct err *e);

must_check int objects_open(const struct repo *r, const struct repo_format *format,
			    struct objects **out, struct err *e);
void objects_free(struct objects *o);
size_t objects_id_bytes(const struct objects *o); /* 20 or 32 */

/* Read one. -ENOENT when the repository does not have it. */
must_check int object_read(struct objects *o, const struct object_id *id, struct object *out,
			   struct err *e);
void object_clear(struct object *object);

/* An id from its hexadecimal digits; false unless there are as many as this repository's have. */
bool object_id_parse(const struct objects *o, const char *hex, struct object_id *out);
void object_id_hex(const struct objects *o, const struct object_id *id, char out[GIT_ID_MAX + 1]);

/* What is needed of a commit. */
struct commit {
	struct object_id tree;
	int64_t time; /* of the committer */
};

/* Read a commit, through annotated tags; *id becomes the commit's own. */
must_check int commit_read(struct objects *o, struct object_id *id, struct commit *out,
			   struct err *e);

/* Follow an annotated tag to what it names; *id stays when it is no tag. */
must_check int object_peel(struct objects *o, struct object_id *id, struct err *e);

/* Text as it is to lie in the work tree: line ends as .gitattributes of `commit` has them. No
 * filter that a configuration names is ever run. *out stays NULL where nothing changes; else the
 * caller frees it. */
must_check int objects_smudge(struct objects *o, const struct object_id *commit, const char *path,
			      const struct object *blob, char **out, size_t *len, struct err *e);

/* The libgit2 repository and its objects behind it, for who includes git2.h; NULL with plumbing. */
struct git_odb *objects_odb(struct objects *o);
struct git_repository *objects_repository(struct objects *o);
