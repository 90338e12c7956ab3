/* SPDX-License-Identifier: MIT */
/* file.c - see file.h. Paths are opened plainly: they are the workload's own, with its rights. Only
 * what could block or do harm by being opened is held off. */
#include "sandbox/executor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "sandbox/executor/file_text.h"

static struct file_outcome outcome(enum file_status status)
{
	return (struct file_outcome) { .status = status };
}

static struct file_outcome os_error(void)
{
	switch (errno) {
	case ENOENT:
		return outcome(FILE_MISSING);
	case EISDIR:
		return outcome(FILE_IS_DIRECTORY);
	case ENXIO: /* a fifo without reader, a socket */
		return outcome(FILE_SPECIAL);
	default:
		return (struct file_outcome) { .status = FILE_OS_ERROR, .code = errno };
	}
}

/* Is it a file that can be read or written as one? */
static struct file_outcome look_at(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return os_error();
	if (S_ISDIR(st.st_mode))
		return outcome(FILE_IS_DIRECTORY);
	if (!S_ISREG(st.st_mode))
		return outcome(FILE_SPECIAL);
	return outcome(st.st_size > FILE_BYTES_MAX ? FILE_TOO_LARGE : FILE_OK);
}

/* Files of /proc say that they are empty, and others grow: what is read counts. */
static struct file_outcome read_whole(int fd, struct buf *out)
{
	char bytes[16384];

	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return os_error();
		if (n == 0)
			return outcome(FILE_OK);
		if (out->len + (size_t)n > FILE_BYTES_MAX)
			return outcome(FILE_TOO_LARGE);
		buf_add(out, bytes, (size_t)n);
		if (out->failed)
			return (struct file_outcome) { .status = FILE_OS_ERROR, .code = ENOMEM };
	}
}

static struct file_outcome open_read(const char *path, struct buf *out)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file_outcome found;

	if (fd < 0)
		return os_error();
	found = look_at(fd);
	return found.status == FILE_OK ? read_whole(fd, out) : found;
}

static struct file_outcome read_file(const struct file_request *r, struct buf *content)
{
	autobuf struct buf whole = { .limit = 2 * FILE_BYTES_MAX };
	struct file_outcome found = open_read(r->path, &whole);
	const char *mime = file_mime(r->path);

	if (found.status != FILE_OK)
		return found;
	if (r->given_absolute && file_is_binary(r->path, buf_str(&whole), whole.len))
		return outcome(FILE_BINARY);
	if (mime) {
		file_data_url(mime, buf_str(&whole), whole.len, content);
		return outcome(FILE_OK);
	}
	if (utf8_check(buf_str(&whole), whole.len) != whole.len)
		return outcome(FILE_NOT_TEXT);
	file_newlines(&whole);
	file_select(&whole, r->start, r->end, content);
	return outcome(FILE_OK);
}

/* Missing directories on the way, as `mkdir -p` would. Others may make them at the same time. */
static struct file_outcome make_parents(const char *path)
{
	autofree char *copy = strdup(path);

	if (!copy)
		return (struct file_outcome) { .status = FILE_OS_ERROR, .code = ENOMEM };
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST && errno != EISDIR) {
			/* Read-only, or not ours: good enough if it is there. */
			if (access(copy, F_OK) < 0)
				return (struct file_outcome) { .status = FILE_OS_ERROR,
							       .code = errno };
		}
		*slash = '/';
	}
	return outcome(FILE_OK);
}

/* Open for writing without touching the content yet. *fresh: it was not there. */
static int open_write(const char *path, bool *fresh, struct file_outcome *out)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = open(path, flags);

	*fresh = false;
	if (fd < 0 && errno == ENOENT) {
		*out = make_parents(path);
		if (out->status != FILE_OK)
			return -1;
		*fresh = true;
		fd = open(path, flags | O_CREAT, 0664);
	}
	if (fd < 0)
		*out = os_error();
	return fd;
}

/* Over the old bytes, and cut behind them: emptied first, the file would be written to the disk on
 * close by some file systems (ext4), which takes milliseconds. */
static struct file_outcome write_whole(int fd, const struct buf *content)
{
	for (size_t at = 0; at < content->len;) {
		ssize_t n = write(fd, content->data + at, content->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return os_error();
		at += (size_t)n;
	}
	return ftruncate(fd, (off_t)content->len) < 0 ? os_error() : outcome(FILE_OK);
}

static struct file_outcome write_file(const struct file_request *r, struct buf *content)
{
	autobuf struct buf old = { .limit = 2 * FILE_BYTES_MAX },
			   whole = { .limit = (size_t)4 * FILE_BYTES_MAX };
	struct file_outcome found = outcome(FILE_OK);
	autoclose int fd = -1;
	bool fresh;

	(void)content;
	fd = open_write(r->path, &fresh, &found);
	if (fd < 0)
		return found;
	found = look_at(fd);
	if (found.status == FILE_OK && !fresh)
		found = open_read(r->path, &old);
	if (found.status != FILE_OK)
		return found;
	if (utf8_check(buf_str(&old), old.len) != old.len)
		return outcome(FILE_NOT_TEXT);
	file_newlines(&old);
	file_splice(&old, r, &whole);
	if (whole.failed)
		return outcome(FILE_TOO_LARGE);
	if (fresh)
		(void)fchmod(
			fd, 0664); /* past the umask; where the file system has no modes, without */
	return write_whole(fd, &whole);
}

static struct file_outcome (*const ops[FILE_OPS])(const struct file_request *r,
						  struct buf *content) = {
	[FILE_READ] = read_file,
	[FILE_WRITE] = write_file,
};

struct file_outcome file_do(const struct file_request *request, struct buf *content)
{
	return ops[request->op](request, content);
}
