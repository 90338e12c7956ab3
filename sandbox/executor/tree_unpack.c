/* SPDX-License-Identifier: MIT */
/* tree_unpack.c - an archive into a directory.
 *
 * All of it is received first, into a file without a name, for the directory that counts is at its
 * end. It is looked through before the first file is made: names that lead elsewhere, sizes that the
 * disk does not have, members that lie in one another refuse the whole. Below the directory no link
 * is followed, and nothing that is there is opened: a file takes the place of what has its name,
 * unless that is a directory. Links and devices are none here: they become files of their bytes. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "sandbox/executor/tree_own.h"
#include "sandbox/executor/zip.h"

struct extent {
	uint64_t at, end;
};

struct unpack {
	struct tree_job *j;
	int dir, archive;
	uint64_t size;
	struct zip_end end;
	char *window; /* of the archive's directory: WINDOW_BYTES */
	struct extent *extents;
	uint64_t n, unpacked;
	struct zip_inflate *inflate;
	char *packed; /* PACKED_BYTES */
	struct buf parent;
	int parent_fd; /* the directory `parent`; -1: none yet */
};

enum {
	WINDOW_BYTES = 2 * ZIP_ENTRY_MAX,
	PACKED_BYTES = 64 * 1024,
	TRIES = 8, /* to have a name that somebody else keeps taking */
};

static int printable_len(size_t len)
{
	return len < 200 ? (int)len : 200;
}

static const char *separator(const struct tree_job *j)
{
	size_t len = strlen(j->path);

	return len && j->path[len - 1] == '/' ? "" : "/";
}

/* An error of the archive, as one of its file. */
static int blame(const struct unpack *u, struct err *e)
{
	return err_wrap(e, "%s%s%s", u->j->path, separator(u->j), u->j->name);
}

static int blame_entry(const struct unpack *u, const struct zip_entry *entry, const char *what,
		       struct err *e)
{
	(void)err_code(e, EINVAL, "'%.*s' %s", printable_len(entry->name_len), entry->name, what);
	return blame(u, e);
}

/* An error of the system, of the file that the entry becomes. */
static int entry_error(const struct unpack *u, const struct zip_entry *entry, int code,
		       struct err *e)
{
	char name[TREE_PATH_MAX + 1];
	size_t len = entry->name_len < TREE_PATH_MAX ? entry->name_len : TREE_PATH_MAX;

	memcpy(name, entry->name, len);
	name[len] = '\0';
	return tree_os_error(e, code, u->j->path, name);
}

/* --- the archive ----------------------------------------------------------------------------- */

static int find_end(struct unpack *u, struct err *e)
{
	size_t len = u->size < ZIP_END_MAX ? (size_t)u->size : ZIP_END_MAX;
	ssize_t n = tree_read_at(u->archive, u->window, len, u->size - len);

	if (n < 0)
		return tree_os_error(e, (int)-n, u->j->path, u->j->name);
	if (zip_find_end(u->window, (size_t)n, u->size, &u->end, e) == 0)
		return 0;
	/* In the words that clients know, without a colon. */
	return err_code(e, EINVAL, "%s%s%s is not a zip file", u->j->path, separator(u->j),
			u->j->name);
}

/* Walk the directory; `take` is given each entry. */
static int each_entry(struct unpack *u,
		      int (*take)(struct unpack *u, const struct zip_entry *entry, struct err *e),
		      struct err *e)
{
	uint64_t at = u->end.directory_at, end = at + u->end.directory_len;
	size_t have = 0, done = 0;
	struct zip_entry entry;

	for (uint64_t i = 0; i < u->end.entries;) {
		long n = zip_next(u->window + done, have - done, &u->end, &entry, e);
		size_t want;

		if (n < 0)
			return blame(u, e);
		if (n > 0) {
			if (take(u, &entry, e) < 0)
				return -e->code;
			done += (size_t)n;
			i++;
			continue;
		}
		at += done;
		want = end - at < WINDOW_BYTES ? (size_t)(end - at) : WINDOW_BYTES;
		if (want == have && !done) {
			(void)err_code(e, EINVAL, "the archive has fewer entries than it says");
			return blame(u, e);
		}
		n = tree_read_at(u->archive, u->window, want, at);
		if (n != (long)want)
			return tree_os_error(e, n < 0 ? (int)-n : EIO, u->j->path, u->j->name);
		have = want;
		done = 0;
	}
	return 0;
}

static int check_name(const struct unpack *u, const struct zip_entry *entry, struct err *e)
{
	if (!zip_name_is_safe(entry->name, entry->name_len))
		return blame_entry(u, entry, "leads out of the archive", e);
	if (entry->name_len > TREE_PATH_MAX)
		return entry_error(u, entry, ENAMETOOLONG, e);
	return 0;
}

