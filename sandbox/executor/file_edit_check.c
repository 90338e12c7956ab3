/* SPDX-License-Identifier: MIT */
/* file_edit_check.c - what the editor looks at before it does anything, in the reference's order,
 * and how it refuses. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/file_edit_parts.h"
#include "sandbox/executor/file_text.h"

struct buf *edit_refusal(const struct edit *e)
{
	buf_reset(edit_said(e));
	buf_puts(edit_said(e), "ERROR:\n");
	return edit_said(e);
}

bool edit_refuse(const struct edit *e, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	buf_puts(edit_refusal(e), text ? text : strerror(ENOMEM));
	free(text);
	return false;
}

static bool refuse_path(const struct edit *e, const char *fmt, ...) printf_like(2, 3);

static bool refuse_path(const struct edit *e, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	(void)edit_refuse(e, "Invalid `path` parameter: %s. %s", e->path, text ? text : "");
	free(text);
	return false;
}

bool edit_refuse_os(const struct edit *e, int code, const char *doing)
{
	return edit_refuse(e, "Ran into [Errno %d] %s: '%s' while trying to %s %s", -code,
			   strerror(-code), e->path, doing, e->path);
}

const char *edit_convertible(const char *path)
{
	static const char *const extensions[] = { ".docx", ".xlsx", ".pptx", ".pdf",
						  ".mp3",  ".wav",  ".m4a",  ".flac" };

	for (size_t i = 0; i < ARRAY_LEN(extensions); i++)
		if (file_has_extension(path, extensions[i]))
			return path + strlen(path) - strlen(extensions[i]);
	return NULL;
}

bool edit_is_command(const struct edit *e, const char *name)
{
	return text_eq(e->r->part[FILE_COMMAND], text_of(name));
}

/* --- checks, in the reference's order -------------------------------------------------------- */

static bool is_there(const char *path)
{
	autotarget struct file_target t = FILE_NO_TARGET;

	return file_look(path, &t) == 0;
}

static bool refuse_relative(const struct edit *e)
{
	autobuf struct buf meant = { 0 };

	buf_printf(&meant, "%s/%s", e->r->part[FILE_BASE].at, e->path);
	if (!is_there(buf_str(&meant)))
		return refuse_path(e, "The path should be an absolute path, starting with `/`.");
	return refuse_path(e,
			   "The path should be an absolute path, starting with `/`. Maybe you "
			   "meant %s?",
			   buf_str(&meant));
}

static bool check_there(const struct edit *e)
{
	if (edit_is_command(e, "create"))
		return refuse_path(
			e,
			"File already exists at: %s. Cannot overwrite files using command `create`.",
			e->path);
	if (edit_is_command(e, "view"))
		return true;
	if (S_ISDIR(e->target.st.st_mode))
		return refuse_path(e,
				   "The path %s is a directory and only the `view` command can be "
				   "used on directories.",
				   e->path);
	return true;
}

static bool check_missing(const struct edit *e, int code)
{
	if (code != -ENOENT && code != -ENOTDIR && code != -ELOOP)
		return edit_refuse_os(e, code, edit_is_command(e, "create") ? "write to" : "read");
	if (edit_is_command(e, "create"))
		return true;
	return refuse_path(e, "The path %s does not exist. Please provide a valid path.", e->path);
}

static bool check_extension(const struct edit *e)
{
	const char *extension = edit_convertible(e->path);

	if (!extension || edit_is_command(e, "view"))
		return true;
	return refuse_path(
		e,
		"The path %s points to a binary file (%s) and only the `view` command can "
		"be used on supported binary files.",
		e->path, extension);
}

bool edit_check(struct edit *e)
{
	int ret;

	if (e->r->part[FILE_BAD_LINE].at)
		return edit_refuse(e, "Invalid insert_line value: '%s'. Expected an integer.",
				   e->r->part[FILE_BAD_LINE].at);
	if (e->path[0] != '/')
		return refuse_relative(e);
	ret = file_look(e->path, &e->target);
	return (ret < 0 ? check_missing(e, ret) : check_there(e)) && check_extension(e);
}
