/* SPDX-License-Identifier: MIT */
/* reclaim.c - see reclaim.h. What is reclaimed is paused to disk: its work stays. */
#include "api/reclaim.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "api/operation.h"
#include "api/runtimes.h"
#include "api/service.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/client.h"

#define ASK_EVERY_MS 15000
#define ASK_TIMEOUT_MS 2000
#define ASK_BYTES 65536
#define IDLE_MOST_S 1e9 /* nobody has been for 30 years: what says so says nothing */

static const struct session_template *template_of(const struct runtime *r)
{
	return r->template ? config_named(r->server->config, r->template) : NULL;
}

static uint64_t idle_limit(const struct runtime *r)
{
	const struct session_template *t = template_of(r);

	return t && t->idle_ms ? t->idle_ms : r->server->idle_ms;
}

static void reclaim(struct runtime *r, const char *why)
{
	const struct session_template *t = template_of(r);
	bool stops = t && t->reclaim_stops;

	log_info("session %s (%s): %s: it is %s", r->id, r->name, why,
		 stops ? "stopped" : "paused to disk");
	operate(r, stops ? OPERATION_STOP : OPERATION_PAUSE, NULL, NULL, ANSWER_EMPTY);
}

/* --- who is idle ----------------------------------------------------------------------------- */

/* "idle_time" of the server at this port, in milliseconds; UINT64_MAX where it does not say. */
static uint64_t ask_at(uint16_t port)
{
	const struct client_request get = { .method = "GET",
					    .path = "/server_info",
					    .timeout_ms = ASK_TIMEOUT_MS };
	autobuf struct buf body = { .limit = ASK_BYTES };
	autojson struct json_doc *doc = NULL;
	const struct json *idle;
	double seconds = -1;
	struct err e = { 0 };
	autoclose int fd = client_connect(INADDR_LOOPBACK, port, ASK_TIMEOUT_MS, &e);
	bool again;

	if (fd < 0 || client_exchange(fd, &get, &body, &again, &e) != 200 ||
	    json_parse(buf_str(&body), body.len, &JSON_LIMITS_DEFAULT, &doc, &e) < 0)
		return UINT64_MAX;
	idle = json_get(json_root(doc), "idle_time");
	if (idle && idle->type == JSON_INT)
		seconds = (double)idle->integer;
	else if (idle && idle->type == JSON_REAL)
		seconds = idle->real;
	return seconds >= 0 && seconds <= IDLE_MOST_S ? (uint64_t)(seconds * 1000) : UINT64_MAX;
}

/* An agent server tells it as our own does; of a program that does not, only what goes through the
 * executor is known. */
static uint64_t ask(const struct runtime *r)
{
	uint64_t idle = r->program_key ? ask_at(r->url_port) : UINT64_MAX;

	return idle != UINT64_MAX ? idle : ask_at(r->port);
}

/* A program of the image's own that has ended: what it says of that, on a line. */
static void ask_program(int state, const struct runtime *r, struct buf *out)
{
	struct session *s = NULL;
	struct label label = { 0 };
	struct err e = { 0 };

	if (!r->program_key || r->logs || session_open(state, r->id, false, &s, &e) < 0)
		return;
	if (label_parse(s->record.label, &label, &e) == 0 && !service_answers(&s->record, &label) &&
	    service_check(&s->record, &label, &e) == -ECHILD)
		buf_printf(out, "ended %s %s\n", r->id, e.text);
	label_clear(&label);
	session_close(s);
}

/* "idle ID" of those that have been for too long, "ended ID WHY" of those whose program has. */
static int run_ask(struct job *j, int out, const int *fds, struct err *e)
{
	const struct server *s = j->arg;
	/* Of its own: a job has none of the daemon's descriptors. */
	autoclose int state = state_open(s->state_path, e);
	autobuf struct buf text = { 0 };

	(void)fds;
	if (state < 0)
		return state;
	for (const struct runtime *r = s->runtimes; r; r = r->next) {
		uint64_t limit = idle_limit(r), idle;

		if (r->state != RUNTIME_RUNNING)
			continue;
		ask_program(state, r, &text);
		idle = limit ? ask(r) : UINT64_MAX;
		if (idle != UINT64_MAX && idle >= limit)
			buf_printf(&text, "idle %s\n", r->id);
	}
	if (buf_check(&text, e) < 0)
		return -e->code;
	return io_write_all(out, buf_str(&text), text.len, e);
}

static void ask_done(struct job *j)
{
	struct server *s = j->arg;
	char *rest = j->output.data, *line;

	s->asking = false;
	s->asked_ms = loop_now();
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *what = strsep(&line, " "), *id = line ? strsep(&line, " ") : NULL;
		struct runtime *r = id ? runtimes_find(s, id) : NULL;

		if (!r || r->state != RUNTIME_RUNNING || runtime_is_busy(r))
			continue;
		if (str_eq(what, "idle"))
			reclaim(r, "idle");
		else
			runtime_break(r, line ? line : "", NULL);
	}
}

static void look_for_idle(struct server *s)
{
	bool any = false;
	struct job *j;

	for (const struct runtime *r = s->runtimes; r && !any; r = r->next)
		any = r->state == RUNTIME_RUNNING && (idle_limit(r) || r->program_key);
	if (!any || s->asking || loop_now() - s->asked_ms < s->ask_every_ms)
		return;
	j = job_new(run_ask, ask_done, s);
	if (!j)
		return; /* the next turn will */
	s->asking = true;
	job_start(&s->calls, j);
}

/* --- who is old ------------------------------------------------------------------------------ */

static void look_at(struct runtime *r, uint64_t now_ms)
{
	const struct session_template *t = template_of(r);
	const struct config *c = r->server->config;
	bool lives = r->state == RUNTIME_RUNNING || r->state == RUNTIME_FROZEN;

	if (!lives || runtime_is_busy(r))
		return;
	if (t && t->lifetime_ms && now_ms > r->born_ms + t->lifetime_ms)
		reclaim(r, "its life time is over");
	else if (r->state == RUNTIME_FROZEN && c->pause_to_disk_ms &&
		 loop_now() - r->since_ms > c->pause_to_disk_ms)
		operate(r, OPERATION_PAUSE, NULL, NULL, ANSWER_EMPTY);
}

void reclaim_turn(struct server *s)
{
	uint64_t now_ms = (uint64_t)time(NULL) * 1000;
	uint64_t shortest = ASK_EVERY_MS;
	struct runtime *r, *next;

	for (r = s->runtimes; r; r = next) {
		uint64_t limit = idle_limit(r);

		next = r->next;
		if (limit && limit / 2 < shortest)
			shortest = limit / 2;
		look_at(r, now_ms);
	}
	s->ask_every_ms = shortest < 500 ? 500 : shortest;
	look_for_idle(s);
	runtimes_forget_failed(s);
}