static int check_entry(struct unpack *u, const struct zip_entry *entry, struct err *e)
{
	if (check_name(u, entry, e) < 0)
		return -e->code;
	if (entry->size >> TREE_UNPACKED_MAX_SHIFT)
		return entry_error(u, entry, EFBIG, e);
	u->unpacked += entry->size;
	u->extents[u->n++] = (struct extent) { .at = entry->at,
					       .end = entry->at + ZIP_LOCAL_MIN + entry->packed };
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* A member within another one is how few bytes become very many. */
static int check_extents(struct unpack *u, struct err *e)
{
	qsort(u->extents, u->n, sizeof(*u->extents), by_place);
	for (uint64_t i = 1; i < u->n; i++) {
		if (u->extents[i].at >= u->extents[i - 1].end)
			continue;
		(void)err_code(e, EINVAL, "the archive has entries that overlap");
		return blame(u, e);
	}
	return 0;
}

static int check_room(struct unpack *u, struct err *e)
{
	struct statvfs fs;

	if (u->unpacked >> TREE_UNPACKED_MAX_SHIFT)
		return tree_os_error(e, EFBIG, u->j->path, u->j->name);
	if (fstatvfs(u->archive, &fs) < 0)
		return tree_os_error(e, errno, u->j->path, NULL);
	if (u->unpacked > (uint64_t)fs.f_bavail * fs.f_frsize)
		return tree_os_error(e, ENOSPC, u->j->path, u->j->name);
	return 0;
}

static int check(struct unpack *u, struct err *e)
{
	int ret;

	if (u->end.entries > TREE_MEMBERS_MAX) {
		(void)err_code(e, EFBIG, "the archive has more than %d entries", TREE_MEMBERS_MAX);
		return blame(u, e);
	}
	u->extents = calloc(u->end.entries + 1, sizeof(*u->extents));
	if (!u->extents)
		return tree_os_error(e, ENOMEM, u->j->path, u->j->name);
	ret = each_entry(u, check_entry, e);
	if (ret == 0)
		ret = check_extents(u, e);
	if (ret == 0)
		ret = check_room(u, e);
	free(u->extents);
	u->extents = NULL;
	return ret;
}

/* --- its members ----------------------------------------------------------------------------- */

/* The directory that an entry lies in; most lie where the one before them does. */
static int enter_parent(struct unpack *u, const struct zip_entry *entry, size_t len, struct err *e)
{
	if (u->parent_fd >= 0 && u->parent.len == len &&
	    memcmp(buf_str(&u->parent), entry->name, len) == 0)
		return 0;
	buf_reset(&u->parent);
	buf_add(&u->parent, entry->name, len);
	if (u->parent.failed)
		return entry_error(u, entry, ENOMEM, e);
	drop_fd(&u->parent_fd);
	u->parent_fd = fs_mkdir_path(u->dir, buf_str(&u->parent), 0755, e);
	if (u->parent_fd < 0)
		return tree_os_error(e, e->code, u->j->path, buf_str(&u->parent));
	return 0;
}

/* A file that is new, whatever had its name. */
static int make_file(const struct unpack *u, const char *name)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = openat(u->parent_fd, name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
		if (unlinkat(u->parent_fd, name, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return -EEXIST;
}

struct copy {
	int to;
	uint64_t from, left,
		made; /* in the archive; packed bytes to come, bytes that came of them */
	uint32_t crc;
};

static int put(struct copy *c, const char *bytes, size_t len)
{
	c->crc = zip_crc(c->crc, bytes, len);
	c->made += len;
	return tree_write(c->to, bytes, len);
}

static int next_bytes(struct unpack *u, struct copy *c, char *bytes, size_t room)
{
	size_t want = c->left < room ? (size_t)c->left : room;
	ssize_t n = tree_read_at(u->archive, bytes, want, c->from);

	if (n < 0)
		return (int)n;
	if ((size_t)n != want)
		return -EIO;
	c->from += want;
	c->left -= want;
	return (int)want;
}

static int copy_stored(struct unpack *u, struct copy *c)
{
	while (c->left) {
		int n = next_bytes(u, c, u->j->piece, TREE_PIECE_BYTES);
		int ret = n < 0 ? n : put(c, u->j->piece, (size_t)n);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Never more than the directory said: -EOVERFLOW. */
static int copy_deflated(struct unpack *u, struct copy *c, uint64_t size)
{
	size_t at = 0, have = 0;
	int ended = 0;

	zip_inflate_restart(u->inflate);
	while (!ended) {
		size_t used, made = TREE_PIECE_BYTES;
		int ret;

		if (at == have && c->left) {
			ret = next_bytes(u, c, u->packed, PACKED_BYTES);
			if (ret < 0)
				return ret;
			have = (size_t)ret;
			at = 0;
		}
		used = have - at;
		ended = zip_inflate(u->inflate, u->packed + at, &used, u->j->piece, &made);
		if (ended < 0)
			return ended;
		at += used;
		if (made > size - c->made)
			return -EOVERFLOW;
		ret = put(c, u->j->piece, made);
		if (ret < 0)
			return ret;
		if (!ended && !used && !made)
			return -EINVAL; /* it goes on behind its end */
	}
	return 0;
}

/* Where an entry's bytes are. */
static int find_bytes(struct unpack *u, const struct zip_entry *entry, struct copy *c,
		      struct err *e)
{
	char local[ZIP_LOCAL_MIN];
	ssize_t n = tree_read_at(u->archive, local, sizeof(local), entry->at);
	long offset;

	if (n != (ssize_t)sizeof(local))
		return tree_os_error(e, n < 0 ? (int)-n : EIO, u->j->path, u->j->name);
	offset = zip_data_offset(local, entry, e);
	if (offset < 0)
		return blame(u, e);
	c->from = entry->at + (uint64_t)offset;
	c->left = entry->packed;
	if (c->from > u->end.directory_at || c->left > u->end.directory_at - c->from)
		return blame_entry(u, entry, "is larger than the archive", e);
	return 0;
}

static int fill_file(struct unpack *u, const struct zip_entry *entry, int fd, struct err *e)
{
	unsigned mode = entry->mode & 0777;
	struct copy c = { .to = fd };
	int ret;

	if (find_bytes(u, entry, &c, e) < 0)
		return -e->code;
	ret = entry->method == ZIP_STORED ? copy_stored(u, &c) : copy_deflated(u, &c, entry->size);
	if (ret == -EINVAL)
		return blame_entry(u, entry, "has malformed bytes", e);
	if (ret == -EOVERFLOW)
		return blame_entry(u, entry, "is larger than it says", e);
	if (ret < 0)
		return entry_error(u, entry, -ret, e);
	if (c.made != entry->size || c.crc != entry->crc)
		return blame_entry(u, entry, "has other bytes than it says", e);
	return fchmod(fd, mode ? mode : 0644) < 0 ? entry_error(u, entry, errno, e) : 0;
}

static int unpack_file(struct unpack *u, const struct zip_entry *entry, size_t parent_len,
		       struct err *e)
{
	size_t len = entry->name_len - parent_len;
	char name[TREE_PATH_MAX + 1];
	autoclose int fd = -1;

	memcpy(name, entry->name + parent_len, len);
	name[len] = '\0';
	if (strcmp(name, ".") == 0)
		return entry_error(u, entry, EISDIR, e);
	if (enter_parent(u, entry, parent_len, e) < 0)
		return -e->code;
	fd = make_file(u, name);
	if (fd < 0)
		return entry_error(u, entry, -fd, e);
	if (fill_file(u, entry, fd, e) == 0)
		return 0;
	(void)unlinkat(u->parent_fd, name, 0); /* the error is told already */
	return -e->code;
}

static int unpack_entry(struct unpack *u, const struct zip_entry *entry, struct err *e)
{
	const char *slash = memrchr(entry->name, '/', entry->name_len);
	size_t parent_len = slash ? (size_t)(slash - entry->name) + 1 : 0;

	/* It was looked at before. But where the file system has no files without a name the archive
	 * had one for a moment, and whoever opened it then may have written into it since. */
	if (check_name(u, entry, e) < 0)
		return -e->code;
	/* A directory says so by its last byte. */
	if (parent_len == entry->name_len)
		return enter_parent(u, entry, parent_len, e);
	return unpack_file(u, entry, parent_len, e);
}

/* --- from the start -------------------------------------------------------------------------- */

static int unpack_all(struct unpack *u, struct err *e)
{
	int ret;

	u->window = malloc(WINDOW_BYTES);
	u->packed = malloc(PACKED_BYTES);
	u->inflate = zip_inflate_new();
	if (!u->window || !u->packed || !u->inflate)
		ret = tree_os_error(e, ENOMEM, u->j->path, u->j->name);
	else
		ret = find_end(u, e);
	if (ret == 0)
		ret = check(u, e);
	if (ret == 0)
		ret = each_entry(u, unpack_entry, e);
	zip_inflate_free(u->inflate);
	free(u->packed);
	free(u->window);
	buf_clear(&u->parent);
	drop_fd(&u->parent_fd);
	return ret;
}

/* The archive in a file that nobody can name. */
static int receive(struct unpack *u, struct err *e)
{
	struct tree_fresh file;
	int64_t size;
	int ret = tree_fresh_make(&file, u->dir);

	if (ret < 0)
		return tree_os_error(e, -ret, u->j->path, u->j->name);
	if (file.name[0] && unlinkat(u->dir, file.name, 0) < 0)
		ret = tree_os_error(e, errno, u->j->path, file.name);
	else
		file.name[0] = '\0';
	size = ret < 0 ? ret : tree_receive(u->j, file.fd, e);
	if (size >= 0) {
		u->archive = take_fd(&file.fd);
		u->size = (uint64_t)size;
	}
	tree_fresh_clear(&file);
	return size < 0 ? (int)size : 0;
}

int tree_unpack(struct tree_job *j, struct err *e)
{
	struct unpack u = { .j = j, .archive = -1, .parent_fd = -1 };
	int ret;

	u.dir = tree_destination(j, e);
	if (u.dir < 0)
		return u.dir;
	ret = receive(&u, e);
	if (ret == 0)
		ret = unpack_all(&u, e);
	drop_fd(&u.archive);
	drop_fd(&u.dir);
	return ret < 0 ? ret : tree_tell(j, 0, e);
}
