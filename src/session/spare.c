/* SPDX-License-Identifier: MIT */
/* spare.c - see spare.h. */
#include "session/spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

#define SPARES_MAX 96
#define NAME_DIGITS 16
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The kernel unmounts what a dead session had a little later than its death is seen. */
#define REST_NS ((uint64_t)200 * 1000 * 1000)

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The spare that has rested longest, and how many there are. */
struct shelf {
	char oldest[NAME_DIGITS + 1];
	unsigned n;
};

static int look(int spares, struct shelf *out, struct err *e)
{
	int copy = openat(spares, ".", DIR_FLAGS);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	*out = (struct shelf) { 0 };
	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of spare layers");
	}
	while ((d = readdir(dir))) {
		if (strspn(d->d_name, "0123456789abcdef") != NAME_DIGITS || d->d_name[NAME_DIGITS])
			continue;
		out->n++;
		if (!out->oldest[0] || strcmp(d->d_name, out->oldest) < 0)
			memcpy(out->oldest, d->d_name, NAME_DIGITS + 1);
	}
	return 0;
}

/* A name later than now is from before the clock was set back: it has rested, too. */
static bool has_rested(const char *name)
{
	uint64_t since = strtoull(name, NULL, 16), now = now_ns();

	return since > now || now - since > REST_NS;
}

int spare_take(int state, int session, struct err *e)
{
	autoclose int spares = openat(state, "cache/spare", DIR_FLAGS);
	struct shelf shelf;

	if (spares < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open the directory of spare layers");
	if (look(spares, &shelf, e) < 0)
		return -e->code;
	if (!shelf.n || !has_rested(shelf.oldest))
		return 0;
	if (renameat(spares, shelf.oldest, session, "layers") == 0)
		return 1;
	/* Another start was faster. */
	return errno == ENOENT ? 0 : err_errno(e, "take spare layers");
}

/* ---- giving ---- */

static bool is_empty(int dir)
{
	char room[2048];
	long n, at = 0;

	n = syscall(SYS_getdents64, dir, room, sizeof(room));
	while (n > 0 && at < n) {
		const struct dirent64 *d = (const struct dirent64 *)(room + at);

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return false;
		at += d->d_reclen;
	}
	return n > 0 && syscall(SYS_getdents64, dir, room, sizeof(room)) == 0;
}

/* A session may have left attributes on the directory itself: access lists, its own. Those of the
 * overlay say nothing about an empty one. */
static bool has_plain_attributes(int dir)
{
	char names[1024];
	ssize_t n = flistxattr(dir, names, sizeof(names));

	for (const char *p = names; n > 0 && p < names + n; p += strlen(p) + 1)
		if (!str_starts(p, "trusted.overlay.") && !str_starts(p, "user.overlay.") &&
		    !str_eq(p, "security.selinux"))
			return false;
	return n >= 0 || errno == EOPNOTSUPP;
}

/* Flags of the inode (append-only, no-dump, one that has been large): as those of a directory that no
 * session reaches. */
static bool has_plain_flags(int dir, int plain)
{
	unsigned int a = 0, b = 0; /* the kernel writes an int, whatever the request's name says */
	int x = ioctl(dir, FS_IOC_GETFLAGS, &a), y = ioctl(plain, FS_IOC_GETFLAGS, &b);

	return x == y && a == b;
}

static bool is_as_made(int layer)
{
	autoclose int upper = openat(layer, "upper", DIR_FLAGS);
	autoclose int work = openat(layer, "work", DIR_FLAGS);
	struct stat st;

	return upper >= 0 && work >= 0 && fstat(upper, &st) == 0 &&
	       (geteuid() == 0 || st.st_uid == geteuid()) && is_empty(upper) && is_empty(work) &&
	       has_plain_attributes(upper) && has_plain_flags(upper, work);
}

/* What the kernel puts into a work directory, innermost first. */
static const struct {
	const char *path;
	int flags;
} marks[] = {
	{ "work/work/incompat/volatile/dirty", 0 },
	{ "work/work/incompat/volatile", AT_REMOVEDIR },
	{ "work/work/incompat", AT_REMOVEDIR },
	{ "work/work", AT_REMOVEDIR },
};

static int clean_layer(int layers, const char *name, struct err *e)
{
	autoclose int layer = openat(layers, name, DIR_FLAGS);

	if (layer < 0)
		return err_errno(e, "open layer '%s'", name);
	/* Shut by the kernel, also against its owner. */
	if (geteuid() != 0 && fchmodat(layer, "work/work", 0700, 0) < 0 && errno != ENOENT)
		return err_errno(e, "open the work directory of layer '%s'", name);
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		(void)unlinkat(layer, marks[i].path, marks[i].flags); /* what stays is seen below */
	if (is_as_made(layer))
		return 0;
	return fs_remove_tree(layers, name, e);
}

static int clean_all(int layers, struct err *e)
{
	int copy = openat(layers, ".", DIR_FLAGS);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of layers");
	}
	while ((d = readdir(dir))) {
		int result = 0;

		if (d->d_name[0] == '.')
			continue;
		/* Layers of --mount are one session's own affair. */
		result = str_starts(d->d_name, "mount-") ? fs_remove_tree(layers, d->d_name, e)
							 : clean_layer(layers, d->d_name, e);
		if (result < 0)
			return result;
	}
	return 0;
}

static int spares_open(int state, struct err *e)
{
	autoclose int cache = -1;
	int fd = openat(state, "cache/spare", DIR_FLAGS);

	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : err_errno(e, "open the directory of spare layers");
	cache = fs_mkdir_open(state, "cache", 0700, e);
	return cache < 0 ? cache : fs_mkdir_open(cache, "spare", 0700, e);
}

int spare_give(int state, int session, struct err *e)
{
	autoclose int spares = spares_open(state, e);
	autoclose int layers = spares < 0 ? -1 : openat(session, "layers", DIR_FLAGS);
	struct shelf shelf;
	struct err ignored;
	char name[NAME_DIGITS + 1];

	if (spares < 0)
		return -e->code;
	if (layers < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open the directory of layers");
	if (look(spares, &shelf, e) < 0)
		return -e->code;
	if (shelf.n >= SPARES_MAX || clean_all(layers, &ignored) < 0)
		return 0;
	(void)snprintf(name, sizeof(name), "%016" PRIx64, now_ns());
	return renameat(session, "layers", spares, name) < 0 ? 0 : 1;
}
