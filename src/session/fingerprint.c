/* SPDX-License-Identifier: MIT */
/* fingerprint.c - has anything changed that a private git directory is made of? See head.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "session/head.h"
#include "session/owner.h"

#define DEPTH_MAX 32 /* of directories below refs/ */
#define DIRS_MAX 100000

static void add_stat(struct sha256 *s, const char *name, const struct stat *st)
{
	const int64_t words[] = { (int64_t)st->st_ino, (int64_t)st->st_size, st->st_mtim.tv_sec,
				  st->st_mtim.tv_nsec };

	sha256_add(s, name, strlen(name) + 1);
	sha256_add(s, words, sizeof(words));
}

static int add_file(struct sha256 *s, int dir, const char *name, struct err *e)
{
	struct stat st = { 0 };

	if (fstatat(dir, name, &st, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_errno(e, "stat '%s' in the git directory", name);
	add_stat(s, name, &st);
	return 0;
}

/* The directory itself, then those below it. Its entries need no look: they come, go and change
 * by renames in it. */
static int add_dir(struct sha256 *s, int at, const char *name, unsigned depth, unsigned *left,
		   struct err *e)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? add_file(s, at, name, e)
			       : err_errno(e, "open '%s' among the references", name);
	if (!dir) {
		(void)close(fd);
		return err_errno(e, "read '%s' among the references", name);
	}
	if (!depth || !--*left)
		return err_code(
			e, E2BIG,
			"too many directories of references: 'git pack-refs --all' makes them one file");
	if (fstat(fd, &st) < 0)
		return err_errno(e, "stat '%s' among the references", name);
	add_stat(s, name, &st);
	while ((d = readdir(dir)))
		if ((d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) && d->d_name[0] != '.' &&
		    add_dir(s, fd, d->d_name, depth - 1, left, e) < 0)
			return -e->code;
	return 0;
}

static int add_all(struct sha256 *s, const struct repo *r, struct err *e)
{
	static const char *const files[] = { "packed-refs", "config", "shallow", "info/exclude",
					     "objects/info/alternates" };
	unsigned left = DIRS_MAX;

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (add_file(s, r->common, files[i], e) < 0)
			return -e->code;
	/* Where references are kept in tables, this directory changes with every one of them. */
	if (add_file(s, r->common, "reftable", e) < 0)
		return -e->code;
	return add_dir(s, r->common, "refs", DEPTH_MAX, &left, e);
}

int head_fingerprint(const struct repo *r, char out[HEAD_FINGERPRINT_BYTES], struct err *e)
{
	struct owner_saved saved;
	struct sha256 s;
	int n;

	if (owner_enter(r->owner, &saved, e) < 0)
		return -e->code;
	sha256_init(&s);
	n = add_all(&s, r, e);
	owner_leave(&saved);
	if (n < 0)
		return err_wrap(e, "repository '%s'", r->path);
	sha256_end_hex(&s, out);
	return 0;
}
