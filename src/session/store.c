/* SPDX-License-Identifier: MIT */
/* store.c - see store.h. */
#include "session/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "session/owner.h"

#define HEADER "ohsandbox base 1\n"
#define TOUCH_S 60

int store_open(int state, const char *repo_id, const char *commit, struct err *e)
{
	autoclose int fd = -1;
	char path[128];

	(void)snprintf(path, sizeof(path), "base/%s/%s", repo_id, commit);
	fd = openat(state, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open '%s'", path);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? err_code(e, EBUSY, "'%s' is being evicted", path)
					    : err_errno(e, "lock '%s'", path);
	return take_fd(&fd);
}

/* "bytes N entries N", then "tree COMMIT" lines. */
static bool parse_ready(char *text, struct ready *r)
{
	unsigned long long bytes, entries;
	char *line, *rest = text;

	if (!str_starts(text, HEADER))
		return false;
	rest += strlen(HEADER);
	line = strsep(&rest, "\n");
	if (sscanf(line, "bytes %llu entries %llu", &bytes, &entries) != 2)
		return false;
	r->bytes = bytes;
	r->entries = entries;
	while (rest && (line = strsep(&rest, "\n"))) {
		if (!str_starts(line, "tree ") || !git_id_ok(line + 5) ||
		    r->n_trees == STORE_DEPTH_MAX)
			return false;
		memcpy(r->trees[r->n_trees++], line + 5, strlen(line + 5) + 1);
	}
	return r->n_trees > 0;
}

int store_read_ready(int base, struct ready *out)
{
	char text[STORE_DEPTH_MAX * (GIT_ID_MAX + 8) + 128];
	struct ready r = { 0 };

	if (git_read_small(base, "ready", text, sizeof(text)) < 0 || !parse_ready(text, &r))
		return 0;
	*out = r;
	return 1;
}

int store_write_ready(int base, const struct ready *r, struct err *e)
{
	autobuf struct buf text = { 0 };

	buf_puts(&text, HEADER);
	buf_printf(&text, "bytes %llu entries %llu\n", (unsigned long long)r->bytes,
		   (unsigned long long)r->entries);
	for (unsigned i = 0; i < r->n_trees; i++)
		buf_printf(&text, "tree %s\n", r->trees[i]);
	if (buf_check(&text, e) < 0)
		return -e->code;
	return io_replace_file(base, "ready", text.data, text.len, 0600, e);
}

void store_touch(int base)
{
	struct stat st;

	if (fstatat(base, "ready", &st, 0) < 0 || time(NULL) - st.st_mtime < TOUCH_S)
		return;
	/* On a full or read-only disk the base only looks older than it is. */
	(void)utimensat(base, "ready", NULL, 0);
}

int store_each(int dir, int (*each)(int dir, const char *name, void *arg, struct err *e), void *arg,
	       struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;
	int r = 0;

	if (!list) {
		(void)err_errno(e, "read a directory below 'base'");
		auto_close(&fd);
		return -e->code;
	}
	while (r >= 0 && (d = readdir(list)))
		if (!str_eq(d->d_name, ".") && !str_eq(d->d_name, ".."))
			r = each(fd, d->d_name, arg, e);
	return r < 0 ? r : 0;
}

static int remove_one(int dir, const char *name, void *arg, struct err *e)
{
	(void)arg;
	return fs_remove_tree(dir, name, e);
}

int store_remove_owned(int dir, const char *name, struct err *e)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct owner_saved saved;
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ENOTDIR)
		return unlinkat(dir, name, 0) < 0 ? err_errno(e, "remove '%s'", name) : 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "open '%s' to remove it", name);
	if (owner_enter(st.st_uid, &saved, e) < 0)
		return err_wrap(e, "remove '%s'", name);
	r = store_each(fd, remove_one, NULL, e);
	owner_leave(&saved);
	if (r < 0)
		return err_wrap(e, "remove '%s'", name);
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? err_errno(e, "remove '%s'", name) : 0;
}
