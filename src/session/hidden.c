/* SPDX-License-Identifier: MIT */
/* hidden.c - see hidden.h. */
#include "session/hidden.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/str.h"

#define FORMAT 1u /* change it when the making changes */
#define AGE_SECONDS_MAX 3600
#define HEX 32
#define LIST_BYTES_MAX ((size_t)16 << 20)
#define PACKAGES "/var/lib/dpkg/status"

/* Where people put files by hand; packages change PACKAGES. Beneath the directory. */
static const char *const watched[] = {
	"", "local", "local/bin", "local/etc", "local/lib", "local/sbin", "local/share", "etc",
};

struct stamp {
	int64_t seconds, nanoseconds, size;
};

struct index {
	uint32_t format;
	int64_t looked; /* seconds since the epoch */
	struct stamp packages, at[ARRAY_LEN(watched)];
	char digest[HEX + 1]; /* "" where nothing is hidden */
};

static struct stamp stamp_of(int at, const char *path)
{
	struct stat st;

	if (fstatat(at, path, &st, AT_EMPTY_PATH) < 0)
		return (struct stamp) { .size = -1 }; /* missing is a state like any other */
	return (struct stamp) { st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_size };
}

static void look(int host_dir, struct index *index)
{
	memset(index, 0, sizeof(*index)); /* compared as bytes */
	index->format = FORMAT;
	index->looked = time(NULL);
	index->packages = stamp_of(AT_FDCWD, PACKAGES);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		index->at[i] = stamp_of(host_dir, watched[i]);
}

/* Is what was found then still so? 1 or 0; whatever is wrong with an index, a new one cures it. */
static int find(int cache, const char *index_name, const struct index *now, char digest[HEX + 1])
{
	autobuf struct buf bytes = { 0 };
	struct index then;
	struct err ignored;

	if (io_read_file(cache, index_name, sizeof(then), &bytes, &ignored) < 0 ||
	    bytes.len != sizeof(then))
		return 0;
	memcpy(&then, bytes.data, sizeof(then));
	if (then.format != FORMAT || now->looked < then.looked ||
	    now->looked - then.looked > AGE_SECONDS_MAX ||
	    memcmp(&then.packages, &now->packages, sizeof(then.packages)) != 0 ||
	    memcmp(then.at, now->at, sizeof(then.at)) != 0)
		return 0;
	memcpy(digest, then.digest, sizeof(then.digest));
	digest[HEX] = '\0';
	return 1;
}

static bool everybody_reads(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return true;
	if (S_ISDIR(st->st_mode))
		return (st->st_mode & 0005) == 0005;
	return S_ISREG(st->st_mode) && (st->st_mode & 0004);
}

