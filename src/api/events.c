/* SPDX-License-Identifier: MIT */
/* events.c - see events.h. */
#include "api/events.h"

#include <stdlib.h>
#include <string.h>

#include "api/native.h"
#include "api/server.h"
#include "base/str.h"

struct event_stream {
	struct conn_stream out;
	struct server *server;
	struct event_stream *next;
	struct timer beat;
	char *name; /* NULL: of all */
};

static void stream_free(struct event_stream *es)
{
	struct event_stream **at = &es->server->events;

	while (*at != es)
		at = &(*at)->next;
	*at = es->next;
	es->server->n_events--;
	loop_disarm(&es->server->loop, &es->beat);
	free(es->name);
	free(es);
}

static void stream_gone(struct conn_stream *out)
{
	stream_free(container_of(out, struct event_stream, out));
}

/* A client that has gone without a word is found out, and proxies keep the connection. */
static void beat(struct timer *timer)
{
	struct event_stream *es = container_of(timer, struct event_stream, beat);

	loop_arm(&es->server->loop, timer, loop_now() + NATIVE_BEAT_MS);
	(void)conn_send(&es->out, ":\n\n", 3); /* gone() says so where nobody listens */
}

void events_open(struct server *s, struct conn *c, const char *name)
{
	static const struct conn_head head = { .status = 200,
					       .type = "text/event-stream",
					       .lines = "cache-control: no-store\r\n",
					       .length = CONN_LENGTH_UNKNOWN };
	struct event_stream *es = s->n_events < NATIVE_STREAMS_MAX ? calloc(1, sizeof(*es)) : NULL;

	if (es && name)
		es->name = strdup(name);
	if (!es || (name && !es->name)) {
		free(es);
		conn_reply_detail(c, 503, "too many listen to events already");
		return;
	}
	es->server = s;
	es->out.gone = stream_gone;
	es->beat.fire = beat;
	es->next = s->events;
	s->events = es;
	s->n_events++;
	loop_arm(&s->loop, &es->beat, loop_now() + NATIVE_BEAT_MS);
	conn_stream(c, &es->out, &head);
	(void)conn_send(&es->out, ":\n\n", 3); /* so that the client sees that it is open */
}

void events_tell(const struct runtime *r)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };
	struct event_stream *es, *next;

	if (!r->server->events || r->shape)
		return;
	buf_puts(&text, "event: session\ndata: ");
	native_json(&o, NULL, r);
	buf_puts(&text, "\n\n");
	if (text.failed)
		return; /* the next one will be told */
	for (es = r->server->events; es; es = next) {
		next = es->next;
		if (!es->name || str_eq(es->name, r->name))
			(void)conn_send(&es->out, buf_str(&text), text.len);
	}
}

void events_close(struct server *s)
{
	while (s->events) {
		struct event_stream *es = s->events;

		conn_end(&es->out);
		stream_free(es);
	}
}
