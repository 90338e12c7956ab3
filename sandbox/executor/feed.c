/* SPDX-License-Identifier: MIT */
/* feed.c - see feed.h. */
#include "sandbox/executor/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/server.h"

/* One listener. */
struct feed {
	struct feed *next;
	struct feeds *all;
	struct conn_stream stream;
	uint64_t id;
	uint64_t lost; /* bytes, since there was no room */
	bool full;
};

/* --- events ------------------------------------------------------------------------------------ */

static void begin_event(struct buf *out, struct json_out *o, const char *name)
{
	out->limit = (size_t)1 << 24;
	buf_printf(out, "event: %s\ndata: ", name);
	*o = (struct json_out) { .buf = out };
	jo_object(o, NULL);
}

/* Without memory for an event there is none for the stream either. */
static bool send_event(struct feed *f, struct buf *out, struct json_out *o)
{
	jo_end_object(o);
	buf_puts(out, "\n\n");
	if (out->failed) {
		conn_cut(&f->stream);
		return false;
	}
	f->full = !conn_send(&f->stream, out->data, out->len);
	return !f->full;
}

static void send_text(struct feed *f, const char *name, const char *bytes, size_t len)
{
	autobuf struct buf out = { 0 };
	struct json_out o;

	begin_event(&out, &o, name);
	jo_string_n(&o, "text", bytes, len);
	(void)send_event(f, &out, &o); /* f->full says it */
}

static void send_lost(struct feed *f)
{
	autobuf struct buf out = { 0 };
	struct json_out o;

	begin_event(&out, &o, "lost");
	jo_u64(&o, "bytes", f->lost);
	f->lost = 0;
	(void)send_event(f, &out, &o);
}

/* How an action ended. */
struct ending {
	uint64_t id;
	enum entry_state state;
	int64_t exit_code;
};

static void send_done(struct feed *f, const struct ending *end)
{
	autobuf struct buf out = { 0 };
	struct json_out o;

	if (f->lost)
		send_lost(f);
	begin_event(&out, &o, "done");
	jo_string(&o, "state", entry_state_name(end->state));
	if (end->exit_code == ENTRY_UNKNOWN)
		jo_null(&o, "exit_code");
	else
		jo_int(&o, "exit_code", end->exit_code);
	(void)send_event(f, &out, &o);
}

/* --- listeners --------------------------------------------------------------------------------- */

static void unlink_feed(struct feed *f)
{
	struct feed **at = &f->all->first;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->all->n--;
}

static void stream_gone(struct conn_stream *s)
{
	struct feed *f = container_of(s, struct feed, stream);

	unlink_feed(f);
	free(f);
}

static void stream_room(struct conn_stream *s)
{
	struct feed *f = container_of(s, struct feed, stream);

	f->full = false;
	if (f->lost)
		send_lost(f);
}

/* The terminal that this action's command writes to; NULL where there is none now. */
static struct shell *terminal_of(struct server *s, const struct entry *en)
{
	const struct job *job = s->dispatch.first;

	if (en == s->actions.in_shell)
		return &s->runs.shell;
	return en->is_static && job && job->entry == en && s->dispatch.in_hand ? &s->runs.once
									       : NULL;
}

static void show_so_far(struct feed *f, const struct entry *en)
{
	const struct shell *sh = terminal_of(f->all->server, en);
	autobuf struct buf text = { .limit = (size_t)4 * SCREEN_HISTORY_BYTES };

	if (sh)
		(void)screen_text(&sh->screen, &text);
	if (text.len)
		send_text(f, "screen", buf_str(&text), text.len);
}

