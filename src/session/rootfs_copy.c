/* SPDX-License-Identifier: MIT */
/* rootfs_copy.c - named files of the host's /etc into the skeleton.
 *
 * Copied is what everybody on the host can read, by the mode of the file and of every directory
 * above it: that the supervisor runs as root must not show inside. Links are copied as links. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/rootfs_parts.h"

#define FILE_BYTES_MAX ((uint64_t)8 << 20)
#define TOTAL_BYTES_MAX ((uint64_t)96 << 20)
#define ENTRIES_MAX 20000
#define DEPTH_MAX 12
#define PATH_BYTES 4096
#define PACKAGES "var/lib/dpkg/status"

/* Below the host's directory `from` and the skeleton's `to`, at `path` of both. */
struct place {
	struct skeleton *k;
	int from, to;
	const char *path; /* from the root, for the index and for errors */
	unsigned flags, depth;
};

static bool others_may(mode_t mode, mode_t bits)
{
	return (mode & bits) == bits;
}

static int count(struct skeleton *k, uint64_t bytes, const char *path, struct err *e)
{
	k->bytes += bytes;
	k->entries++;
	if (k->bytes > TOTAL_BYTES_MAX || k->entries > ENTRIES_MAX)
		return err_code(
			e, EFBIG,
			"'/%s': the host's configuration is larger than %llu MiB or %d files", path,
			(unsigned long long)(TOTAL_BYTES_MAX >> 20), ENTRIES_MAX);
	return 0;
}

size_t rootfs_strip_credentials(char *text, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len;) {
		size_t end, at = 0;

		if (len - i < 3 || memcmp(text + i, "://", 3) != 0) {
			text[to++] = text[i++];
			continue;
		}
		memmove(text + to, "://", 3);
		to += 3;
		i += 3;
		/* The host's part ends at a slash; its last '@' ends the user's. */
		for (end = i; end < len && !strchr("/ \t\r\n\"'[]<>", text[end]); end++)
			if (text[end] == '@')
				at = end + 1;
		if (at)
			i = at;
	}
	return to;
}

static bool is_private_key(const struct buf *b)
{
	return b->len && memmem(b->data, b->len, "PRIVATE KEY", strlen("PRIVATE KEY"));
}

/* `fd` is what was found; its bytes go to `name` in `to`. */
static int copy_bytes(const struct place *p, int fd, const char *name, const struct stat *st,
		      struct err *e)
{
	autobuf struct buf bytes = { 0 };
	autoclose int out = -1;

	if (st->st_size > (off_t)FILE_BYTES_MAX)
		return 0; /* no configuration is that large */
	if (io_read_all(fd, FILE_BYTES_MAX, &bytes, e) < 0 ||
	    count(p->k, bytes.len, p->path, e) < 0)
		return err_wrap(e, "copy '/%s'", p->path);
	if (is_private_key(&bytes))
		return 0;
	if (p->flags & COPY_STRIP && bytes.len)
		bytes.len = rootfs_strip_credentials(bytes.data, bytes.len);
	out = openat(p->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     st->st_mode & 0111 ? 0755 : 0644);
	if (out < 0)
		return err_errno(e, "copy '/%s'", p->path);
	return io_write_all(out, buf_str(&bytes), bytes.len, e) < 0
		       ? err_wrap(e, "copy '/%s'", p->path)
		       : 0;
}

static int copy_link(const struct place *p, const char *name, struct err *e)
{
	char text[PATH_BYTES];
	ssize_t n = readlinkat(p->from, name, text, sizeof(text) - 1);

	if (n < 0)
		return err_errno(e, "read link '/%s'", p->path);
	text[n] = '\0';
	if (count(p->k, (uint64_t)n, p->path, e) < 0)
		return -e->code;
	return symlinkat(text, p->to, name) < 0 ? err_errno(e, "copy link '/%s'", p->path) : 0;
}

