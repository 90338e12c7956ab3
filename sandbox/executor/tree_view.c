/* SPDX-License-Identifier: MIT */
/* tree_view.c - a picture or PDF as a page that holds it, so that a browser needs nothing else. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"
#include "sandbox/executor/file_text.h"
#include "sandbox/executor/tree_own.h"

enum {
	VIEW_BYTES_MAX = 64 << 20, /* of a file */
};

static const struct {
	const char *extension, *mime;
	const char *before, *after; /* around the data URL */
} kinds[] = {
	{ ".pdf", "application/pdf", "<embed type=\"application/pdf\" src=\"", "\">" },
	{ ".png", "image/png", "<img src=\"", "\">" },
	{ ".jpg", "image/jpeg", "<img src=\"", "\">" },
	{ ".jpeg", "image/jpeg", "<img src=\"", "\">" },
	{ ".gif", "image/gif", "<img src=\"", "\">" },
};

/* Text of the session's own, as text of a page and nothing else. */
static void put_text(struct buf *out, const char *text)
{
	static const struct {
		char c;
		const char *as;
	} marks[] = {
		{ '&', "&amp;" },  { '<', "&lt;" },   { '>', "&gt;" },
		{ '"', "&quot;" }, { '\'', "&#39;" },
	};

	while (*text) {
		size_t len = utf8_sequence(text, strlen(text));
		const char *as = NULL;

		for (size_t i = 0; i < ARRAY_LEN(marks); i++)
			if (*text == marks[i].c)
				as = marks[i].as;
		if (as)
			buf_puts(out, as);
		else
			buf_add(out, len ? text : "?", len ? len : 1);
		text += len ? len : 1;
	}
}

static int refuse(struct tree_job *j, int status, const char *what, struct err *e)
{
	struct buf page = { 0 };
	int ret;

	buf_printf(&page, "<!DOCTYPE html><h1>%s</h1><p>", what);
	put_text(&page, j->path);
	buf_puts(&page, "</p>\n");
	ret = buf_check(&page, e);
	if (ret == 0)
		ret = tree_refuse(j, (unsigned)status, buf_str(&page), e);
	buf_clear(&page);
	return ret;
}

static int refuse_code(struct tree_job *j, int code, struct err *e)
{
	if (code == ENOENT || code == ENOTDIR)
		return refuse(j, 404, "Error: there is no such file", e);
	return refuse(j, 500, strerror(code), e);
}

static int send_page(struct tree_job *j, size_t kind, const struct buf *content, struct err *e)
{
	const char *slash = strrchr(j->path, '/');
	struct buf page = { .limit = (size_t)3 * VIEW_BYTES_MAX };
	int ret;

	buf_puts(&page, "<!DOCTYPE html><html><head><meta charset=\"utf-8\">"
			"<title>File Viewer - ");
	put_text(&page, slash ? slash + 1 : j->path);
	buf_puts(&page,
		 "</title><style>body{margin:0}embed{width:100vw;height:100vh}</style></head>"
		 "<body>");
	buf_puts(&page, kinds[kind].before);
	file_data_url(kinds[kind].mime, buf_str(content), content->len, &page);
	buf_printf(&page, "%s</body></html>\n", kinds[kind].after);
	ret = buf_check(&page, e);
	if (ret == 0)
		ret = tree_tell(j, page.len, e);
	if (ret == 0)
		ret = io_write_all(j->socket, page.data, page.len, e);
	buf_clear(&page);
	return ret;
}

static int view_file(struct tree_job *j, size_t kind, int fd, struct err *e)
{
	struct buf content = { .limit = VIEW_BYTES_MAX + 1 };
	int ret = io_read_all(fd, VIEW_BYTES_MAX, &content, e);

	if (ret < 0)
		ret = refuse_code(j, -ret, e);
	else
		ret = send_page(j, kind, &content, e);
	buf_clear(&content);
	return ret;
}

/* A link to /proc/self would show this process, whose memory is laid out as the server's. */
static bool is_of_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

int tree_view(struct tree_job *j, struct err *e)
{
	autoclose int fd = -1;
	size_t kind = 0;
	struct stat st;

	if (j->path[0] != '/')
		return refuse(j, 400, "Error: the path must be absolute", e);
	/* Looked at by name first: to open some devices does something. */
	if (stat(j->path, &st) < 0)
		return refuse_code(j, errno, e);
	if (S_ISDIR(st.st_mode))
		return refuse(j, 400, "Error: it is a directory", e);
	while (kind < ARRAY_LEN(kinds) && !file_has_extension(j->path, kinds[kind].extension))
		kind++;
	if (kind == ARRAY_LEN(kinds) || !S_ISREG(st.st_mode))
		return refuse(j, 500, "Error: files of this kind are not shown", e);
	fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse_code(j, errno, e);
	if (is_of_proc(fd))
		return refuse(j, 500, "Error: files of this kind are not shown", e);
	return view_file(j, kind, fd, e);
}
