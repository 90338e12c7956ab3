/* SPDX-License-Identifier: MIT */
/* spare.c - see spare.h. */
#include "session/spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

#define SPARES_MAX 96
#define SPARES_PATIENT (SPARES_MAX / 2)
#define NAME_DIGITS 16
#define TIDY ".tidy"
#define GONE "gone"
#define NAME_MAX_BYTES (NAME_DIGITS + sizeof(TIDY))
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The kernel unmounts what a dead session had a little later than its death is seen. */
#define REST_NS ((uint64_t)200 * 1000 * 1000)

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- a layer ---- */

/* Is there nothing in it but, at most, `name`? Few entries fit the room: there are more of them then. */
static bool holds_only(int dir, const char *name)
{
	char room[512];
	long n, at = 0;

	n = syscall(SYS_getdents64, dir, room, sizeof(room));
	while (n > 0 && at < n) {
		const struct dirent64 *d = (const struct dirent64 *)(room + at);

		if (!str_eq(d->d_name, ".") && !str_eq(d->d_name, "..") &&
		    !(name && str_eq(d->d_name, name)))
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

/* What the kernel left there counts as nothing until it has been tidied away. An ordinary user may
 * not look into its innermost directory before that; nobody else could put anything there. */
static bool is_work_untouched(int work, bool tidied)
{
	autoclose int inner = -1;

	if (!holds_only(work, tidied ? NULL : "work"))
		return false;
	if (tidied)
		return true;
	inner = openat(work, "work", DIR_FLAGS);
	return inner < 0 ? errno == ENOENT || errno == EACCES : holds_only(inner, "incompat");
}

static bool is_as_made(int layer, bool tidied)
{
	autoclose int upper = openat(layer, "upper", DIR_FLAGS);
	autoclose int work = openat(layer, "work", DIR_FLAGS);
	struct stat st;

	return upper >= 0 && work >= 0 && fstat(upper, &st) == 0 &&
	       (geteuid() == 0 || st.st_uid == geteuid()) && holds_only(upper, NULL) &&
	       has_plain_attributes(upper) && has_plain_flags(upper, work) &&
	       is_work_untouched(work, tidied);
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

/* Somebody waits for us by now. */
static bool is_wanted(int until)
{
	struct pollfd p = { .fd = until, .events = POLLIN };

	return until >= 0 && poll(&p, 1, 0) != 0;
}

/* 1 where it was left half done, which hurts nobody: the next one goes on there. */
static int tidy_layer(int layers, const char *name, int until, struct err *e)
{
	autoclose int layer = openat(layers, name, DIR_FLAGS);

	if (layer < 0)
		return err_errno(e, "open layer '%s'", name);
	/* Shut by the kernel, also against its owner. */
	if (geteuid() != 0 && fchmodat(layer, "work/work", 0700, 0) < 0 && errno != ENOENT)
		return err_errno(e, "open the work directory of layer '%s'", name);
	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (is_wanted(until))
			return 1;
		(void)unlinkat(layer, marks[i].path, marks[i].flags); /* what stays is seen below */
	}
	return is_as_made(layer, true) ? 0 : fs_remove_tree(layers, name, e);
}

static int fit_layer(int layers, const char *name, int until, struct err *e)
{
	autoclose int layer = openat(layers, name, DIR_FLAGS);

	(void)until; /* half of it would be none */
	/* Layers of --mount are one session's own affair. */
	if (layer >= 0 && !str_starts(name, "mount-") && is_as_made(layer, false))
		return 0;
	return fs_remove_tree(layers, name, e);
}

/* Until one of them fails or is left half done. */
static int each_layer(int session,
		      int (*each)(int layers, const char *name, int until, struct err *e),
		      int until, struct err *e)
{
	autoclose int layers = openat(session, "layers", DIR_FLAGS);
	autodir DIR *dir = NULL;
	const struct dirent *d;
	int copy, r = 0;

	if (layers < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open the directory of layers");
	copy = openat(layers, ".", DIR_FLAGS);
	dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of layers");
	}
	while (r == 0 && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			r = each(layers, d->d_name, until, e);
	return r;
}

bool spare_fit(int session)
{
	struct err ignored; /* who may remove it is asked by who removes it */

	return each_layer(session, fit_layer, -1, &ignored) == 0;
}

/* ---- the shelf ---- */

/* What is on it: the one that has rested longest, one that is tidy, and how many there are. */
struct shelf {
	char rested[NAME_MAX_BYTES], tidy[NAME_MAX_BYTES];
	unsigned n;
};

#define SHELF "cache/vacant"

/* -ENOENT, and no text, where there is none yet. */
static int shelf_open(int state, struct err *e)
{
	int fd = openat(state, SHELF, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT)
		return -(e->code = ENOENT);
	return fd < 0 ? err_errno(e, "open '" SHELF "'") : fd;
}

static int shelf_make(int state, struct err *e)
{
	int fd = shelf_open(state, e);

	if (fd != -ENOENT)
		return fd;
	fd = fs_mkdir_path(state, SHELF, 0700, e);
	if (fd < 0)
		return fd;
	(void)close(fd); /* only named */
	return shelf_open(state, e);
}

/* Call `each` for the name of everything on it. */
static int each_name(int spares,
		     int (*each)(int spares, const char *name, void *arg, struct err *e), void *arg,
		     struct err *e)
{
	int copy = openat(spares, ".", DIR_FLAGS);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read '" SHELF "'");
	}
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && each(spares, d->d_name, arg, e) < 0)
			return -e->code;
	return 0;
}

static int note_name(int spares, const char *name, void *arg, struct err *e)
{
	struct shelf *s = arg;
	const char *tail = name + strspn(name, "0123456789abcdef");

	(void)spares;
	(void)e;
	if (tail - name != NAME_DIGITS || (*tail && !str_eq(tail, TIDY)))
		return 0;
	s->n++;
	/* The latest of those to take: most of it is still in memory. */
	if (*tail && strcmp(name, s->tidy) > 0)
		(void)strcpy(s->tidy, name);
	if (!*tail && (!s->rested[0] || strcmp(name, s->rested) < 0))
		(void)strcpy(s->rested, name);
	return 0;
}

/* A name later than now is from before the clock was set back: it has rested, too. */
static bool has_rested(const char *name)
{
	uint64_t since = strtoull(name, NULL, 16), now = now_ns();

	return since > now || now - since > REST_NS;
}

int spare_take(int state, int sessions, const char *id, struct err *e)
{
	autoclose int spares = shelf_open(state, e);
	struct shelf shelf = { .n = 0 };

	if (spares < 0)
		return spares == -ENOENT ? 0 : spares;
	if (each_name(spares, note_name, &shelf, e) < 0)
		return -e->code;
	if (!shelf.tidy[0])
		return 0;
	if (renameat2(spares, shelf.tidy, sessions, id, RENAME_NOREPLACE) == 0)
		return 1;
	/* Another start was faster. */
	return errno == ENOENT ? 0 : err_errno(e, "take a spare directory");
}

int spare_give(int state, int sessions, const char *id, struct err *e)
{
	autoclose int spares = shelf_make(state, e);
	struct shelf shelf = { .n = 0 };
	char name[NAME_MAX_BYTES];

	if (spares < 0 || each_name(spares, note_name, &shelf, e) < 0)
		return -e->code;
	if (shelf.n >= SPARES_MAX)
		return 0;
	(void)snprintf(name, sizeof(name), "%016" PRIx64, now_ns());
	return renameat2(sessions, id, spares, name, RENAME_NOREPLACE) < 0 ? 0 : 1;
}

/* Whoever works on what is on the shelf; taking and giving are single steps that need no lock. */
static int shelf_lock(int spares, int how, struct err *e)
{
	if (flock(spares, how) == 0)
		return 1;
	return errno == EWOULDBLOCK ? 0 : err_errno(e, "lock '" SHELF "'");
}

static int tidy(int spares, const char *name, int until, struct err *e)
{
	autoclose int session = openat(spares, name, DIR_FLAGS);
	char tidied[NAME_MAX_BYTES];
	int r;

	if (session < 0)
		return err_errno(e, "open spare '%s'", name);
	r = each_layer(session, tidy_layer, until, e);
	if (r != 0)
		return r < 0 ? err_wrap(e, "spare '%s'", name) : 0;
	(void)snprintf(tidied, sizeof(tidied), "%.*s" TIDY, NAME_DIGITS, name);
	if (renameat(spares, name, spares, tidied) < 0)
		return err_errno(e, "rename spare '%s'", name);
	return 1;
}

int spare_tidy(int state, int until, struct err *e)
{
	autoclose int spares = shelf_open(state, e);
	struct shelf shelf = { .n = 0 };
	int locked;

	if (spares < 0)
		return spares == -ENOENT ? 0 : spares;
	locked = shelf_lock(spares, LOCK_EX | LOCK_NB, e);
	if (locked <= 0)
		return locked;
	if (each_name(spares, note_name, &shelf, e) < 0)
		return -e->code;
	if (!shelf.rested[0] || !has_rested(shelf.rested))
		return 0;
	/* Where nobody gets to the end, ends of sessions would soon have to remove all of theirs. */
	return tidy(spares, shelf.rested, shelf.n < SPARES_PATIENT ? until : -1, e);
}

static int remove_spare(int spares, const char *name, void *arg, struct err *e)
{
	/* Under a name that nobody takes: a start could be at it. */
	if (renameat(spares, name, spares, GONE) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "rename spare '%s'", name);
	++*(int *)arg;
	return fs_remove_tree(spares, GONE, e);
}

int spare_clear(int state, struct err *e)
{
	autoclose int spares = shelf_open(state, e);
	int removed = 0;

	if (spares < 0)
		return spares == -ENOENT ? 0 : spares;
	if (shelf_lock(spares, LOCK_EX, e) < 0 || fs_remove_tree(spares, GONE, e) < 0 ||
	    each_name(spares, remove_spare, &removed, e) < 0)
		return -e->code;
	return removed;
}

int spare_count(int state, struct err *e)
{
	autoclose int spares = shelf_open(state, e);
	struct shelf shelf = { .n = 0 };

	if (spares < 0)
		return spares == -ENOENT ? 0 : spares;
	return each_name(spares, note_name, &shelf, e) < 0 ? -e->code : (int)shelf.n;
}
