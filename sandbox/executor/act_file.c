/* SPDX-License-Identifier: MIT */
/* act_file.c - the actions `read` and `write`: asked of the helper, told as an observation. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

/* Below the shell's directory where it is relative; doubled slashes and "." dropped, as the
 * reference's paths are, but ".." left to the kernel. */
static void make_path(const struct server *s, struct text given, struct buf *out)
{
	autobuf struct buf joined = { 0 };
	const char *at;

	if (given.at[0] != '/')
		buf_printf(&joined, "%s/", act_cwd(s));
	buf_add(&joined, given.at, given.len);
	at = buf_str(&joined);
	while (*at) {
		size_t len = strcspn(at, "/");

		if (len && !(len == 1 && *at == '.')) {
			buf_putc(out, '/');
			buf_add(out, at, len);
		}
		at += len + (at[len] == '/');
	}
	if (!out->len)
		buf_putc(out, '/');
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

static void file_done(struct helper *h, const struct file_outcome *outcome, struct buf *content)
{
	struct server *s = container_of(h, struct server, helper);
	const struct action *a = &s->dispatch.first->action;
	bool reading = a->kind == ACTION_READ;
	struct observation o = { .kind = reading ? OBSERVED_READ : OBSERVED_WRITE };

	make_path(s, path_of(a), &o.path);
	if (outcome->status == FILE_OS_ERROR) {
		os_failure(s, outcome->code, buf_str(&o.path));
		observation_clear(&o);
		return;
	}
	if (outcome->status != FILE_OK) {
		say_status(&o, outcome->status, s, reading);
	} else {
		o.content = *content;
		*content = (struct buf) { 0 };
	}
	dispatch_done(&s->dispatch, &o);
}

static void file_failed(struct helper *h, const struct err *why)
{
	dispatch_fail(&container_of(h, struct server, helper)->dispatch, why->text);
}

static void ask(struct job *job, struct file_request *request)
{
	struct server *s = job->server;
	autobuf struct buf path = { 0 };
	struct text given = path_of(&job->action);

	make_path(s, given, &path);
	request->path = buf_str(&path);
	request->given_absolute = given.at[0] == '/';
	s->helper.done = file_done;
	s->helper.failed = file_failed;
	helper_ask(&s->helper, request);
}

void act_read(struct job *job)
{
	const struct action_read *a = &job->action.read;
	struct file_request request = { .op = FILE_READ,
					.start = a->start,
					.end = a->end,
					.content = "" };

	ask(job, &request);
}

void act_write(struct job *job)
{
	const struct action_write *a = &job->action.write;
	struct file_request request = { .op = FILE_WRITE,
					.start = a->start,
					.end = a->end,
					.content = a->content.at,
					.content_len = a->content.len };

	ask(job, &request);
}

void act_absent(struct job *job)
{
	static const char *const texts[ACTION_KINDS] = {
		[ACTION_IPYTHON] =
			"IPython is not available in this session. Run Python with a command.",
		[ACTION_BROWSE] = "Browser functionality is not supported or disabled.",
	};
	struct observation o = { .kind = OBSERVED_ERROR };

	error(&o, "%s", texts[job->action.kind]);
	dispatch_done(&job->server->dispatch, &o);
}
