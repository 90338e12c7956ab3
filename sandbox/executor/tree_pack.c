/* SPDX-License-Identifier: MIT */
/* tree_pack.c - a directory as an archive, its files stored as they are.
 *
 * The directory is looked through first, so that the length is known and most errors are told
 * before the first byte. Then each file is opened again by its name below the directory. What
 * has changed meanwhile so that the archive cannot be as it was announced ends it before its end. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "sandbox/executor/tree_own.h"
#include "sandbox/executor/zip.h"

/* A file that goes into the archive; small, for there may be a million. */
struct member {
	size_t name; /* in `names` */
	uint64_t size, at;
	int64_t mtime;
	uint32_t mode, crc;
};

struct pack {
	struct tree_job *j;
	int root;
	struct buf names; /* of files and directories, relative, NUL behind each */
	struct buf files; /* struct member */
	struct buf dirs;  /* size_t into names, in the order in which they are looked through */
	uint64_t n_files;
	struct buf out; /* records, not yet sent */
};

static const char *name_at(const struct pack *p, size_t at)
{
	return p->names.data + at;
}

/* --- what there is --------------------------------------------------------------------------- */

/* Keep the name of an entry below the directory `above`. Returns where it is, or SIZE_MAX. */
static int keep_name(struct pack *p, size_t above, const char *name, size_t *at, struct err *e)
{
	char full[TREE_PATH_MAX + 1];
	int len = snprintf(full, sizeof(full), "%s%s%s", name_at(p, above),
			   name_at(p, above)[0] ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(full))
		return tree_os_error(e, ENAMETOOLONG, p->j->path, name_at(p, above));
	*at = p->names.len;
	buf_add(&p->names, full, (size_t)len + 1);
	return p->names.failed ? tree_os_error(e, ENOMEM, p->j->path, NULL) : 0;
}

static int add_file(struct pack *p, int dir, size_t above, const char *name, const struct stat *st,
		    struct err *e)
{
	struct member m = { .size = (uint64_t)st->st_size,
			    .mtime = st->st_mtime,
			    .mode = st->st_mode };

	if (keep_name(p, above, name, &m.name, e) < 0)
		return -e->code;
	if (faccessat(dir, name, R_OK, AT_EACCESS) < 0)
		return tree_os_error(e, errno, p->j->path, name_at(p, m.name));
	if (p->n_files++ == TREE_MEMBERS_MAX)
		return tree_os_error(e, EFBIG, p->j->path, NULL);
	buf_add(&p->files, &m, sizeof(m));
	return p->files.failed ? tree_os_error(e, ENOMEM, p->j->path, NULL) : 0;
}

static int add_dir(struct pack *p, size_t above, const char *name, struct err *e)
{
	size_t at;

	if (keep_name(p, above, name, &at, e) < 0)
		return -e->code;
	buf_add(&p->dirs, &at, sizeof(at));
	return p->dirs.failed ? tree_os_error(e, ENOMEM, p->j->path, NULL) : 0;
}

/* Files, and links to files; directories but not links to them; nothing that is neither. */
static int add_entry(struct pack *p, int dir, size_t above, const char *name, struct err *e)
{
	bool link = false;
	struct stat st;
	size_t at;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* it has gone meanwhile */
	if (S_ISLNK(st.st_mode)) {
		link = true;
		if (fstatat(dir, name, &st, 0) < 0) {
			int code = errno;

			if (keep_name(p, above, name, &at, e) < 0)
				return -e->code;
			return tree_os_error(e, code, p->j->path, name_at(p, at));
		}
	}
	if (S_ISREG(st.st_mode))
		return add_file(p, dir, above, name, &st, e);
	return S_ISDIR(st.st_mode) && !link ? add_dir(p, above, name, e) : 0;
}

static int read_dir(struct pack *p, size_t above, struct err *e)
{
	const char *path = name_at(p, above);
	struct err ignored = { 0 };
	int fd = fs_open_beneath(p->root, path[0] ? path : ".", O_RDONLY | O_DIRECTORY, 0,
				 RESOLVE_NO_SYMLINKS, &ignored);
	autodir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		int code = fd < 0 ? -fd : errno;

		drop_fd(&fd);
		if (code == ENOENT && path[0])
			return 0; /* it has gone meanwhile */
		return tree_os_error(e, code, p->j->path, path[0] ? path : NULL);
	}
	while (errno = 0, (d = readdir(dir)))
		if (add_entry(p, dirfd(dir), above, d->d_name, e) < 0)
			return -e->code;
	return errno ? tree_os_error(e, errno, p->j->path, NULL) : 0;
}

static int look_through(struct pack *p, struct err *e)
{
	size_t root = 0;

	buf_add(&p->names, "", 1);
	buf_add(&p->dirs, &root, sizeof(root));
	for (size_t i = 0; i < p->dirs.len / sizeof(root); i++) {
		memcpy(&root, p->dirs.data + i * sizeof(root), sizeof(root));
		if (read_dir(p, root, e) < 0)
			return -e->code;
	}
	return 0;
}

/* --- how it will be -------------------------------------------------------------------------- */

static struct member *member_at(const struct pack *p, uint64_t i)
{
	return (struct member *)(void *)p->files.data + i;
}

/* What is read at once has its checksum before it; of what is larger it follows. */
static struct zip_member record_of(const struct pack *p, const struct member *m)
{
	const char *name = name_at(p, m->name);

	return (struct zip_member) { .name = name,
				     .name_len = (uint16_t)strlen(name),
				     .mode = m->mode,
				     .mtime = m->mtime,
				     .size = m->size,
				     .at = m->at,
				     .crc = m->crc,
				     .crc_follows = m->size > TREE_PIECE_BYTES };
}

