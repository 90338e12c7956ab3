/* SPDX-License-Identifier: MIT */
/* pause.c - see pause.h.
 *
 * Each step is noted in the journal before it is taken, and the session is claimed all the while, so
 * that whoever comes next finds one of three things: a session that runs, one that is to be put to
 * rest (which any command does), or one that rests. */
#include "launch/pause.h"

#include <netinet/in.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "launch/ask_daemon.h"
#include "launch/client.h"
#include "launch/decide.h"
#include "launch/lifecycle.h"
#include "launch/start.h"
#include "session/freeze.h"
#include "session/record.h"
#include "session/remove.h"

#define TELL_MS 10000
#define TELL_BYTES 65536 /* of an answer that nobody reads */

/* 1 where it lives, 0 where it rests or is about to. Else there is nothing to pause or bring back. */
static int look(const struct session *s, struct err *e)
{
	const struct record *r = &s->record;
	int alive = session_is_alive(s->state, r->id, e);

	if (alive < 0)
		return alive;
	if (!r->stays)
		return err_code(
			e, EINVAL,
			"session %s is that of one command: only those of 'start' are paused",
			r->id);
	if (alive && !s->claimed)
		return err_code(e, EBUSY, "session %s is being started", r->id);
	if (!alive && !r->paused && !r->persists)
		return err_code(e, ESRCH, "session %s was kept, but does not run", r->id);
	if (!session_has_request(s))
		return err_code(
			e, ENOENT,
			"session %s was started by an older version: it cannot be brought back",
			r->id);
	return alive;
}

/* What somebody has asked for stays so, whatever else would put it to disk later. */
static int note_form(struct session *s, enum pause_form form, struct err *e)
{
	bool asleep = form == PAUSE_ASLEEP;

	if (s->record.paused && (asleep || !s->record.wakes))
		return 0;
	if (session_note(s, e, "paused " RECORD_ON_DISK) < 0)
		return -e->code;
	return asleep ? session_note(s, e, "wakes") : 0;
}

static int put_to_disk(struct session *s, enum pause_form form, struct err *e)
{
	if (note_form(s, form, e) < 0)
		return -e->code;
	if (s->record.rested)
		return 0;
	if (lifecycle_end(s, e) < 0 || lifecycle_rest(s, e) < 0)
		return -e->code;
	return layers_keep(s, e);
}

/* Its server alone knows what waits for a time, and who asks meanwhile. */
static int tell_server(const struct record *r, const char *path, struct err *e)
{
	const struct client_request ask = { .method = "POST",
					    .path = path,
					    .key = r->key,
					    .timeout_ms = TELL_MS };
	autoclose int fd = client_connect(INADDR_LOOPBACK, r->host_port, TELL_MS, e);
	autobuf struct buf body = { .limit = TELL_BYTES };
	bool again;
	int status = fd < 0 ? fd : client_exchange(fd, &ask, &body, &again, e);

	if (status < 0)
		return err_wrap(e, "session %s", r->id);
	if (status != 200)
		return err_code(e, EPROTO, "session %s: %s answers %d", r->id, path, status);
	return 0;
}

/* What was frozen, or about to be ended, runs. */
static int wake(struct session *s, struct err *e)
{
	if (!s->record.paused)
		return 0;
	if (freeze_end(&s->record, e) < 0 || tell_server(&s->record, "/resume", e) < 0)
		return -e->code;
	return session_note(s, e, "resumed");
}

/* The server first: no time may pass for what stands still. */
static int stand_still(struct session *s, struct err *e)
{
	struct err later = { 0 };

	if (!str_eq(s->record.paused, RECORD_FROZEN) &&
	    session_note(s, e, "paused " RECORD_FROZEN) < 0)
		return -e->code;
	if (tell_server(&s->record, "/pause", e) == 0 && freeze(s, e) == 0)
		return 0;
	if (wake(s, &later) < 0)
		log_error("%s", later.text);
	return -e->code;
}

/* A resume that was killed may have left what `rested` would deny. */
static int make_ready(struct session *s, struct err *e)
{
	if (!s->record.rested && lifecycle_kill(&s->record, e) < 0)
		return -e->code;
	if (session_lock(s, true, e) < 0 || (!s->record.rested && lifecycle_rest(s, e) < 0) ||
	    layers_unmark(s, e) < 0)
		return -e->code;
	s->again = true;
	return session_enliven(s, e);
}

struct held {
	const int *fds;
	unsigned n;
};

/* `s` is taken over. */
static int start_again(struct session *s, struct plan *plan, const struct held *held,
		       struct laps *laps, struct err *e)
{
	struct launch l;
	int r;

	launch_init(&l, s->state, plan);
	l.session = s;
	l.resumes = true;
	for (; l.n_held < held->n && l.n_held < LISTEN_LOOPBACK_MAX; l.n_held++)
		l.held_listeners[l.n_held] = held->fds[l.n_held];
	r = record_copy(&s->record, &l.record, e);
	if (r == 0)
		r = make_ready(s, e);
	if (r == 0)
		r = start_session(&l, laps, e);
	launch_clear(&l);
	return r;
}

/* The same. */
static int bring_back(struct session *s, const struct held *held, struct laps *laps, struct err *e)
{
	struct decision d = { 0 };
	struct request q;
	int r;

	request_init(&q);
	r = decide_again(s, &q, laps, &d, e);
	if (r == 0)
		r = start_again(s, d.plan, held, laps, e);
	else
		session_close(s);
	decision_clear(&d);
	request_clear(&q);
	return r;
}

int pause_session(int state, const char *id, enum pause_form form, struct err *e)
{
	struct session *s = NULL;
	int r;

	if (session_open(state, id, false, &s, e) < 0)
		return -e->code;
	r = session_claim(s, true, e);
	if (r == 0)
		r = look(s, e);
	if (r == 0 || (r > 0 && form != PAUSE_FREEZE))
		r = put_to_disk(s, form, e);
	else if (r > 0)
		r = stand_still(s, e);
	session_close(s);
	return r;
}

int resume_session_on(int state, const char *id, const int listeners[LISTEN_LOOPBACK_MAX],
		      unsigned n_listeners, struct laps *laps, struct err *e)
{
	const struct held held = { .fds = listeners, .n = n_listeners };
	struct session *s = NULL;
	int r;

	if (session_open(state, id, false, &s, e) < 0)
		return -e->code;
	r = session_claim(s, true, e);
	if (r == 0)
		r = look(s, e);
	if (r == 0)
		return bring_back(s, &held, laps, e);
	if (r > 0)
		r = wake(s, e);
	session_close(s);
	return r;
}

/* Its port is a daemon's, which answers there that it is paused. */
static int by_daemon(int state, const char *id, struct err *e)
{
	struct session *s = NULL;
	int r = session_open(state, id, false, &s, e);

	if (r == 0)
		r = ask_daemon_resume(state, s->record.id, e);
	session_close(s);
	return r;
}

int resume_session(int state, const char *id, struct laps *laps, struct err *e)
{
	struct err why = { 0 };
	int r = resume_session_on(state, id, NULL, 0, laps, e);

	if (r != -EADDRINUSE)
		return r;
	r = by_daemon(state, id, &why);
	if (r == -ECONNRESET)
		return resume_session_on(state, id, NULL, 0, laps, e);
	/* Where there is none, the port is somebody else's. */
	if (r != -ECONNREFUSED)
		*e = why;
	return r == -ECONNREFUSED ? -EADDRINUSE : r;
}
