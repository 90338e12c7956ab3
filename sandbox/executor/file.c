/* SPDX-License-Identifier: MIT */
/* file.c - see file.h: plain `read` and `write`. */
#include "sandbox/executor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "sandbox/executor/edit_text.h"
#include "sandbox/executor/file_edit.h"
#include "sandbox/executor/file_io.h"
#include "sandbox/executor/file_text.h"

static void status_of(int code, struct file_reply *reply)
{
	switch (-code) {
	case ENOENT:
		reply->status = FILE_MISSING;
		break;
	case EISDIR:
		reply->status = FILE_IS_DIRECTORY;
		break;
	case ENXIO: /* a socket */
		reply->status = FILE_SPECIAL;
		break;
	case EFBIG:
		reply->status = FILE_TOO_LARGE;
		break;
	default:
		reply->status = FILE_OS_ERROR;
		reply->code = -code;
	}
}

/* Is it a file that can be read or written as one? 0, or -errno for status_of(). */
static int check(const struct file_target *t)
{
	if (S_ISDIR(t->st.st_mode))
		return -EISDIR;
	if (!S_ISREG(t->st.st_mode))
		return -ENXIO;
	return t->st.st_size > FILE_BYTES_MAX ? -EFBIG : 0;
}

static int slurp(const struct file_target *t, struct buf *out)
{
	int ret = check(t);
	autoclose int fd = ret < 0 ? ret : file_open(t, O_RDONLY);

	out->limit = FILE_BYTES_MAX + 1;
	return fd < 0 ? fd : file_slurp(fd, FILE_BYTES_MAX, out);
}

static int load(const char *path, struct buf *out)
{
	autotarget struct file_target t = FILE_NO_TARGET;
	int ret = file_look(path, &t);

	return ret < 0 ? ret : slurp(&t, out);
}

/* What `read` takes for binary by its name alone, or by its content where the path is absolute:
 * that is what clients know. What is given as a data URL is neither. */
static bool is_binary(const struct file_request *r, const struct buf *whole)
{
	bool looks = r->flags & FILE_GIVEN_ABSOLUTE;

	return file_is_binary(r->part[FILE_PATH].at, buf_str(whole), looks ? whole->len : 0);
}

static void read_file(const struct file_request *r, struct file_reply *reply)
{
	struct buf *content = &reply->gives[FILE_GIVES_CONTENT];
	const char *path = r->part[FILE_PATH].at, *mime = file_mime(path);
	autobuf struct buf whole = { 0 }, plain = { 0 };
	int ret = load(path, &whole);
	struct edit_text text;
	struct text part;

	content->limit = 2 * FILE_BYTES_MAX; /* base64 takes a third more */
	if (ret < 0)
		status_of(ret, reply);
	else if (mime)
		file_data_url(mime, buf_str(&whole), whole.len, content);
	if (ret < 0 || mime)
		return;
	if (is_binary(r, &whole)) {
		reply->status = FILE_BINARY;
		return;
	}
	if (utf8_check(buf_str(&whole), whole.len) != whole.len) {
		reply->status = FILE_NOT_TEXT;
		return;
	}
	edit_text_init(&text, path, (struct text) { buf_str(&whole), whole.len }, &plain);
	part = file_select(text.plain, r->start, r->end);
	buf_add(content, part.at, part.len);
}

/* Missing directories on the way, as `mkdir -p` would. Others may make them at the same time. */
static int make_parents(const char *path)
{
	autofree char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		/* Read-only, or not ours: good enough if it is there. */
		if (mkdir(copy, 0777) < 0 && errno != EEXIST && errno != EISDIR) {
			int code = errno;

			if (access(copy, F_OK) < 0)
				return -code;
		}
		*slash = '/';
	}
	return 0;
}

static int write_new(const struct file_request *r)
{
	autobuf struct buf whole = { .limit = (size_t)4 * FILE_BYTES_MAX };
	struct text nothing = { "", 0 };
	int ret = make_parents(r->part[FILE_PATH].at);

	file_splice(nothing, r, &whole);
	if (whole.failed)
		return -EFBIG;
	return ret < 0 ? ret
		       : file_make(r->part[FILE_PATH].at, 0664,
				   (struct text) { buf_str(&whole), whole.len });
}

static int write_old(const struct file_request *r, const struct file_target *t, bool *text)
{
	autobuf struct buf old = { 0 }, whole = { .limit = (size_t)4 * FILE_BYTES_MAX };
	struct text was;
	int ret = slurp(t, &old);

	if (ret < 0)
		return ret;
	was = (struct text) { buf_str(&old), old.len };
	*text = utf8_check(was.at, was.len) == was.len;
	if (!*text)
		return 0;
	file_splice(was, r, &whole);
	if (whole.failed)
		return -EFBIG;
	return file_store(t, was, (struct text) { buf_str(&whole), whole.len });
}

static void write_file(const struct file_request *r, struct file_reply *reply)
{
	autotarget struct file_target t = FILE_NO_TARGET;
	int ret = file_look(r->part[FILE_PATH].at, &t);
	bool text = true;

	if (ret == -ENOENT)
		ret = write_new(r);
	else if (ret == 0)
		ret = write_old(r, &t, &text);
	if (ret < 0)
		status_of(ret, reply);
	else if (!text)
		reply->status = FILE_NOT_TEXT;
}

void file_reply_clear(struct file_reply *reply)
{
	for (int i = 0; i < FILE_GIVES; i++)
		buf_clear(&reply->gives[i]);
	*reply = (struct file_reply) { .status = FILE_OK };
}

static void (*const ops[FILE_OPS])(const struct file_request *r, struct file_reply *reply) = {
	[FILE_READ] = read_file,
	[FILE_WRITE] = write_file,
	[FILE_EDIT] = file_edit,
};

void file_do(const struct file_request *request, struct file_reply *reply)
{
	ops[request->op](request, reply);
}
