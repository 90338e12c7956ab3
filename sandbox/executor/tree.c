/* SPDX-License-Identifier: MIT */
/* tree.c - see tree.h and tree_own.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "sandbox/executor/transfer_wire.h"
#include "sandbox/executor/tree_own.h"

int tree_os_error(struct err *e, int code, const char *directory, const char *name)
{
	size_t len = strlen(directory);

	if (!name)
		return err_code(e, code, "[Errno %d] %s: '%s'", code, strerror(code), directory);
	return err_code(e, code, "[Errno %d] %s: '%s%s%s'", code, strerror(code), directory,
			len && directory[len - 1] == '/' ? "" : "/", name);
}

/* --- what is said ---------------------------------------------------------------------------- */

static int answer(struct tree_job *j, const struct transfer_answer *a, const char *text,
		  struct err *e)
{
	j->told = true;
	if (io_write_all(j->socket, a, sizeof(*a), e) < 0)
		return -e->code;
	return io_write_all(j->socket, text, a->text_len, e);
}

int tree_tell(struct tree_job *j, uint64_t body_len, struct err *e)
{
	struct transfer_answer a = { .body_len = body_len };

	return answer(j, &a, "", e);
}

int tree_refuse(struct tree_job *j, unsigned status, const char *text, struct err *e)
{
	size_t len = strlen(text);
	struct transfer_answer a = { .failed = status };

	a.text_len = (uint32_t)(len < TRANSFER_TEXT_MAX ? len : TRANSFER_TEXT_MAX);
	return answer(j, &a, text, e);
}

/* The other end is still sending, perhaps: it hears why when it has nothing in its way. */
static void tell_error(struct tree_job *j, const struct err *why)
{
	struct err e = { 0 };

	if (tree_refuse(j, 500, why->text, &e) < 0)
		return; /* nobody is there */
	while (read(j->socket, j->piece, TREE_PIECE_BYTES) > 0)
		;
}

int64_t tree_receive(struct tree_job *j, int to, struct err *e)
{
	int64_t size = 0;
	uint32_t left;

	for (;;) {
		if (io_read_full(j->socket, &left, sizeof(left), e) != (ssize_t)sizeof(left))
			return err_code(e, ECANCELED, "the client went away");
		if (!left)
			return size;
		for (size += left; left;) {
			size_t want = left < TREE_PIECE_BYTES ? left : TREE_PIECE_BYTES;
			ssize_t n = read(j->socket, j->piece, want);
			int ret;

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return err_code(e, ECANCELED, "the client went away");
			ret = tree_write(to, j->piece, (size_t)n);
			if (ret < 0)
				return tree_os_error(e, -ret, j->path, j->name);
			left -= (uint32_t)n;
		}
	}
}

/* --- files ----------------------------------------------------------------------------------- */

