/* SPDX-License-Identifier: MIT */
/* changes_compare.c - two versions of one file: do they differ, and both of them opened. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "session/changes_parts.h"

#define LINK_BYTES 4096
#define CHUNK_BYTES 65536

/* Never what would wait or act when opened: the type was looked at, and is looked at again. */
static int open_regular(const struct stack *s, const struct spot *at, struct err *e)
{
	autoclose int fd = stack_open(s, at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, e);
	struct stat st;

	if (fd < 0)
		return -e->code;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_code(e, EIO, "it changed while it was read");
	return take_fd(&fd);
}

static char *read_link(const struct stack *s, const struct spot *at, struct err *e)
{
	autoclose int fd = stack_open(s, at, O_PATH | O_NOFOLLOW, e);
	char text[LINK_BYTES];
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = readlinkat(fd, "", text, sizeof(text) - 1);
	if (n < 0) {
		(void)err_errno(e, "read a link");
		return NULL;
	}
	text[n] = '\0';
	return str_dup(text, e);
}

static int bytes_differ(int a, int b, struct err *e)
{
	char x[CHUNK_BYTES], y[CHUNK_BYTES];

	for (;;) {
		ssize_t n = io_read_full(a, x, sizeof(x), e);
		ssize_t m = n < 0 ? n : io_read_full(b, y, sizeof(y), e);

		if (m < 0)
			return (int)m;
		if (n != m || memcmp(x, y, (size_t)n) != 0)
			return 1;
		if (n == 0)
			return 0;
	}
}

static int contents_differ(const struct stack *s, const struct found *was, const struct found *is,
			   struct err *e)
{
	autoclose int a = -1, b = -1;

	if (was->st.st_size != is->st.st_size)
		return 1;
	if (!is->st.st_size)
		return 0;
	a = open_regular(s, &was->at, e);
	b = a < 0 ? -1 : open_regular(s, &is->at, e);
	return b < 0 ? -e->code : bytes_differ(a, b, e);
}

static int links_differ(const struct stack *s, const struct found *was, const struct found *is,
			struct err *e)
{
	autofree char *a = read_link(s, &was->at, e);
	autofree char *b = a ? read_link(s, &is->at, e) : NULL;

	return b ? strcmp(a, b) != 0 : -e->code;
}

int change_differs(const struct stack *s, const struct found *was, const struct found *is,
		   struct err *e)
{
	if (was->st.st_dev == is->st.st_dev && was->st.st_ino == is->st.st_ino)
		return 0;
	if ((was->mode & S_IFMT) != (is->mode & S_IFMT))
		return 1;
	if (S_ISLNK(is->mode))
		return links_differ(s, was, is, e);
	if ((was->mode & 07777) != (is->mode & 07777))
		return 1;
	if (S_ISCHR(is->mode) || S_ISBLK(is->mode))
		return was->st.st_rdev != is->st.st_rdev;
	return S_ISREG(is->mode) ? contents_differ(s, was, is, e) : 0;
}

static int open_one(const struct stack *s, const struct found *f, int *fd, char **link,
		    struct err *e)
{
	if (S_ISREG(f->mode)) {
		*fd = open_regular(s, &f->at, e);
		return *fd < 0 ? -e->code : 0;
	}
	if (S_ISLNK(f->mode)) {
		*link = read_link(s, &f->at, e);
		return *link ? 0 : -e->code;
	}
	return 0;
}

int change_files_open(const struct stack *s, const struct found *was, const struct found *is,
		      struct change_files *out, struct err *e)
{
	if (open_one(s, was, &out->before, &out->link_before, e) < 0 ||
	    open_one(s, is, &out->after, &out->link_after, e) < 0)
		return -e->code;
	return 0;
}

void change_files_close(struct change_files *f)
{
	auto_close(&f->before);
	auto_close(&f->after);
	free(f->link_before);
	free(f->link_after);
}
