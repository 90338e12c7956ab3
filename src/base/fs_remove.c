/* SPDX-License-Identifier: MIT */
/* fs_remove.c - take a tree away whose shape an adversary chose.
 *
 * No recursion and one descriptor at a time: a tree may be 5,000 levels deep. The walk goes down
 * into a directory by name and up by "..", which is safe below a state directory that nobody else
 * may enter while no process of the session lives. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

/* The names of the directories the walk is in, outermost first. */
struct trail {
	char **names;
	size_t depth, room;
};

static void trail_clear(struct trail *t)
{
	while (t->depth)
		free(t->names[--t->depth]);
	free(t->names);
}

static bool trail_push(struct trail *t, const char *name)
{
	if (t->depth == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		char **grown = reallocarray(t->names, room, sizeof(*grown));

		if (!grown)
			return false;
		t->names = grown;
		t->room = room;
	}
	t->names[t->depth] = strdup(name);
	return t->names[t->depth] && ++t->depth;
}

/* Open a directory for reading, giving ourselves the permission if its owner took it away. */
static int enter(int at, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_mode & 0700) == 0700))
		return fd;
	if (fd >= 0) {
		/* Readable, but its entries may not be removable. Failing shows at the unlink. */
		(void)fchmod(fd, 0700);
		return fd;
	}
	if (errno != EACCES || fchmodat(at, name, 0700, 0) < 0)
		return -1;
	return openat(at, name, flags);
}

/* Unlink what can be unlinked in `fd`; name the first directory that is not empty. */
static int sweep(int fd, char *child, size_t size, const char *skip, struct err *e)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *d;

	child[0] = '\0';
	if (!dir)
		return err_errno(e, "read a directory to remove");
	while ((d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, d->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM) {
			(void)err_errno(e, "remove '%s'", d->d_name);
			return -e->code;
		}
		if (unlinkat(fd, d->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
			return err_errno(e, "remove '%s'", d->d_name);
		if (skip && strcmp(skip, d->d_name) == 0)
			return err_code(e, ENOTEMPTY, "remove '%s': cannot be emptied", d->d_name);
		if (strlen(d->d_name) < size)
			memcpy(child, d->d_name, strlen(d->d_name) + 1);
		return 0;
	}
	return 0;
}

int fs_remove_tree(int dir, const char *name, struct err *e)
{
	struct trail trail __attribute__((cleanup(trail_clear))) = { 0 };
	autoclose int at = -1;
	char child[256];

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	at = enter(dir, name);
	if (at < 0)
		return err_errno(e, "remove '%s'", name);
	for (;;) {
		int next;

		if (sweep(at, child, sizeof(child), NULL, e) < 0)
			return err_wrap(e, "remove '%s'", name);
		if (child[0]) {
			next = enter(at, child);
			if (next < 0 || !trail_push(&trail, child)) {
				auto_close(&next);
				return err_errno(e, "remove '%s': open '%s'", name, child);
			}
		} else if (trail.depth) {
			char *done = trail.names[trail.depth - 1];

			next = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (next < 0 || unlinkat(next, done, AT_REMOVEDIR) < 0) {
				auto_close(&next);
				return err_errno(e, "remove '%s': directory '%s'", name, done);
			}
			free(trail.names[--trail.depth]);
		} else {
			break;
		}
		(void)close(at);
		at = next;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_errno(e, "remove '%s'", name);
	return 0;
}