static int copy_tree(const struct place *p, int dir, const char *name, struct err *e);

static int copy_one(const struct place *p, const char *name, struct err *e)
{
	struct stat st;
	autoclose int fd = -1;

	if (fstatat(p->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* missing, as the index says */
	if (S_ISLNK(st.st_mode))
		return copy_link(p, name, e);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	if (!others_may(st.st_mode, S_ISDIR(st.st_mode) ? S_IROTH | S_IXOTH : S_IROTH))
		return 0;
	fd = openat(p->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* Looked at again: what is copied must be what was allowed. */
	if (fd < 0 || fstat(fd, &st) < 0 || !others_may(st.st_mode, S_IROTH))
		return 0;
	if (S_ISREG(st.st_mode))
		return copy_bytes(p, fd, name, &st, e);
	return S_ISDIR(st.st_mode) ? copy_tree(p, fd, name, e) : 0;
}

static int copy_child(const struct place *parent, const char *name, struct err *e)
{
	struct place p = *parent;
	char path[PATH_BYTES];

	if (rootfs_is_private(name))
		return 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", parent->path, name) >= sizeof(path))
		return err_code(e, ENAMETOOLONG, "'/%.60s...' is too long a path", parent->path);
	p.path = path;
	if (p.flags & COPY_DEEP)
		index_add(p.k->index, p.k->host, path);
	return copy_one(&p, name, e);
}

/* Recursion, but no deeper than DEPTH_MAX: the host's configuration is not an adversary's. */
static int copy_tree(const struct place *p, int fd, const char *name, struct err *e)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct place below = *p;
	const struct dirent *d;
	autoclose int to = -1;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read directory '/%s'", p->path);
	}
	if (!below.depth || !p->k->packaged)
		index_add(p->k->index, p->k->host, p->path);
	if (++below.depth > DEPTH_MAX)
		return err_code(e, ELOOP, "'/%s' is deeper than %d directories", p->path,
				DEPTH_MAX);
	if (count(p->k, 0, p->path, e) < 0)
		return -e->code;
	to = fs_mkdir_open(p->to, name, 0755, e);
	if (to < 0)
		return -e->code;
	below.from = fd;
	below.to = to;
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
		    copy_child(&below, d->d_name, e) < 0)
			return -e->code;
	return 0;
}

/* Open the directory above the last part of `path`, through directories that others may enter.
 * -1 where there is none. */
