/* SPDX-License-Identifier: MIT */
/* tree_list.c - the names in a directory: directories first, each with a "/" behind it, without
 * regard to case; hidden ones too, but no links that lead nowhere. Whatever goes wrong, the list is
 * empty: a client asks again and again while directories come and go. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/json_out.h"
#include "sandbox/executor/tree_own.h"

struct names {
	struct buf text; /* NUL behind each */
	struct buf at;	 /* struct name */
	size_t n;
};

struct name {
	size_t at;
	bool directory;
};

static bool add(struct names *list, const char *name, bool directory)
{
	struct name n = { .at = list->text.len, .directory = directory };

	buf_add(&list->text, name, strlen(name));
	buf_add(&list->text, directory ? "/" : "", directory ? 2 : 1);
	buf_add(&list->at, &n, sizeof(n));
	list->n++;
	return !list->text.failed && !list->at.failed;
}

static bool add_entry(struct names *list, int dir, const struct dirent *d)
{
	struct stat st;

	if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
		return true;
	if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
		return add(list, d->d_name, d->d_type == DT_DIR);
	if (fstatat(dir, d->d_name, &st, 0) < 0)
		return true;
	return add(list, d->d_name, S_ISDIR(st.st_mode));
}

static bool read_names(const char *path, struct names *list)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		drop_fd(&fd);
		return false;
	}
	while (errno = 0, (d = readdir(dir)))
		if (!add_entry(list, dirfd(dir), d))
			return false;
	return errno == 0;
}

static int compare(const void *a, const void *b, void *text)
{
	const struct name *x = a, *y = b;
	const char *one = (const char *)text + x->at, *other = (const char *)text + y->at;
	int order;

	if (x->directory != y->directory)
		return x->directory ? -1 : 1;
	order = strcasecmp(one, other);
	return order ? order : strcmp(one, other);
}

static void write_names(struct names *list, struct buf *out)
{
	struct name *names = (struct name *)(void *)list->at.data;
	struct json_out o = { .buf = out };

	if (list->n)
		qsort_r(names, list->n, sizeof(*names), compare, list->text.data);
	jo_array(&o, NULL);
	for (size_t i = 0; i < list->n; i++)
		jo_string(&o, NULL, list->text.data + names[i].at);
	jo_end_array(&o);
}

int tree_list(struct tree_job *j, struct err *e)
{
	struct names list = { .text.limit = TREE_LIST_MAX, .at.limit = TREE_LIST_MAX };
	struct buf out = { .limit = (size_t)4 * TREE_LIST_MAX };
	int ret;

	if (!read_names(j->path, &list))
		list.n = 0;
	write_names(&list, &out);
	if (out.failed) {
		buf_clear(&out);
		buf_puts(&out, "[]");
	}
	ret = tree_tell(j, out.len, e);
	if (ret == 0)
		ret = io_write_all(j->socket, out.data, out.len, e);
	buf_clear(&out);
	buf_clear(&list.text);
	buf_clear(&list.at);
	return ret;
}
