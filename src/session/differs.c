/* SPDX-License-Identifier: MIT */
/* differs.c - a short look at whether the work tree has uncommitted changes; see worktree.h.
 *
 * Reads the user's index and compares as git does: times and sizes first, contents where only the
 * time differs. Stops when its time is over: it serves one line of advice. */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "session/head.h"
#include "session/owner.h"
#include "session/sha1.h"
#include "session/worktree.h"

#define WINDOW (256 * 1024) /* of the index: what a short look can use */
#define STAT_BYTES 40
#define LOOK_AT_CLOCK 16	 /* entries between two looks at it */
#define CONTENT_MAX (256 * 1024) /* of a file that is read */

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return be32toh(value);
}

/* Has the file another content than git's name for it says? */
static bool content_differs(int top, const char *path, size_t size, const uint8_t *id)
{
	autoclose int fd =
		openat(top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	autofree char *bytes = size <= CONTENT_MAX ? malloc(size + 1) : NULL;
	uint8_t digest[SHA1_BYTES];
	struct err ignored = { 0 };
	char head[32];
	struct sha1 s;
	int n;

	if (fd < 0 || !bytes || io_read_full(fd, bytes, size + 1, &ignored) != (ssize_t)size)
		return true;
	n = snprintf(head, sizeof(head), "blob %zu", size);
	sha1_init(&s);
	sha1_add(&s, head, (size_t)n + 1);
	sha1_add(&s, bytes, size);
	sha1_end(&s, digest);
	return memcmp(digest, id, sizeof(digest)) != 0;
}

static bool entry_differs(int top, const uint8_t *entry, const char *path)
{
	uint32_t mode = get32(entry + 24);
	struct stat st;

	if ((mode & 0170000) == 0160000)
		return false;
	if (fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	if ((mode & 0170000) != (st.st_mode & 0170000) || get32(entry + 36) != (uint32_t)st.st_size)
		return true;
	/* A link of the same length is taken for the same: it hardly ever is another. */
	if (get32(entry + 8) == (uint32_t)st.st_mtime || !S_ISREG(st.st_mode))
		return false;
	return content_differs(top, path, (size_t)st.st_size, entry + STAT_BYTES);
}

/* Versions 2 and 3 alone: in version 4 names are compressed. Ids of 20 bytes. */
static int scan(int top, const uint8_t *index, size_t len, uint64_t end_us)
{
	size_t at = 12, left, head, n;
	uint32_t count;

	if (len < 12 || memcmp(index, "DIRC", 4) != 0 || get32(index + 4) > 3)
		return 0;
	count = get32(index + 8);
	for (uint32_t i = 0; i < count && at + STAT_BYTES + 24 < len; i++) {
		const uint8_t *entry = index + at;

		left = len - at;
		head = STAT_BYTES + 22 + (entry[STAT_BYTES + 20] & 0x40 ? 2 : 0);
		n = strnlen((const char *)entry + head, left - head);
		if (n == left - head)
			return 0;
		/* Left out of the work tree on purpose (sparse), or by word of the user. */
		if (!(entry[STAT_BYTES + 20] & 0xc0) &&
		    entry_differs(top, entry, (const char *)entry + head))
			return 1;
		if (i % LOOK_AT_CLOCK == 0 && clock_us() >= end_us)
			return 0;
		at += (head + n + 8) & ~(size_t)7;
	}
	return 0;
}

static int look(const struct repo *r, uint64_t end_us, struct err *e)
{
	autoclose int fd = openat(r->git, "index", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autofree uint8_t *bytes = malloc(WINDOW);
	ssize_t n;

	if (!bytes)
		return err_code(e, ENOMEM, "out of memory");
	n = fd < 0 ? -1 : read(fd, bytes, WINDOW);
	return n < 0 ? 0 : scan(r->top, bytes, (size_t)n, end_us);
}

int worktree_differs(const struct plan *p, unsigned budget_us, struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	struct owner_saved saved;
	uint64_t end_us = clock_us() + budget_us;
	struct head h;
	int n;

	if (repo_open(p->request->path, p->request->trust_repo, &r, e) < 0)
		return -e->code;
	/* Longer ids make another form of index. */
	n = r.bare ? 0 : head_read(&r, NULL, &h, e);
	if (n <= 0 || strlen(h.commit) != 2 * SHA1_BYTES)
		return n < 0 ? n : 0;
	if (owner_enter(r.owner, &saved, e) < 0)
		return -e->code;
	n = look(&r, end_us, e);
	owner_leave(&saved);
	return n;
}