static int open_above(int host, const char *path)
{
	autoclose int at = openat(host, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *slash;
	struct stat st;
	char part[256];

	while (at >= 0 && (slash = strchr(path, '/'))) {
		int next;

		if ((size_t)(slash - path) >= sizeof(part))
			return -1;
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		path = slash + 1;
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		drop_fd(&at);
		at = next;
		if (at >= 0 && (fstat(at, &st) < 0 || !others_may(st.st_mode, S_IXOTH)))
			return -1;
	}
	return take_fd(&at);
}

/* Copy /`path` to the same place. */
static int copy_path(struct skeleton *k, const char *path, unsigned flags, struct err *e)
{
	struct place p = { .k = k, .path = path, .flags = flags };
	autoclose int from = open_above(k->host, path), to = -1;
	const char *name = strrchr(path, '/') + 1;
	autofree char *parent = strndup(path, (size_t)(name - path));

	if (!parent)
		return err_code(e, ENOMEM, "out of memory");
	parent[name - path - 1] = '\0';
	/* What replaces a file by another, as most do, changes its directory, which many share. */
	index_add(k->index, k->host, flags & COPY_DEEP ? path : parent);
	if (from < 0)
		return 0;
	to = fs_mkdir_path(k->root, parent, 0755, e);
	if (to < 0)
		return -e->code;
	p.from = from;
	p.to = to;
	return copy_one(&p, name, e);
}

/* Every name in /etc that begins as the row says. */
static int copy_prefix(struct skeleton *k, const struct copy_row *row, struct err *e)
{
	int fd = openat(k->host, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;
	char path[300];

	index_add(k->index, k->host, "etc");
	if (!dir) {
		auto_close(&fd);
		return errno == ENOENT ? 0 : err_errno(e, "read directory '/etc'");
	}
	while ((d = readdir(dir))) {
		if (!str_starts(d->d_name, row->path))
			continue;
		(void)snprintf(path, sizeof(path), "etc/%s", d->d_name);
		if (copy_path(k, path, row->flags, e) < 0)
			return -e->code;
	}
	return 0;
}

static int copy_row(struct skeleton *k, const struct copy_row *row, struct err *e)
{
	char path[128];

	if (row->flags & COPY_PREFIX)
		return copy_prefix(k, row, e);
	(void)snprintf(path, sizeof(path), "etc/%s", row->path);
	return copy_path(k, path, row->flags, e);
}

/* May everybody on the host reach this file? By its real path: links lead past a look at the name. */
static int public_path(int fd, char **path, struct err *e)
{
	autofree char *real = fs_path_of(fd, e);
	struct stat st;

	if (!real)
		return -e->code;
	for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool open;

		*slash = '\0';
		open = stat(real, &st) == 0 && others_may(st.st_mode, S_IXOTH);
		*slash = '/';
		if (!open)
			return err_code(e, EACCES, "not everybody may read it");
	}
	*path = take_ptr(&real);
	return 0;
}

int skeleton_copy_file(struct skeleton *k, const char *from, const char *to, bool must,
		       struct err *e)
{
	autobuf struct buf bytes = { 0 };
	autofree char *real = NULL;
	struct stat st;
	autoclose int fd = fs_open_in_root(k->host, from, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, e);

	index_add(k->index, k->host, from);
	if (fd < 0)
		return must ? -e->code : 0;
	if (fstat(fd, &st) < 0)
		return err_errno(e, "'/%s'", from);
	if (!S_ISREG(st.st_mode) || !others_may(st.st_mode, S_IROTH))
		return must ? err_code(e, EACCES, "'/%s' is no file that everybody may read", from)
			    : 0;
	if (public_path(fd, &real, e) < 0)
		return must ? err_wrap(e, "'/%s'", from) : 0;
	index_add(k->index, k->host, real);
	if (io_read_all(fd, FILE_BYTES_MAX, &bytes, e) < 0 || count(k, bytes.len, from, e) < 0)
		return err_wrap(e, "'/%s'", from);
	if (is_private_key(&bytes))
		return must ? err_code(e, EINVAL, "'/%s' holds a private key", from) : 0;
	return skeleton_write(k, to, buf_str(&bytes), bytes.len, 0644, e);
}

/* To the same place where that is in /etc, else among the other certificates. */
char *rootfs_certificate_path(const char *from, struct err *e)
{
	from += strspn(from, "/");
	if (str_starts(from, "etc/"))
		return str_dup(from, e);
	return str_fmt(e, "etc/ssl/certs/%s", strrchr(from, '/') ? strrchr(from, '/') + 1 : from);
}

static int copy_certificate(struct skeleton *k, const char *from, struct err *e)
{
	autofree char *to = rootfs_certificate_path(from, e);

	from += strspn(from, "/");
	if (!to || skeleton_copy_file(k, from, to, true, e) < 0)
		return err_wrap(e, "certificates of the policy");
	return 0;
}

int skeleton_copy(struct skeleton *k, struct err *e)
{
	/* Every work of the package manager shows here, however deep in a tree. */
	index_add(k->index, k->host, PACKAGES);
	k->packaged = faccessat(k->host, PACKAGES, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	for (const struct copy_row *row = rootfs_copies; row->path; row++)
		if (copy_row(k, row, e) < 0)
			return -e->code;
	for (char *const *c = k->spec->certificates; c && *c; c++)
		if (copy_certificate(k, *c, e) < 0)
			return -e->code;
	return 0;
}
