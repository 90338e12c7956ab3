/* SPDX-License-Identifier: MIT */
/* tree_own.h - what the files of the process that moves files share. Nobody else includes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/tree.h"

enum tree_limits {
	TREE_PIECE_BYTES = 256 * 1024,	/* moved at once */
	TREE_MEMBERS_MAX = 1000 * 1000, /* of an archive, in both directions */
	TREE_NAMES_MAX = 256 << 20,	/* bytes of all their names */
	TREE_PATH_MAX = 4095,		/* of one of them: what the kernel takes at once */
	TREE_LIST_MAX = 256 << 20,	/* bytes of a directory's names */
	TREE_UNPACKED_MAX_SHIFT = 37,	/* 128 GiB out of one archive, if the disk has them */
};

/* The one transfer of this process. */
struct tree_job {
	int socket;
	const char *path, *name; /* an absolute path; for what is uploaded, a name in it */
	bool told;		 /* the head of the answer is out */
	char *piece;		 /* TREE_PIECE_BYTES to work with */
};

/* What is asked for; transfer_wire.h says which. 0, or an error that is told if nothing was. */
must_check int tree_list(struct tree_job *j, struct err *e);
must_check int tree_store(struct tree_job *j, struct err *e);
must_check int tree_unpack(struct tree_job *j, struct err *e);
must_check int tree_pack(struct tree_job *j, struct err *e);
must_check int tree_view(struct tree_job *j, struct err *e);

/* "[Errno 2] No such file or directory: '<directory>/<name>'", as clients know it; `name` may be
 * NULL. Returns -code. */
int tree_os_error(struct err *e, int code, const char *directory, const char *name);

/* Tell that it went well, and how long the body is that follows. */
must_check int tree_tell(struct tree_job *j, uint64_t body_len, struct err *e);

/* Tell that it went wrong, in this way. Returns 0. */
must_check int tree_refuse(struct tree_job *j, unsigned status, const char *text, struct err *e);

/* Open job's directory, made with what is missing above it. Returns an O_PATH descriptor. */
must_check int tree_destination(const struct tree_job *j, struct err *e);

/* A new file in a directory that has no name there until it is placed, where the file system can do
 * that; else a name that nobody knows. */
struct tree_fresh {
	int dir, fd;
	char name[32]; /* "" for none */
};

/* Make it. Returns 0 or a negative errno. tree_fresh_clear() leaves no trace of one that was not
 * placed, however far it came. */
must_check int tree_fresh_make(struct tree_fresh *f, int dir);
must_check int tree_fresh_place(struct tree_fresh *f, const char *name);
void tree_fresh_clear(struct tree_fresh *f);

/* Write what is uploaded into it. Returns the size. -ECANCELED where the client went away. */
must_check int64_t tree_receive(struct tree_job *j, int to, struct err *e);

/* Write all of it; 0 or a negative errno. */
must_check int tree_write(int fd, const char *bytes, size_t len);

/* Read up to `len` bytes from `at`, fewer only at the end of the file; or a negative errno. */
must_check ssize_t tree_read_at(int fd, void *bytes, size_t len, uint64_t at);