struct extent {
	uint64_t at, len;
};

/* Where each member will be, and the directory. */
static struct extent lay_out(struct pack *p)
{
	struct extent directory = { .at = 0 };

	for (uint64_t i = 0; i < p->n_files; i++) {
		struct member *m = member_at(p, i);
		struct zip_member record;

		m->at = directory.at;
		record = record_of(p, m);
		directory.at += zip_local_len(&record) + m->size + zip_descriptor_len(&record);
		directory.len += zip_entry_len(&record);
	}
	return directory;
}

/* --- the bytes ------------------------------------------------------------------------------- */

static int flush(struct pack *p, struct err *e)
{
	int ret = buf_check(&p->out, e);

	if (ret == 0)
		ret = io_write_all(p->j->socket, buf_str(&p->out), p->out.len, e);
	buf_reset(&p->out);
	return ret;
}

static int flush_full(struct pack *p, struct err *e)
{
	return p->out.len < TREE_PIECE_BYTES ? 0 : flush(p, e);
}

static int changed(const struct pack *p, const struct member *m, struct err *e)
{
	return err_code(e, EIO, "'%s/%s' has changed", p->j->path, name_at(p, m->name));
}

static int open_member(const struct pack *p, const struct member *m, struct err *e)
{
	autoclose int fd =
		openat(p->root, name_at(p, m->name), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return tree_os_error(e, errno, p->j->path, name_at(p, m->name));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < m->size)
		return changed(p, m, e);
	return take_fd(&fd);
}

/* Read whole, then told: its checksum stands before it. */
static int put_small(struct pack *p, struct member *m, int fd, struct err *e)
{
	ssize_t n = tree_read_at(fd, p->j->piece, m->size, 0);
	struct zip_member record;

	if (n != (ssize_t)m->size)
		return changed(p, m, e);
	m->crc = zip_crc(0, p->j->piece, m->size);
	record = record_of(p, m);
	zip_put_local(&p->out, &record);
	buf_add(&p->out, p->j->piece, m->size);
	return flush_full(p, e);
}

static int put_large(struct pack *p, struct member *m, int fd, struct err *e)
{
	struct zip_member record = record_of(p, m);
	uint64_t done = 0;

	zip_put_local(&p->out, &record);
	if (flush(p, e) < 0)
		return -e->code;
	while (done < m->size) {
		uint64_t left = m->size - done;
		ssize_t n = read(fd, p->j->piece,
				 left < TREE_PIECE_BYTES ? (size_t)left : TREE_PIECE_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return changed(p, m, e);
		m->crc = zip_crc(m->crc, p->j->piece, (size_t)n);
		if (io_write_all(p->j->socket, p->j->piece, (size_t)n, e) < 0)
			return -e->code;
		done += (uint64_t)n;
	}
	record = record_of(p, m);
	zip_put_descriptor(&p->out, &record);
	return 0;
}

static int put_members(struct pack *p, struct err *e)
{
	for (uint64_t i = 0; i < p->n_files; i++) {
		struct member *m = member_at(p, i);
		autoclose int fd = open_member(p, m, e);

		if (fd < 0)
			return fd;
		if ((m->size > TREE_PIECE_BYTES ? put_large : put_small)(p, m, fd, e) < 0)
			return -e->code;
	}
	return 0;
}

static int put_directory(struct pack *p, struct extent directory, struct err *e)
{
	for (uint64_t i = 0; i < p->n_files; i++) {
		struct zip_member record = record_of(p, member_at(p, i));

		zip_put_entry(&p->out, &record);
		if (flush_full(p, e) < 0)
			return -e->code;
	}
	zip_put_end(&p->out, p->n_files, directory.at, directory.len);
	return flush(p, e);
}

static int pack_root(struct pack *p, struct err *e)
{
	struct extent directory;
	uint64_t len;

	if (look_through(p, e) < 0)
		return -e->code;
	directory = lay_out(p);
	len = directory.at + directory.len + zip_end_len(p->n_files, directory.at, directory.len);
	if (tree_tell(p->j, len, e) < 0 || put_members(p, e) < 0)
		return -e->code;
	return put_directory(p, directory, e);
}

/* What is no directory is an archive of nothing. */
static int pack_nothing(struct tree_job *j, struct err *e)
{
	struct buf out = { 0 };
	int ret;

	zip_put_end(&out, 0, 0, 0);
	ret = buf_check(&out, e);
	if (ret == 0)
		ret = tree_tell(j, out.len, e);
	if (ret == 0)
		ret = io_write_all(j->socket, out.data, out.len, e);
	buf_clear(&out);
	return ret;
}

int tree_pack(struct tree_job *j, struct err *e)
{
	struct pack p = { .j = j,
			  .names.limit = TREE_NAMES_MAX,
			  .files.limit = TREE_MEMBERS_MAX * sizeof(struct member) + 1,
			  .dirs.limit = TREE_NAMES_MAX };
	struct stat st;
	int ret;

	if (stat(j->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? err_code(e, ENOENT, "404: File not found")
			       : tree_os_error(e, errno, j->path, NULL);
	if (!S_ISDIR(st.st_mode))
		return pack_nothing(j, e);
	p.root = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.root < 0)
		return tree_os_error(e, errno, j->path, NULL);
	ret = pack_root(&p, e);
	(void)close(p.root);
	buf_clear(&p.names);
	buf_clear(&p.files);
	buf_clear(&p.dirs);
	buf_clear(&p.out);
	return ret;
}