/* The paths to hide, a NUL behind each, relative to `dir`. */
static int scan(const char *dir, struct buf *list, struct err *e)
{
	char *roots[] = { (char *)dir, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	size_t skip = strlen(dir) + 1;
	FTSENT *f;

	if (!walk)
		return err_errno(e, "look through '%s'", dir);
	while ((f = fts_read(walk))) {
		if (f->fts_info == FTS_DP || f->fts_level == 0)
			continue;
		/* Gone meanwhile: there is nothing to hide. */
		if (f->fts_info == FTS_NS || everybody_reads(f->fts_statp))
			continue;
		buf_add(list, f->fts_path + skip, strlen(f->fts_path + skip) + 1);
		(void)fts_set(walk, f, FTS_SKIP); /* cannot fail for this value */
	}
	if (errno) {
		(void)err_errno(e, "look through '%s'", dir);
		(void)fts_close(walk);
		return -e->code;
	}
	(void)fts_close(walk);
	return buf_check(list, e);
}

/* The directories above a whiteout look as the host's do: they are merged with them. */
static int make_parents(int layer, int host_dir, const char *path, struct err *e)
{
	char part[4096];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct stat st;

		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(layer, part, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return err_errno(e, "make '%s'", part);
		}
		if (fstatat(host_dir, part, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchownat(layer, part, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchmodat(layer, part, st.st_mode & 07777, 0) < 0)
			return err_errno(e, "make '%s' as it is on the host", part);
	}
	return 0;
}

static int fill(int layer, int host_dir, const struct buf *list, struct err *e)
{
	for (const char *path = list->data; path < list->data + list->len; path += strlen(path) + 1)
		if (make_parents(layer, host_dir, path, e) < 0)
			return -e->code;
		else if (mknodat(layer, path, S_IFCHR, makedev(0, 0)) < 0)
			return err_errno(e, "hide '%s'", path);
	return 0;
}

static int make_layer(int cache, int host_dir, const struct buf *list, const char *dir_name,
		      struct err *e)
{
	autoclose int layer = -1;
	struct stat st;

	if (faccessat(cache, dir_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0; /* the same files as once before */
	if (fs_remove_tree(cache, "hidden.new", e) < 0)
		return -e->code;
	layer = fs_mkdir_open(cache, "hidden.new", 0755, e);
	if (layer < 0)
		return layer;
	if (fstat(host_dir, &st) < 0 || fchmod(layer, st.st_mode & 07777) < 0)
		return err_errno(e, "make the layer as the directory is on the host");
	if (fill(layer, host_dir, list, e) < 0)
		return -e->code;
	if (renameat(cache, "hidden.new", cache, dir_name) < 0)
		return err_errno(e, "rename a layer to '%s'", dir_name);
	return 0;
}

static int make(int cache, int host_dir, const char *dir, const char *index_name, struct index *now,
		struct err *e)
{
	autobuf struct buf list = { .limit = LIST_BYTES_MAX };
	char all[SHA256_HEX_BYTES], layer_name[64];
	struct sha256 s;

	errno = 0; /* fts_read() tells its end from an error by it */
	if (scan(dir, &list, e) < 0)
		return -e->code;
	if (list.len) {
		sha256_init(&s);
		sha256_add(&s, dir, strlen(dir) + 1);
		sha256_add(&s, list.data, list.len);
		sha256_end_hex(&s, all);
		memcpy(now->digest, all, HEX);
		(void)snprintf(layer_name, sizeof(layer_name), "hidden-%s", now->digest);
		if (make_layer(cache, host_dir, &list, layer_name, e) < 0)
			return err_wrap(e, "hide what only root may read in '%s'", dir);
	}
	return io_replace_file(cache, index_name, now, sizeof(*now), 0600, e);
}

static int make_locked(int cache, int host_dir, const char *dir, const char *index_name,
		       struct index *now, struct err *e)
{
	autoclose int lock =
		openat(cache, "hidden.lock", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_errno(e, "lock the cache of hidden files");
	if (find(cache, index_name, now, now->digest)) /* another start was faster */
		return 0;
	log_debug("looking through '%s' for what only root may read", dir);
	return make(cache, host_dir, dir, index_name, now, e);
}

int hidden_up(int state, const char *dir, const char *name, char **layer, struct err *e)
{
	autoclose int cache = fs_mkdir_open(state, "cache", 0700, e);
	autoclose int host_dir = cache < 0 ? -1 : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char index_name[64];
	struct index now;

	if (cache < 0)
		return -e->code;
	if (host_dir < 0)
		return err_errno(e, "open '%s'", dir);
	(void)snprintf(index_name, sizeof(index_name), "hidden-%s.index", name);
	look(host_dir, &now);
	if (!find(cache, index_name, &now, now.digest) &&
	    make_locked(cache, host_dir, dir, index_name, &now, e) < 0)
		return -e->code;
	*layer = NULL;
	if (!now.digest[0])
		return 0;
	*layer = str_fmt(e, "cache/hidden-%s", now.digest);
	return *layer ? 0 : -e->code;
}
