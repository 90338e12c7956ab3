/* SPDX-License-Identifier: MIT */
/* file_list.c - see file_list.h. Links are followed, what is hidden is left out.
 *
 * Only the first characters of the sorted listing are shown, so no more names are kept than those
 * need, however many there are. */
#include "sandbox/executor/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/edit_text.h"

#define CLIPPED_DIRECTORY                                                                       \
	"<response clipped><NOTE>Due to the max output limit, only part of this directory has " \
	"been shown to you. You should use `ls -la` instead to view large directories "         \
	"incrementally.</NOTE>"

enum {
	SEEN_MAX = 1000 * 1000, /* names; a session can make more than anybody has the time for */
	KEPT_CHARS_MAX = 8 * EDIT_SHOWN_CHARS,
};

struct entry {
	char *path;
	bool is_directory;
};

struct listing {
	struct entry *entry;
	size_t n, room, chars;
	unsigned seen, hidden, closed;
	struct stat top;
	char *first_closed; /* one that could not be read */
	int closed_code;
	bool failed;
};

static size_t chars_of(const char *path)
{
	size_t n = 1; /* its line feed */

	for (; *path; path++)
		n += ((unsigned char)*path & 0xc0) != 0x80;
	return n;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* Sort, and forget what stands behind all that can be shown. */
static void settle(struct listing *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->entry, l->n, sizeof(*l->entry), by_path);
	l->chars = 0;
	for (; kept < l->n && l->chars <= EDIT_SHOWN_CHARS; kept++)
		l->chars += chars_of(l->entry[kept].path);
	for (size_t i = kept; i < l->n; i++)
		free(l->entry[i].path);
	l->n = kept;
}

/* Takes the path. */
static void keep(struct listing *l, char *path, bool is_directory)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct entry *grown = reallocarray(l->entry, room, sizeof(*grown));

		if (!grown) {
			l->failed = true;
			free(path);
			return;
		}
		l->entry = grown;
		l->room = room;
	}
	l->entry[l->n++] = (struct entry) { path, is_directory };
	l->chars += chars_of(path);
	if (l->chars > KEPT_CHARS_MAX)
		settle(l);
}

/* A name with control characters could pass for two, or drive a terminal. */
static char *path_below(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path = malloc(len + strlen(name) + 2);

	if (!path)
		return NULL;
	memcpy(path, dir, len);
	path[len] = '/';
	for (char *to = path + len + 1;; to++, name++) {
		*to = *name && ((unsigned char)*name < 0x20 || *name == 0x7f) ? '?' : *name;
		if (!*name)
			return path;
	}
}

static bool is_directory(const struct listing *l, DIR *dir, const struct dirent *d, bool *again)
{
	struct stat st;

	if (d->d_type != DT_DIR && d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
		return false;
	if (fstatat(dirfd(dir), d->d_name, &st, 0) < 0)
		return d->d_type == DT_DIR;
	*again = st.st_ino == l->top.st_ino && st.st_dev == l->top.st_dev;
	return S_ISDIR(st.st_mode);
}

static void note_closed(struct listing *l, const char *path, int code)
{
	if (l->closed++)
		return;
	l->first_closed = strdup(path);
	l->closed_code = code;
}

static void list(struct listing *l, int fd, const char *path, bool deeper);

/* The directory below, unless it is gone or changed meanwhile. */
static void descend(struct listing *l, DIR *dir, const struct dirent *d, const char *path)
{
	int fd = openat(dirfd(dir), d->d_name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		list(l, fd, path, false);
	else
		note_closed(l, path, errno);
}

static void list_one(struct listing *l, DIR *dir, const struct dirent *d, const char *path,
		     bool deeper)
{
	char *below = path_below(path, d->d_name);
	bool again = false, directory = is_directory(l, dir, d, &again);

	if (!below) {
		l->failed = true;
		return;
	}
	if (deeper && directory && !again)
		descend(l, dir, d, below);
	keep(l, below, directory);
}

/* Takes the descriptor. `path` has no slash at its end. */
static void list(struct listing *l, int fd, const char *path, bool deeper)
{
	autodir DIR *dir = fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		(void)close(fd);
		l->failed = true;
		return;
	}
	while (!l->failed && l->seen < SEEN_MAX && (d = readdir(dir))) {
		l->seen++;
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (d->d_name[0] != '.')
			list_one(l, dir, d, path, deeper);
		else if (deeper)
			l->hidden++;
	}
}

static void show_entries(const struct listing *l, struct buf *out)
{
	size_t left = EDIT_SHOWN_CHARS;
	bool all = l->chars <= left;

	for (size_t i = 0; i < l->n; i++) {
		const struct entry *at = &l->entry[i];
		size_t chars = chars_of(at->path);

		if (!all && chars > left) {
			buf_add(out, at->path, text_offset(text_of(at->path), left));
			break;
		}
		buf_puts(out, at->path);
		if (at->is_directory && strcmp(at->path, "/") != 0)
			buf_putc(out, '/');
		if (!all || i + 1 < l->n)
			buf_putc(out, '\n');
		left -= chars;
	}
	if (!all)
		buf_puts(out, CLIPPED_DIRECTORY);
}

static void show(const struct listing *l, const char *path, struct buf *out)
{
	buf_puts(out, "Here's the files and directories up to 2 levels deep in ");
	buf_puts(out, path);
	buf_puts(out, ", excluding hidden items:\n");
	show_entries(l, out);
	if (l->hidden)
		buf_printf(out,
			   "\n\n%u hidden files/directories in this directory are excluded. You "
			   "can use 'ls -la %s' to see them.",
			   l->hidden, path);
	if (l->closed)
		buf_printf(out, "\n\n%u of the directories could not be read, first '%s': %s.",
			   l->closed, l->first_closed ? l->first_closed : "",
			   strerror(l->closed_code));
}

int file_list(const char *path, const struct file_target *t, struct buf *out)
{
	struct listing l = { .top = t->st };
	char *top = strdup(path);
	int fd = file_open(t, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || !top) {
		free(top);
		if (fd < 0)
			return fd;
		(void)close(fd);
		return -ENOMEM;
	}
	keep(&l, top, true);
	list(&l, fd, strcmp(path, "/") == 0 ? "" : path, true);
	settle(&l);
	if (!l.failed)
		show(&l, path, out);
	for (size_t i = 0; i < l.n; i++)
		free(l.entry[i].path);
	free(l.entry);
	free(l.first_closed);
	return l.failed ? -ENOMEM : 0;
}
