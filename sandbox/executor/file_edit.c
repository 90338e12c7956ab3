/* SPDX-License-Identifier: MIT */
/* file_edit.c - see file_edit.h. What is pure of it is in edit_text.c; here files are found, read
 * and written. Texts that clients compare are those of the reference. */
#include "sandbox/executor/file_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sandbox/executor/edit_text.h"
#include "sandbox/executor/encoding.h"
#include "sandbox/executor/file_edit_parts.h"
#include "sandbox/executor/file_list.h"
#include "sandbox/executor/file_text.h"
#include "sandbox/executor/udiff.h"

#define CHANGED_BYTES_MAX ((size_t)160 << 20)

/* A file's content, as its bytes and as text. */
struct content {
	struct buf raw, whole, plain;
	enum encoding encoding;
	struct edit_text text;
};

static void content_clear(struct content *c)
{
	buf_clear(&c->raw);
	buf_clear(&c->whole);
	buf_clear(&c->plain);
}

#define autocontent __attribute__((cleanup(content_clear)))

static struct text text_in(const struct buf *b)
{
	return (struct text) { buf_str(b), b->len };
}

static bool refuse_size(const struct edit *e, double bytes)
{
	return edit_refuse(
		e,
		"File validation failed for %s: File is too large (%.1fMB). Maximum allowed "
		"size is %dMB.",
		e->path, bytes / (1 << 20), FILE_EDIT_BYTES_MAX >> 20);
}

static bool refuse_missing(const struct edit *e, const char *name)
{
	return edit_refuse(e, "Parameter `%s` is required for command: %s.", name,
			   e->r->part[FILE_COMMAND].at);
}

/* --- the file -------------------------------------------------------------------------------- */

static bool decode(const struct edit *e, struct content *c)
{
	struct err why = { 0 };

	c->encoding = encoding_of(text_in(&c->raw));
	if (encoding_decode(c->encoding, text_in(&c->raw), &c->whole, &why) < 0)
		return edit_refuse(e, "Ran into %s while trying to read %s", why.text, e->path);
	edit_text_init(&c->text, e->path, text_in(&c->whole), &c->plain);
	if (c->whole.failed || c->plain.failed)
		return edit_refuse_os(e, -ENOMEM, "read");
	return true;
}

static bool size_is_good(const struct edit *e)
{
	if (!S_ISREG(e->target.st.st_mode))
		return edit_refuse(
			e,
			"File validation failed for %s: It is a device, a pipe or a socket "
			"and cannot be read or edited by this tool.",
			e->path);
	if (e->target.st.st_size > FILE_EDIT_BYTES_MAX)
		return refuse_size(e, (double)e->target.st.st_size);
	return true;
}

static bool load(const struct edit *e, struct content *c)
{
	autoclose int fd = -1;
	int ret;

	if (!size_is_good(e))
		return false;
	fd = file_open(&e->target, O_RDONLY);
	c->raw.limit = FILE_EDIT_BYTES_MAX + 1;
	ret = fd < 0 ? fd : file_slurp(fd, FILE_EDIT_BYTES_MAX, &c->raw);
	if (ret == -EFBIG)
		return refuse_size(e, FILE_EDIT_BYTES_MAX + 1); /* it did not say so */
	if (ret < 0)
		return edit_refuse_os(e, ret, "read");
	if (file_is_binary(e->path, buf_str(&c->raw), c->raw.len))
		return edit_refuse(
			e,
			"File validation failed for %s: File appears to be binary and this "
			"file type cannot be read or edited by this tool.",
			e->path);
	return decode(e, c);
}

/* The difference between what the file held and what it holds. */
static void show_diff(const struct edit *e, struct text before, struct text after)
{
	udiff(e->r->part[FILE_NAME], before, after, &e->reply->gives[FILE_GIVES_DIFF]);
}

