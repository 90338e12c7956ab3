/* SPDX-License-Identifier: MIT */
/* act_edit.c - the action `edit`, and `read` as the editor shows it: asked of the helper, which has
 * the texts. What files held before is remembered here, where nobody of the session can reach. */
#include <string.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

static struct text path_given(const struct action *a)
{
	return a->kind == ACTION_READ ? a->read.path : a->edit.path;
}

static struct observation observe(const struct action *a)
{
	struct observation o = { .kind = OBSERVED_READ, .editor = true };

	if (a->kind == ACTION_EDIT) {
		o.kind = OBSERVED_EDIT;
		o.old_str = a->edit.old_str;
		o.new_str = a->edit.new_str;
	}
	buf_add(&o.path, path_given(a).at, path_given(a).len);
	return o;
}

static struct text path_of(const struct act_files *f)
{
	return (struct text) { buf_str(&f->path), f->path.len };
}

static void remember(struct act_files *f, const struct action *a, const struct file_reply *reply)
{
	const struct buf *old = &reply->gives[FILE_GIVES_OLD];

	if (reply->past == FILE_MADE)
		history_push(&f->history, path_of(f), a->edit.file_text);
	else if (reply->past == FILE_EDITED)
		history_push(&f->history, path_of(f), (struct text) { buf_str(old), old->len });
	else if (reply->past == FILE_UNDONE)
		history_pop(&f->history, path_of(f));
}

static void move(struct buf *to, struct buf *from)
{
	*to = *from;
	*from = (struct buf) { 0 };
}

/* However it went, clients want an observation. */
static void fail(struct server *s, const char *why)
{
	struct observation o = observe(&s->dispatch.first->action);

	buf_clear(&s->files.path);
	buf_printf(&o.content, "ERROR:\n%s", why);
	dispatch_done(&s->dispatch, &o);
}

static void edit_failed(struct helper *h, const struct err *why)
{
	fail(act_files_server(h), why->text);
}

static void edit_done(struct helper *h, struct file_reply *reply)
{
	struct server *s = act_files_server(h);
	const struct action *a = &s->dispatch.first->action;
	struct observation o;

	if (reply->status != FILE_OK && reply->status != FILE_BINARY) {
		fail(s, "What there is to tell of the file is too much.");
		return;
	}
	remember(&s->files, a, reply);
	buf_clear(&s->files.path);
	o = observe(a);
	if (reply->status == FILE_BINARY) {
		o.kind = OBSERVED_ERROR;
		buf_puts(&o.content, "ERROR_BINARY_FILE");
	} else {
		move(&o.content, &reply->gives[FILE_GIVES_CONTENT]);
		move(&o.diff, &reply->gives[FILE_GIVES_DIFF]);
	}
	dispatch_done(&s->dispatch, &o);
}

static void ask(struct job *job, struct file_request *request)
{
	struct act_files *f = &job->server->files;

	request->part[FILE_PATH] = path_of(f);
	request->part[FILE_NAME] = path_given(&job->action);
	request->part[FILE_BASE] = text_of(job->server->boot->workspace);
	f->helper.done = edit_done;
	f->helper.failed = edit_failed;
	helper_ask(&f->helper, request);
}

void act_read_editor(struct job *job)
{
	const struct action_range *range = &job->action.read.range;
	struct file_request request = { .op = FILE_EDIT,
					.flags = FILE_ONLY_READS | FILE_TEXT_ONLY,
					.start = range->first,
					.end = range->last,
					.part = { [FILE_COMMAND] = text_of("view") } };

	if (range->given)
		request.part[FILE_RANGE] = text_of(range->shown);
	if (range->good)
		request.flags |= FILE_RANGE_GOOD;
	act_path_plain(job->action.read.path, &job->server->files.path);
	ask(job, &request);
}

static bool is_command(const struct action_edit *a, const char *name)
{
	return text_eq(a->command, text_of(name));
}

void act_edit(struct job *job)
{
	const struct action_edit *a = &job->action.edit;
	struct act_files *f = &job->server->files;
	struct file_request request = { .op = FILE_EDIT,
					.start = a->line,
					.part = { [FILE_COMMAND] = a->command,
						  [FILE_CONTENT] = a->file_text,
						  [FILE_OLD] = a->old_str,
						  [FILE_NEW] = a->new_str,
						  [FILE_BAD_LINE] = a->bad_line } };

	act_path_plain(a->path, &f->path);
	if (is_command(a, "undo_edit"))
		request.part[FILE_CONTENT] = history_last(&f->history, path_of(f));
	if (is_command(a, "view"))
		request.flags |= FILE_ONLY_READS;
	if (a->line_given)
		request.flags |= FILE_LINE_GIVEN;
	ask(job, &request);
}
