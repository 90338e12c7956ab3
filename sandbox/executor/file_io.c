/* SPDX-License-Identifier: MIT */
/* file_io.c - see file_io.h. */
#include "sandbox/executor/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

/* A fifo does not wait for its other end, a leased file not for its holder. */
#define NEVER_WAIT (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int failure(void)
{
	return errno ? -errno : -EIO;
}

void file_target_close(struct file_target *t)
{
	drop_fd(&t->fd);
}

static void name_of_fd(int fd, char name[40])
{
	(void)snprintf(name, 40, "/proc/self/fd/%d", fd);
}

/* Files of /proc about ourselves: whoever reads them may always read them, and learns where the
 * executor lies in memory, the server included. */
static bool is_about_us(int fd)
{
	char name[40], path[PATH_MAX], ours[40];
	struct statfs fs;
	ssize_t n;

	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	name_of_fd(fd, name);
	n = readlink(name, path, sizeof(path) - 2);
	if (n < 0)
		return true;
	memcpy(path + n, "/", 2);
	(void)snprintf(ours, sizeof(ours), "/proc/%d/", (int)getpid());
	return strncmp(path, ours, strlen(ours)) == 0;
}

int file_look(const char *path, struct file_target *t)
{
	autoclose int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &t->st) < 0)
		return failure();
	if (is_about_us(fd))
		return -EACCES;
	t->fd = take_fd(&fd);
	return 0;
}

int file_open(const struct file_target *t, int flags)
{
	char name[40];
	int fd;

	name_of_fd(t->fd, name);
	fd = open(name, flags | NEVER_WAIT);
	return fd < 0 ? failure() : fd;
}

int file_slurp(int fd, size_t max, struct buf *out)
{
	char bytes[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failure();
		if (n == 0)
			return out->failed ? -ENOMEM : 0;
		total += (size_t)n;
		if (total > max)
			return -EFBIG;
		buf_add(out, bytes, (size_t)n);
	}
}

static int write_at(int fd, const char *bytes, size_t len, size_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return failure();
		bytes += n;
		len -= (size_t)n;
		at += (size_t)n;
	}
	return 0;
}

static int cut(int fd, size_t len)
{
	return ftruncate(fd, (off_t)len) < 0 ? failure() : 0;
}

/* Put back what stood there, because of `why`. It had room before; where that is no longer so
 * (copy on write, a failing disk), it is another error, for the file is not what it was. */
static int put_back(int fd, struct text old, size_t had, int why)
{
	if (write_at(fd, old.at, old.len < had ? old.len : had, 0) < 0 || cut(fd, had) < 0)
		return -EIO;
	return why;
}

/* What goes beyond the old end comes first, because only that needs new space: until it is there,
 * the old content is whole. Cut is last: emptied before, the file would be written to the disk when
 * it is closed by some file systems (ext4), which takes milliseconds. */
static int replace(int fd, size_t had, struct text old, struct text new)
{
	size_t over = new.len < had ? new.len : had;
	int ret = write_at(fd, new.at + over, new.len - over, over);

	if (ret < 0)
		return cut(fd, had) < 0 ? -EIO : ret;
	ret = write_at(fd, new.at, over, 0);
	if (ret == 0 && new.len < had)
		ret = cut(fd, new.len);
	return ret < 0 ? put_back(fd, old, had, ret) : 0;
}

int file_store(const struct file_target *t, struct text old, struct text new)
{
	autoclose int fd = file_open(t, O_WRONLY);
	struct stat now;
	int ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) < 0)
		return failure();
	ret = replace(fd, (size_t)now.st_size, old, new);
	/* Writing takes them away. Who wrote may not be who may give them: then they stay away. */
	if (t->st.st_mode & (S_ISUID | S_ISGID))
		(void)fchmod(fd, t->st.st_mode & 07777);
	return ret;
}

/* Through a link that leads to nothing, too; `fresh`: it is ours to remove. */
static int create(const char *path, bool *fresh)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | NEVER_WAIT, 0666);
	struct stat st;

	*fresh = fd >= 0;
	if (fd < 0 && errno == EEXIST && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		fd = open(path, O_WRONLY | O_CREAT | NEVER_WAIT, 0666);
	return fd < 0 ? failure() : fd;
}

/* Empty, or gone: not half of it. */
static void remove_made(int fd, const char *path, bool fresh)
{
	struct stat made, there;

	if (cut(fd, 0) < 0 && !fresh)
		return; /* nothing is left to do about it */
	/* Somebody may have put something else there. */
	if (fresh && fstat(fd, &made) == 0 && lstat(path, &there) == 0 &&
	    made.st_ino == there.st_ino && made.st_dev == there.st_dev)
		(void)unlink(path);
}

int file_make(const char *path, mode_t mode, struct text content)
{
	bool fresh;
	autoclose int fd = create(path, &fresh);
	struct stat st;
	int ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return failure();
	if (!S_ISREG(st.st_mode) || st.st_size)
		return -EEXIST; /* not there when it was looked for */
	if (mode)
		(void)fchmod(fd, mode); /* where the file system has no modes, without */
	ret = write_at(fd, content.at, content.len, 0);
	if (ret < 0)
		remove_made(fd, path, fresh);
	return ret;
}
