/* SPDX-License-Identifier: MIT */
/* io.c - see io.h. */
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_all(int fd, const void *bytes, size_t len, struct err *e)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "write");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t io_read_full(int fd, void *bytes, size_t len, struct err *e)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)bytes + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "read");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int io_read_all(int fd, size_t max, struct buf *out, struct err *e)
{
	char chunk[16384];
	size_t total = 0;

	for (;;) {
		ssize_t n = io_read_full(fd, chunk, sizeof(chunk), e);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return buf_check(out, e);
		total += (size_t)n;
		if (total > max)
			return err_code(e, EFBIG, "larger than %zu bytes", max);
		buf_add(out, chunk, (size_t)n);
	}
}

int io_read_file(int dir, const char *path, size_t max, struct buf *out, struct err *e)
{
	autoclose int fd =
		openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "open '%s'", path);
	/* A FIFO or a terminal would read as empty, or as something that never ends. */
	if (!S_ISREG(st.st_mode))
		return err_code(e, EINVAL, "'%s' is not a regular file", path);
	if (io_read_all(fd, max, out, e) < 0)
		return err_wrap(e, "'%s'", path);
	return 0;
}

int io_write_text(int dir, const char *path, const char *text, struct err *e)
{
	autoclose int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return err_errno(e, "open '%s'", path);
	if (write(fd, text, len) != (ssize_t)len)
		return err_errno(e, "write '%.60s' to '%s'", text, path);
	return 0;
}

int io_replace_file(int dir, const char *name, const void *bytes, size_t len, mode_t mode,
		    struct err *e)
{
	autoclose int fd = -1;
	char tmp[300];

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.new", name) >= sizeof(tmp))
		return err_code(e, ENAMETOOLONG, "'%s' is too long a name", name);
	/* What may be there is written over and cut afterwards: a file that is cut to nothing first ext4
	 * writes to the disk as soon as it is closed. */
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_errno(e, "create '%s'", tmp);
	if (io_write_all(fd, bytes, len, e) < 0)
		(void)err_wrap(e, "'%s'", tmp);
	else if (ftruncate(fd, (off_t)len) < 0)
		(void)err_errno(e, "cut '%s'", tmp);
	else if (renameat(dir, tmp, dir, name) < 0)
		(void)err_errno(e, "rename '%s' to '%s'", tmp, name);
	else
		return 0;
	/* On a full disk the half-written file must not stay; the error is told either way. */
	(void)unlinkat(dir, tmp, 0);
	return -e->code;
}
