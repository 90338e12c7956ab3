/* SPDX-License-Identifier: MIT */
/* actions_api.c - see actions_api.h. */
#include "sandbox/executor/actions_api.h"

#include <string.h>

#include "base/str.h"
#include "sandbox/executor/cancel.h"
#include "sandbox/executor/server.h"

/* The action that the path names. Clients take a 404 for a session that has gone: so an id that was
 * never given is 400, and one that is forgotten 410. */
static struct entry *entry_of(struct server *s, struct conn *c)
{
	struct http_text segment = conn_segment(c);
	struct entry *en;
	struct err e = { 0 };
	char text[24];
	uint64_t id;

	if (segment.len >= sizeof(text)) {
		conn_reply_detail(c, 400, "An action's id is a number");
		return NULL;
	}
	memcpy(text, segment.at, segment.len);
	text[segment.len] = '\0';
	if (str_u64(text, 1, UINT64_MAX, &id, &e) < 0) {
		conn_reply_detail(c, 400, "An action's id is a number");
		return NULL;
	}
	en = actions_find(&s->actions, id);
	if (!en && id <= s->actions.last_id)
		conn_reply_detail(c, 410, "The action has ended too long ago to be known");
	else if (!en)
		conn_reply_detail(c, 400, "No action has had this id");
	return en;
}

static void reply(struct conn *c, const struct buf *text)
{
	if (text->failed)
		conn_reply_detail(c, 500, "Internal server error: no memory for the reply");
	else
		conn_reply(c, 200, NULL, buf_str(text), text->len);
}

/* The latest first. */
void get_actions(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };
	unsigned n = 0;

	(void)body;
	(void)len;
	jo_object(&o, NULL);
	jo_array(&o, "actions");
	for (const struct entry *en = s->actions.newest; en && n++ < ACTIONS_LISTED; en = en->older)
		entry_show(&s->actions, en, false, &o);
	jo_end_array(&o);
	jo_end_object(&o);
	reply(c, &text);
}

void get_one_action(struct server *s, struct conn *c, const char *body, size_t len)
{
	const struct entry *en = entry_of(s, c);
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	(void)body;
	(void)len;
	if (!en)
		return;
	entry_show(&s->actions, en, true, &o);
	reply(c, &text);
}

void post_cancel(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct entry *en = entry_of(s, c);
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };
	const char *why;
	uint64_t id;

	(void)body;
	(void)len;
	if (!en)
		return;
	id = en->id;
	why = cancel_action(&s->actions, en);
	if (why) {
		conn_reply_detail(c, 409, why);
		return;
	}
	jo_object(&o, NULL);
	jo_u64(&o, "id", id);
	jo_string(&o, "detail", "The action is being ended");
	jo_end_object(&o);
	reply(c, &text);
}

void get_output(struct server *s, struct conn *c, const char *body, size_t len)
{
	const struct entry *en = entry_of(s, c);

	(void)body;
	(void)len;
	if (en)
		feed_open(&s->feeds, en, c);
}
