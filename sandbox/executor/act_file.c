/* SPDX-License-Identifier: MIT */
/* act_file.c - the actions `read` and `write`: asked of the helper, told as an observation. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

void act_path_plain(struct text given, struct buf *out)
{
	const char *at = given.at, *end = at + given.len;

	if (at < end && *at == '/')
		buf_putc(out, '/');
	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash ? slash : end) - at);

		if (len && !(len == 1 && *at == '.')) {
			if (out->len && out->data[out->len - 1] != '/')
				buf_putc(out, '/');
			buf_add(out, at, len);
		}
		at += len + (slash != NULL);
	}
	if (!out->len)
		buf_putc(out, '.');
}

/* Below the shell's directory where it is relative. */
static void make_path(const struct server *s, struct text given, struct buf *out)
{
	autobuf struct buf joined = { 0 };

	if (given.at[0] != '/')
		buf_printf(&joined, "%s/", act_cwd(s));
	buf_add(&joined, given.at, given.len);
	act_path_plain((struct text) { buf_str(&joined), joined.len }, out);
}

static struct text path_of(const struct action *a)
{
	return a->kind == ACTION_READ ? a->read.path : a->write.path;
}

static void error(struct observation *o, const char *fmt, ...) printf_like(2, 3);

static void error(struct observation *o, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	o->kind = OBSERVED_ERROR;
	buf_reset(&o->content);
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		buf_puts(&o->content, text);
	va_end(ap);
	free(text);
}

/* An error of the operating system is one of the server's, in the words of Python's. */
static void os_failure(struct server *s, int code, const char *path)
{
	autobuf struct buf text = { 0 };

	buf_printf(&text, "[Errno %d] %s: '%s'", code, strerror(code), path);
	dispatch_fail(&s->dispatch, buf_str(&text));
}

static void say_status(struct observation *o, enum file_status status, const struct server *s,
		       bool reading)
{
	const char *path = buf_str(&o->path);

	switch (status) {
	case FILE_MISSING:
		if (reading)
			error(o, "File not found: %s. Your current working directory is %s.", path,
			      act_cwd(s));
		else
			error(o, "File not found: %s", path);
		break;
	case FILE_IS_DIRECTORY:
		error(o, "Path is a directory: %s. You can only %s files", path,
		      reading ? "read" : "write to");
		break;
	case FILE_NOT_TEXT:
		error(o, "File could not be decoded as utf-8: %s%s", path, reading ? "." : "");
		break;
	case FILE_BINARY:
		error(o, "ERROR_BINARY_FILE");
		break;
	case FILE_SPECIAL:
		error(o, "Path is not a regular file: %s. You can only %s files", path,
		      reading ? "read" : "write to");
		break;
	default:
		error(o, "File is too large: %s. Use a command to work on parts of it.", path);
	}
}

struct server *act_files_server(struct helper *h)
{
	return container_of(h, struct server, files.helper);
}

static void file_done(struct helper *h, struct file_reply *reply)
{
	struct server *s = act_files_server(h);
	bool reading = s->dispatch.first->action.kind == ACTION_READ;
	struct observation o = { .kind = reading ? OBSERVED_READ : OBSERVED_WRITE };

	o.path = s->files.path;
	s->files.path = (struct buf) { 0 };
	if (reply->status == FILE_OS_ERROR) {
		os_failure(s, reply->code, buf_str(&o.path));
		observation_clear(&o);
		return;
	}
	if (reply->status != FILE_OK) {
		say_status(&o, reply->status, s, reading);
	} else {
		o.content = reply->gives[FILE_GIVES_CONTENT];
		reply->gives[FILE_GIVES_CONTENT] = (struct buf) { 0 };
	}
	dispatch_done(&s->dispatch, &o);
}

static void file_failed(struct helper *h, const struct err *why)
{
	struct server *s = act_files_server(h);

	buf_clear(&s->files.path);
	dispatch_fail(&s->dispatch, why->text);
}

void act_files_init(struct act_files *f, struct server *s)
{
	*f = (struct act_files) { .path = { 0 } };
	helper_init(&f->helper, &s->procs, ACT_FILE_MS);
}

static void ask(struct job *job, struct file_request *request)
{
	struct act_files *f = &job->server->files;
	struct text given = path_of(&job->action);

	make_path(job->server, given, &f->path);
	request->part[FILE_PATH] = (struct text) { buf_str(&f->path), f->path.len };
	if (given.at[0] == '/')
		request->flags |= FILE_GIVEN_ABSOLUTE;
	f->helper.done = file_done;
	f->helper.failed = file_failed;
	helper_ask(&f->helper, request);
}

void act_read(struct job *job)
{
	const struct action_read *a = &job->action.read;
	struct file_request request = { .op = FILE_READ,
					.flags = FILE_ONLY_READS,
					.start = a->start,
					.end = a->end };

	if (a->editor)
		act_read_editor(job);
	else
		ask(job, &request);
}

void act_write(struct job *job)
{
	const struct action_write *a = &job->action.write;
	struct file_request request = { .op = FILE_WRITE,
					.start = a->start,
					.end = a->end,
					.part = { [FILE_CONTENT] = a->content } };

	ask(job, &request);
}