/* Store the changed text in the file's own encoding. */
static bool save(const struct edit *e, struct content *c, const struct buf *changed)
{
	autobuf struct buf raw = { .limit = CHANGED_BYTES_MAX },
			   plain = { .limit = CHANGED_BYTES_MAX };
	struct edit_text now;
	int ret;

	encoding_encode(c->encoding, text_in(changed), &raw);
	edit_text_init(&now, e->path, text_in(changed), &plain);
	if (changed->failed || raw.failed || plain.failed)
		return edit_refuse_os(e, -EFBIG, "write to");
	ret = file_store(&e->target, text_in(&c->raw), text_in(&raw));
	if (ret < 0)
		return edit_refuse_os(e, ret, "write to");
	show_diff(e, c->text.plain, now.plain);
	e->reply->past = FILE_EDITED;
	e->reply->gives[FILE_GIVES_OLD] = c->raw;
	c->raw = (struct buf) { 0 };
	return true;
}

/* --- commands -------------------------------------------------------------------------------- */

static struct edit_range range_of(const struct file_request *r)
{
	return (struct edit_range) { .given = r->part[FILE_RANGE].at,
				     .good = r->flags & FILE_RANGE_GOOD,
				     .first = r->start,
				     .last = r->end,
				     .shown = r->part[FILE_RANGE] };
}

static void view_directory(const struct edit *e)
{
	int ret;

	if (e->r->part[FILE_RANGE].at) {
		(void)edit_refuse(
			e,
			"Invalid `view_range` parameter: %s. The `view_range` parameter is not "
			"allowed when `path` points to a directory.",
			e->r->part[FILE_RANGE].at);
		return;
	}
	ret = file_list(e->path, &e->target, edit_said(e));
	if (ret < 0)
		(void)edit_refuse_os(e, ret, "read");
}

static void view(const struct edit *e)
{
	struct edit_range range = range_of(e->r);
	const char *extension = edit_convertible(e->path);
	autocontent struct content c = { 0 };
	autobuf struct buf text = { 0 };

	if (S_ISDIR(e->target.st.st_mode)) {
		view_directory(e);
		return;
	}
	if (extension && size_is_good(e))
		(void)edit_refuse(
			e,
			"Error in converting file to Markdown: there is no converter for %s "
			"files. Please use Python code to read %s",
			extension, e->path);
	if (extension || !load(e, &c))
		return;
	if (edit_view(&c.text, &range, &text))
		buf_add(edit_said(e), buf_str(&text), text.len);
	else
		buf_add(edit_refusal(e), buf_str(&text), text.len);
}

static void create(const struct edit *e)
{
	struct text content = e->r->part[FILE_CONTENT];
	autobuf struct buf plain = { .limit = CHANGED_BYTES_MAX };
	struct edit_text now;
	int ret;

	if (!content.at) {
		(void)refuse_missing(e, "file_text");
		return;
	}
	ret = file_make(e->path, 0, content);
	if (ret < 0) {
		(void)edit_refuse_os(e, ret, "write to");
		return;
	}
	e->reply->past = FILE_MADE;
	edit_text_init(&now, e->path, content, &plain);
	show_diff(e, (struct text) { "", 0 }, now.plain);
	buf_printf(edit_said(e), "File created successfully at: %s", e->path);
}

/* `said` of a change that could not be stored is a refusal's already. */
static void finish_change(const struct edit *e, struct content *c, const struct buf *changed,
			  const struct buf *text, bool good)
{
	if (!good)
		buf_add(edit_refusal(e), buf_str(text), text->len);
	else if (save(e, c, changed))
		buf_add(edit_said(e), buf_str(text), text->len);
}

static void str_replace(const struct edit *e)
{
	struct text old = e->r->part[FILE_OLD], new = e->r->part[FILE_NEW];
	autobuf struct buf changed = { .limit = CHANGED_BYTES_MAX },
			   text = { .limit = CHANGED_BYTES_MAX };
	autocontent struct content c = { 0 };
	bool good;

	if (!old.at) {
		(void)refuse_missing(e, "old_str");
		return;
	}
	if (text_eq(old, new)) {
		buf_puts(edit_refusal(e), "Invalid `new_str` parameter: ");
		buf_add(edit_said(e), new.at, new.len);
		buf_puts(edit_said(e),
			 ". No replacement was performed. `new_str` and `old_str` must be "
			 "different.");
		return;
	}
	if (!load(e, &c))
		return;
	if (!new.at)
		new = (struct text) { "", 0 };
	good = edit_replace(&c.text, old, new, &changed, &text);
	finish_change(e, &c, &changed, &text, good);
}