int tree_write(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t tree_read_at(int fd, void *bytes, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)bytes + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* One step of the way, made where it is missing. Links that are there are followed: it is the path
 * that the client named. */
static int step(int at, const char *part)
{
	int next = openat(at, part, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (next >= 0 || errno != ENOENT)
		return next < 0 ? -errno : next;
	if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
		return -errno;
	next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return next < 0 ? -errno : next;
}

int tree_destination(const struct tree_job *j, struct err *e)
{
	autoclose int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *rest = j->path;
	autobuf struct buf part = { 0 };

	if (at < 0)
		return tree_os_error(e, errno, "/", NULL);
	for (rest += strspn(rest, "/"); *rest; rest += strspn(rest, "/")) {
		size_t len = strcspn(rest, "/");
		int next;

		buf_reset(&part);
		buf_add(&part, rest, len);
		if (part.failed)
			return tree_os_error(e, ENOMEM, j->path, NULL);
		rest += len;
		next = step(at, buf_str(&part));
		if (next == -ENOTDIR && !rest[strspn(rest, "/")])
			return tree_os_error(e, ENOTDIR, j->path, j->name);
		if (next < 0)
			return tree_os_error(e, -next, j->path, NULL);
		(void)close(at);
		at = next;
	}
	return take_fd(&at);
}

static int hidden_name(struct tree_fresh *f)
{
	char random[17];
	struct err e = { 0 };

	if (fs_random_hex(random, 8, &e) < 0)
		return -e.code;
	(void)snprintf(f->name, sizeof(f->name), ".ohs-%s", random);
	return 0;
}

int tree_fresh_make(struct tree_fresh *f, int dir)
{
	int ret;

	*f = (struct tree_fresh) { .dir = dir };
	f->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
		return -errno;
	ret = hidden_name(f);
	if (ret < 0)
		return ret;
	f->fd = openat(dir, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		f->name[0] = '\0';
		return -errno;
	}
	return 0;
}

/* Give it a name that is free. */
static int link_as(const struct tree_fresh *f, const char *name)
{
	char self[40];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, self, f->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* A file that has the name already keeps its mode; anything else makes room, but a directory. */
int tree_fresh_place(struct tree_fresh *f, const char *name)
{
	struct stat old;
	mode_t mode = 0644;
	int ret;

	if (fstatat(f->dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode))
		mode = old.st_mode & 0777;
	if (fchmod(f->fd, mode) < 0)
		return -errno;
	if (!f->name[0]) {
		ret = link_as(f, name);
		if (ret != -EEXIST)
			return ret;
		ret = hidden_name(f);
		if (ret == 0)
			ret = link_as(f, f->name);
		if (ret < 0) {
			f->name[0] = '\0';
			return ret;
		}
	}
	if (renameat(f->dir, f->name, f->dir, name) < 0)
		return -errno;
	f->name[0] = '\0';
	return 0;
}

void tree_fresh_clear(struct tree_fresh *f)
{
	if (f->name[0])
		(void)unlinkat(f->dir, f->name, 0); /* nothing is left to do about an error */
	f->name[0] = '\0';
	drop_fd(&f->fd);
}

int tree_store(struct tree_job *j, struct err *e)
{
	autoclose int dir = tree_destination(j, e);
	struct tree_fresh file = { .fd = -1 };
	struct stat st;
	int64_t ret;

	if (dir < 0)
		return dir;
	if (fstatat(dir, j->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return tree_os_error(e, EISDIR, j->path, j->name);
	ret = tree_fresh_make(&file, dir);
	if (ret < 0)
		return tree_os_error(e, (int)-ret, j->path, j->name);
	ret = tree_receive(j, file.fd, e);
	if (ret >= 0) {
		ret = tree_fresh_place(&file, j->name);
		if (ret < 0)
			(void)tree_os_error(e, (int)-ret, j->path, j->name);
	}
	tree_fresh_clear(&file);
	return ret < 0 ? (int)ret : tree_tell(j, 0, e);
}

/* --- the process ----------------------------------------------------------------------------- */

static int (*const ops[TRANSFER_OPS])(struct tree_job *j, struct err *e) = {
	[TRANSFER_LIST] = tree_list, [TRANSFER_STORE] = tree_store, [TRANSFER_UNPACK] = tree_unpack,
	[TRANSFER_PACK] = tree_pack, [TRANSFER_VIEW] = tree_view,
};

static char *take_text(int fd, size_t len)
{
	char *text = malloc(len + 1);
	struct err e = { 0 };

	if (!text)
		return NULL;
	if (io_read_full(fd, text, len, &e) != (ssize_t)len) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

void tree_main(int socket)
{
	struct tree_job j = { .socket = socket, .piece = malloc(TREE_PIECE_BYTES) };
	struct transfer_ask ask;
	struct err e = { 0 };

	/* A limit on the size of files, and a server that went away, are told as errors. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (!j.piece || io_read_full(socket, &ask, sizeof(ask), &e) != (ssize_t)sizeof(ask) ||
	    ask.op >= TRANSFER_OPS || ask.path_len > TRANSFER_PATH_MAX ||
	    ask.name_len > TRANSFER_PATH_MAX)
		_exit(1);
	j.path = take_text(socket, ask.path_len);
	j.name = j.path ? take_text(socket, ask.name_len) : NULL;
	if (!j.name)
		_exit(1);
	if (ops[ask.op](&j, &e) < 0 && !j.told && e.code != ECANCELED)
		tell_error(&j, &e);
	_exit(0);
}
