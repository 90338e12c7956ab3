/* SPDX-License-Identifier: MIT */
/* fs_remove.c - take a tree away whose shape an adversary chose.
 *
 * No recursion and one descriptor at a time: a tree may be thousands of levels deep. The walk goes
 * down by name and up by "..", which is safe below a state directory that nobody else may enter
 * while no process of the session lives; all the same it refuses to cross a mount, and to go up
 * into another directory than it came from. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"

/* A directory the walk has gone down from. */
struct level {
	char *name;   /* of the directory it went into */
	char **stuck; /* names that could not be removed: not to be tried again */
	size_t n_stuck;
	dev_t dev;
	ino_t ino;
};

struct walk {
	int at;	    /* the directory it is in */
	int failed; /* the first error, negative; goes on after it */
	struct level *levels;
	size_t depth, room;
	struct err *e;
};

static void level_clear(struct level *l)
{
	while (l->n_stuck)
		free(l->stuck[--l->n_stuck]);
	free(l->stuck);
	free(l->name);
	*l = (struct level) { 0 };
}

static void walk_clear(struct walk *w)
{
	for (size_t i = 0; i < w->room; i++)
		level_clear(&w->levels[i]);
	free(w->levels);
	auto_close(&w->at);
}

/* Room for the level the walk is in, index `depth`. */
static struct level *level_here(struct walk *w)
{
	if (w->depth >= w->room) {
		size_t room = w->room ? w->room * 2 : 16;
		struct level *grown = reallocarray(w->levels, room, sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + w->room, 0, (room - w->room) * sizeof(*grown));
		w->levels = grown;
		w->room = room;
	}
	return &w->levels[w->depth];
}

/* Keep the first error, and go on. */
static void fail(struct walk *w, const char *name)
{
	if (!w->failed)
		w->failed = err_errno(w->e, "remove '%s'", name);
}

static int open_directory(int at, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_DIRECTORY | O_CLOEXEC),
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

/* Open a directory for reading, giving ourselves the permission if its owner took it away. */
static int enter(int at, const char *name)
{
	autoclose int path = open_directory(at, name, O_PATH);
	char link[40];
	struct stat st;

	if (path < 0 || fstat(path, &st) < 0)
		return -1;
	/* Failing shows at once, at the open or at the first unlink. */
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	if ((st.st_mode & 0700) != 0700)
		(void)chmod(link, 0700);
	return open_directory(path, ".", O_RDONLY);
}

static bool is_stuck(const struct level *l, const char *name)
{
	for (size_t i = 0; i < l->n_stuck; i++)
		if (strcmp(l->stuck[i], name) == 0)
			return true;
	return false;
}

static int mark_stuck(struct level *l, const char *name, struct err *e)
{
	char **grown = reallocarray(l->stuck, l->n_stuck + 1, sizeof(*grown));

	if (!grown)
		return err_code(e, ENOMEM, "out of memory");
	l->stuck = grown;
	l->stuck[l->n_stuck] = strdup(name);
	if (!l->stuck[l->n_stuck])
		return err_code(e, ENOMEM, "out of memory");
	l->n_stuck++;
	return 0;
}

/* 0: removed. 1: a directory to go into. Negative: an error, already kept. */
static int remove_entry(struct walk *w, const char *name)
{
	if (unlinkat(w->at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR || errno == EPERM) {
		if (unlinkat(w->at, name, AT_REMOVEDIR) == 0)
			return 0;
		if (errno == ENOTEMPTY || errno == EEXIST || errno == EACCES)
			return 1;
		if (errno == ENOTDIR)
			errno = EPERM;
	}
	fail(w, name);
	return -1;
}

/* Remove what can be removed where the walk is. 1 and the name of the first directory that must
 * be emptied before, 0 when there is none, negative when the walk cannot go on. */
static int sweep(struct walk *w, char child[256])
{
	int copy = open_directory(w->at, ".", O_RDONLY);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct level *l = level_here(w);
	struct dirent *d;

	if (!dir || !l) {
		if (!dir)
			auto_close(&copy);
		return err_errno(w->e, "read a directory to remove");
	}
	while ((d = readdir(dir))) {
		int r;

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    is_stuck(l, d->d_name))
			continue;
		r = remove_entry(w, d->d_name);
		if (r < 0 && mark_stuck(l, d->d_name, w->e) < 0)
			return -w->e->code;
		if (r <= 0)
			continue;
		(void)snprintf(child, 256, "%s", d->d_name);
		return 1;
	}
	return 0;
}

static int go_down(struct walk *w, const char *child)
{
	struct level *l = &w->levels[w->depth];
	int next = enter(w->at, child);
	struct stat st;

	if (next < 0) {
		fail(w, child);
		return mark_stuck(l, child, w->e);
	}
	l->name = strdup(child);
	if (!l->name || fstat(w->at, &st) < 0) {
		auto_close(&next);
		return err_code(w->e, ENOMEM, "out of memory");
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	drop_fd(&w->at);
	w->at = next;
	w->depth++;
	return 0;
}

/* Leave the directory, which is as empty as it gets, and remove it from above. */
static int go_up(struct walk *w)
{
	int up = open_directory(w->at, "..", O_RDONLY);
	struct level *l = &w->levels[w->depth - 1];
	struct stat st;

	if (up < 0 || fstat(up, &st) < 0 || st.st_dev != l->dev || st.st_ino != l->ino) {
		auto_close(&up);
		return err_code(w->e, ESTALE, "directory '%s' was moved while it was removed",
				l->name);
	}
	level_clear(&w->levels[w->depth]);
	drop_fd(&w->at);
	w->at = up;
	w->depth--;
	if (unlinkat(up, l->name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		fail(w, l->name);
		if (mark_stuck(l, l->name, w->e) < 0)
			return -w->e->code;
	}
	free(l->name);
	l->name = NULL;
	return 0;
}

static int empty(struct walk *w)
{
	char child[256];

	for (;;) {
		int r = sweep(w, child);

		if (r > 0)
			r = go_down(w, child);
		else if (r == 0 && w->depth)
			r = go_up(w);
		else
			return r;
		if (r < 0)
			return r;
	}
}

int fs_remove_tree(int dir, const char *name, struct err *e)
{
	struct walk w __attribute__((cleanup(walk_clear))) = { .at = -1, .e = e };

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_errno(e, "remove '%s'", name);
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	w.at = enter(dir, name);
	if (w.at < 0)
		return err_errno(e, "remove '%s'", name);
	if (empty(&w) < 0 || w.failed)
		return err_wrap(e, "remove '%s'", name);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_errno(e, "remove '%s'", name);
	return 0;
}