static void insert(const struct edit *e)
{
	struct text new = e->r->part[FILE_NEW];
	autobuf struct buf changed = { .limit = CHANGED_BYTES_MAX },
			   text = { .limit = CHANGED_BYTES_MAX };
	autocontent struct content c = { 0 };
	bool good;

	if (!(e->r->flags & FILE_LINE_GIVEN) || !new.at) {
		(void)refuse_missing(e, new.at || !(e->r->flags & FILE_LINE_GIVEN) ? "insert_line"
										   : "new_str");
		return;
	}
	if (!load(e, &c))
		return;
	good = edit_insert(&c.text, e->r->start, new, &changed, &text);
	finish_change(e, &c, &changed, &text, good);
}

/* The bytes the file had, whatever it was encoded in. */
static void undo_edit(const struct edit *e)
{
	autocontent struct content now = { 0 }, before = { 0 };
	struct text bytes = e->r->part[FILE_CONTENT];
	autobuf struct buf numbered = { 0 };
	int ret;

	if (!load(e, &now))
		return;
	if (!bytes.at) {
		(void)edit_refuse(e, "No edit history found for %s.", e->path);
		return;
	}
	before.raw.limit = CHANGED_BYTES_MAX;
	before.whole.limit = CHANGED_BYTES_MAX;
	before.plain.limit = CHANGED_BYTES_MAX;
	buf_add(&before.raw, bytes.at, bytes.len);
	if (!decode(e, &before))
		return;
	ret = file_store(&e->target, text_in(&now.raw), bytes);
	if (ret < 0) {
		(void)edit_refuse_os(e, ret, "write to");
		return;
	}
	e->reply->past = FILE_UNDONE;
	show_diff(e, now.text.plain, before.text.plain);
	edit_number(before.text.plain, e->path, 1, &numbered);
	buf_printf(edit_said(e), "Last edit to %s undone successfully. ", e->path);
	buf_add(edit_said(e), buf_str(&numbered), numbered.len);
}

static const struct {
	const char *name;
	void (*run)(const struct edit *e);
} commands[] = {
	{ "view", view },     { "create", create },	  { "str_replace", str_replace },
	{ "insert", insert }, { "undo_edit", undo_edit },
};

static void run(const struct edit *e)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (!edit_is_command(e, commands[i].name))
			continue;
		commands[i].run(e);
		return;
	}
	(void)edit_refuse(
		e,
		"Unrecognized command %s. The allowed commands for the oh_editor tool are: view, "
		"create, str_replace, insert, undo_edit",
		e->r->part[FILE_COMMAND].at);
}

/* Clients know one way to be told of a binary file they wanted to read. */
static bool is_binary(const struct file_request *r)
{
	autotarget struct file_target t = FILE_NO_TARGET;
	const char *path = r->part[FILE_PATH].at;
	autoclose int fd = -1;
	char start[1024] = { 0 };
	ssize_t n = 0;

	if (path[0] == '/' && file_look(path, &t) == 0 && S_ISREG(t.st.st_mode))
		fd = file_open(&t, O_RDONLY);
	if (fd >= 0)
		n = read(fd, start, sizeof(start));
	return file_is_binary(path, start, n > 0 ? (size_t)n : 0);
}

void file_edit(const struct file_request *r, struct file_reply *reply)
{
	struct edit e = { .r = r,
			  .reply = reply,
			  .path = r->part[FILE_PATH].at,
			  .target = FILE_NO_TARGET };

	edit_said(&e)->limit = 2 * FILE_BYTES_MAX; /* a refusal may repeat what it was given */
	if (r->flags & FILE_TEXT_ONLY && is_binary(r)) {
		reply->status = FILE_BINARY;
		return;
	}
	if (edit_check(&e))
		run(&e);
	file_target_close(&e.target);
}