void feed_open(struct feeds *fs, const struct entry *en, struct conn *c)
{
	struct conn_head head = { .status = 200,
				  .type = "text/event-stream",
				  .length = CONN_LENGTH_UNKNOWN };
	struct feed *f = fs->n < FEEDS_MAX ? calloc(1, sizeof(*f)) : NULL;
	char lines[80];

	if (!f) {
		conn_reply_detail(c, 409, "Too many listen to outputs already");
		return;
	}
	*f = (struct feed) { .next = fs->first,
			     .all = fs,
			     .id = en->id,
			     .stream = { .room = stream_room, .gone = stream_gone } };
	fs->first = f;
	fs->n++;
	if (!fs->breath.armed)
		loop_arm(&fs->server->loop, &fs->breath,
			 loop_time(&fs->server->loop) + FEED_BREATH_MS);
	(void)snprintf(lines, sizeof(lines),
		       "cache-control: no-store\r\nx-action-id: %" PRIu64 "\r\n", en->id);
	head.lines = lines;
	conn_stream(c, &f->stream, &head);
	if (f->stream.conn)
		show_so_far(f, en);
	if (en->state > ENTRY_RUNNING)
		feeds_end(fs, en);
}

static struct feed *find(const struct feeds *fs, uint64_t id)
{
	struct feed *f = fs->first;

	while (f && f->id != id)
		f = f->next;
	return f;
}

/* The end of a stream lets its client's next request in, which may open and end others: so each time from
 * the start, and nothing but what was known before. */
void feeds_end(struct feeds *fs, const struct entry *en)
{
	const struct ending end = { en->id, en->state, en->exit_code };
	struct feed *f;

	while ((f = find(fs, end.id))) {
		unlink_feed(f);
		if (f->stream.conn)
			send_done(f, &end);
		conn_end(&f->stream);
		free(f);
	}
}

/* --- what is written --------------------------------------------------------------------------- */

/* Bytes at the end that begin a character and do not end it. */
static size_t unfinished(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)bytes[len - back];
		size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		return whole > back ? back : 0;
	}
	return 0;
}

static void tell(struct feeds *fs, const struct entry *en, struct feed_joint *joint,
		 const char *bytes, size_t len)
{
	autobuf struct buf text = { 0 };
	size_t rest;

	buf_add(&text, joint->bytes, joint->n);
	buf_add(&text, bytes, len);
	if (text.failed)
		return;
	rest = unfinished(text.data, text.len);
	joint->n = (unsigned)rest;
	memcpy(joint->bytes, text.data + text.len - rest, rest);
	text.len -= rest;
	for (struct feed *f = fs->first; f && text.len; f = f->next) {
		if (f->id != en->id || !f->stream.conn)
			continue;
		if (f->full)
			f->lost += text.len;
		else
			send_text(f, "output", text.data, text.len);
	}
}

static void shell_output(struct shell *sh, const char *bytes, size_t len)
{
	struct server *s = container_of(sh, struct server, runs.shell);

	if (s->feeds.first && s->actions.in_shell)
		tell(&s->feeds, s->actions.in_shell, &s->feeds.shell, bytes, len);
}

static void once_output(struct shell *sh, const char *bytes, size_t len)
{
	struct server *s = container_of(sh, struct server, runs.once);
	const struct job *job = s->dispatch.first;

	if (s->feeds.first && job && s->dispatch.in_hand)
		tell(&s->feeds, job->entry, &s->feeds.once, bytes, len);
}

static void breathe(struct timer *timer)
{
	struct feeds *fs = container_of(timer, struct feeds, breath);
	struct feed *next;

	for (struct feed *f = fs->first; f; f = next) {
		next = f->next;
		if (f->stream.conn && !f->full)
			f->full = !conn_send(&f->stream, ": \n\n", 4);
	}
	if (fs->first)
		loop_arm(&fs->server->loop, timer, loop_time(&fs->server->loop) + FEED_BREATH_MS);
}

void feeds_init(struct feeds *fs, struct server *s)
{
	*fs = (struct feeds) { .server = s, .breath.fire = breathe };
	s->runs.shell.output = shell_output;
	s->runs.once.output = once_output;
}
