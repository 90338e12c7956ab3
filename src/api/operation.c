/* SPDX-License-Identifier: MIT */
/* operation.c - see operation.h. */
#include "api/operation.h"

#include <stdio.h>
#include <string.h>

#include "api/held.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "api/tidy.h"
#include "api/work.h"
#include "base/log.h"
#include "base/str.h"

#define TOO_MUCH "too much is asked of this session at once"

struct waiter {
	struct waiter *next;
	struct conn *conn;     /* NULL when it went away */
	struct hearer *hearer; /* in its place, or NULL */
	enum answer_kind answer;
};

struct operation {
	struct operation *next;
	struct runtime *runtime;
	enum operation_kind kind;
	struct start_body *body; /* of a start */
	struct job *job;	 /* while it is at work */
	struct waiter *waiters;
	struct timer late;
	uint64_t us;  /* that it has taken */
	char *log;    /* of its program, which has ended; NULL */
	bool is_gone; /* the session is no more */
	bool is_cancelled;
};

static const char *const names[] = {
	[OPERATION_START] = "start",	 [OPERATION_RESUME] = "resume",
	[OPERATION_FREEZE] = "pause",	 [OPERATION_PAUSE] = "pause to disk",
	[OPERATION_RECLAIM] = "reclaim", [OPERATION_STOP] = "stop",
	[OPERATION_RELEASE] = "release", [OPERATION_ADOPT] = "adopt",
};

const char *operation_name(enum operation_kind kind)
{
	return names[kind];
}

bool runtime_is_busy(const struct runtime *r)
{
	return r->first;
}

bool operation_makes(const struct runtime *r, const char *id)
{
	return r->first && r->first->job && r->first->kind == OPERATION_START &&
	       str_eq(r->first->job->result->id, id);
}

/* --- who waits ------------------------------------------------------------------------------- */

static void add_waiter(struct operation *o, struct conn *c, enum answer_kind answer)
{
	struct waiter *w = c ? calloc(1, sizeof(*w)) : NULL;

	if (!c)
		return;
	if (!w) {
		conn_reply_detail(c, 503, "no memory");
		return;
	}
	w->answer = answer;
	w->next = o->waiters;
	o->waiters = w;
	conn_hold(c, &w->conn);
}

static void answer_one(const struct operation *o, struct waiter *w, const struct err *e)
{
	if (w->hearer)
		w->hearer->told(w->hearer, e);
	else if (w->conn && e->code)
		reply_error(w->conn, e);
	else if (w->conn)
		reply_runtime(w->conn, o->runtime, w->answer);
	free(w);
}

static void answer_all(struct operation *o, const struct err *e)
{
	struct waiter *w;

	while ((w = o->waiters)) {
		o->waiters = w->next;
		answer_one(o, w, e);
	}
}

/* Those who can come again. */
static void answer_connections(struct operation *o)
{
	static const struct err none = { 0 };
	struct waiter **at = &o->waiters, *w;

	while ((w = *at)) {
		if (w->hearer) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		answer_one(o, w, &none);
	}
}

/* Whoever wants to know how it stands is told "starting", and asks again. */
static void answer_late(struct timer *timer)
{
	struct operation *o = container_of(timer, struct operation, late);
	struct runtime *r = o->runtime;
	struct err e = { 0 };

	if (!r->id[0])
		memcpy(r->id, o->job->result->id, sizeof(r->id));
	/* No client takes an answer without its URL: a base is being laid, which is what takes long. */
	if (!r->id[0] || runtimes_peek(r, &e) < 0)
		loop_arm(&r->server->loop, timer, loop_now() + ANSWER_AGAIN_MS);
	else
		answer_connections(o);
}

/* --- one after the other --------------------------------------------------------------------- */

static void begin_next(struct runtime *r);

static void operation_free(struct operation *o)
{
	loop_disarm(&o->runtime->server->loop, &o->late);
	if (o->body)
		start_body_clear(o->body);
	free(o->body);
	free(o->log);
	free(o);
}

/* There is no session any more, or never was one. */
static void settle_gone(struct operation *o, struct err *e)
{
	struct runtime *r = o->runtime;

	o->is_gone = o->kind == OPERATION_STOP || o->kind == OPERATION_RECLAIM;
	if (o->is_gone)
		e->code = 0;
	else if (e->code == ENOENT && o->kind != OPERATION_START)
		e->code = ERR_NONE_SUCH;
	if (r->state != RUNTIME_FAILED) /* else it is known why already */
		runtime_set(r, RUNTIME_FAILED, e->code ? e->text : "it was stopped");
	if (o->log)
		runtime_log(r, o->log);
}

/* It is over, well or not: what clients are told of the session is read anew from its record. */
static void settle(struct operation *o, struct err *e)
{
	struct runtime *r = o->runtime;
	struct err gone = { 0 };

	if (!r->id[0]) {
		settle_gone(o, e);
		return;
	}
	if (runtimes_reload(r, &gone) == -ENOENT)
		settle_gone(o, e);
	else if (gone.code)
		log_error("%s", gone.text);
	if (e->code && (r->state == RUNTIME_ENDED || r->state == RUNTIME_PAUSED))
		runtime_set(r, r->state, e->text);
	else if (e->code == ECHILD && r->state == RUNTIME_RUNNING)
		runtime_break(r, e->text, o->log);
}

static void finish(struct operation *o, struct err *e)
{
	struct runtime *r = o->runtime;
	bool is_gone, has_ended;

	settle(o, e);
	/* Who hears an answer may have asked for the next thing already: that is begun in here, and there
	 * is nothing of this one to be cancelled any more. */
	o->job = NULL;
	answer_all(o, e);
	if (r->shape)
		pool_want(r->server);
	r->first = o->next;
	if (!r->first)
		r->last = &r->first;
	is_gone = o->is_gone;
	has_ended = r->state == RUNTIME_ENDED && o->kind != OPERATION_RELEASE;
	operation_free(o);
	r->busy = false;
	if (r->first)
		begin_next(r);
	else if (is_gone)
		runtimes_remove(r);
	else if (has_ended)
		operate(r, OPERATION_RELEASE, NULL, NULL, ANSWER_EMPTY);
}

static void conclude(struct operation *o, struct err *e)
{
	struct runtime *r = o->runtime;

	metrics_operation(&r->server->metrics, o->kind, o->us, e->code);
	if (e->code && o->is_cancelled)
		(void)err_code(e, ECANCELED, "it was stopped meanwhile");
	log_operation(r, names[o->kind], o->us, e);
	if (o->kind == OPERATION_STOP || o->kind == OPERATION_RELEASE || e->code)
		tidy_later(r->server);
	finish(o, e);
}

static void await_done(struct job *j)
{
	struct operation *o = j->arg;
	struct err e = j->result->error;

	o->us += j->result->wall_us;
	if (e.code == ECHILD)
		o->log = strdup(buf_str(&j->output)); /* without memory there are its last words */
	conclude(o, &e);
}

/* Programs take their time to begin: those that are waited for must not keep other sessions from being
 * started, or stopped. */
static int await(struct operation *o, struct err *e)
{
	o->job = job_new(work_await, await_done, o);
	if (!o->job)
		return err_code(e, ENOMEM, "no memory");
	job_start(&o->runtime->server->waits, o->job);
	return 0;
}

static void job_done(struct job *j)
{
	struct operation *o = j->arg;
	struct err e = j->result->error;

	o->us = j->result->wall_us;
	if (j->result->id[0])
		memcpy(o->runtime->id, j->result->id, sizeof(o->runtime->id));
	if (e.code || j->result->value != WORK_GOES_ON || o->is_cancelled || await(o, &e) < 0)
		conclude(o, &e);
}

/* What there is to do in the state the session is in by now; OPERATIONS where that is nothing. */
static int what_is_due(const struct operation *o)
{
	switch (o->runtime->state) {
	case RUNTIME_FAILED:
		return o->kind == OPERATION_START ? OPERATION_START : -1;
	case RUNTIME_STARTING:
		return o->kind;
	case RUNTIME_RUNNING:
		if (o->kind != OPERATION_START && o->kind != OPERATION_RESUME)
			return (int)o->kind;
		return o->runtime->logs ? OPERATION_RESUME : -1; /* its program is started again */
	case RUNTIME_FROZEN:
	case RUNTIME_PAUSED:
	case RUNTIME_ENDED:
		/* A start of what is there takes up its work where it was left. */
		if (o->kind == OPERATION_START)
			return OPERATION_RESUME;
		if (o->kind != OPERATION_FREEZE || o->runtime->state == RUNTIME_ENDED)
			return (int)o->kind;
		/* That it sleeps is not what is asked for. */
		return o->runtime->wakes ? OPERATION_PAUSE : -1;
	}
	return o->kind;
}

/* What never came to life, or was ended on its way there, is stopped already. */
static void refuse(struct operation *o, struct err *e)
{
	if (o->runtime->state == RUNTIME_FAILED && o->kind == OPERATION_STOP)
		o->is_gone = true;
	else if (o->runtime->state == RUNTIME_FAILED && o->kind != OPERATION_START)
		(void)err_code(e, ERR_NONE_SUCH, "there is no session '%s'", o->runtime->name);
	finish(o, e);
}

static void begin_next(struct runtime *r)
{
	struct operation *o = r->first;
	struct err e = { 0 };
	int due;

	r->busy = true;
	due = what_is_due(o);
	if (due < 0) {
		refuse(o, &e);
		return;
	}
	o->kind = (enum operation_kind)due;
	r->restarts += due == OPERATION_RESUME && r->state == RUNTIME_ENDED;
	if (due == OPERATION_START)
		r->id[0] = '\0';
	if (due == OPERATION_START || due == OPERATION_RESUME) {
		runtime_set(r, RUNTIME_STARTING, NULL);
		o->late.fire = answer_late;
		loop_arm(&r->server->loop, &o->late, loop_now() + ANSWER_AFTER_MS);
	}
	o->job = job_new(work_of(o->kind), job_done, o);
	if (o->job) {
		if (due == OPERATION_RESUME)
			(void)held_lend(r, o->job->fds); /* none: it listens by itself */
		job_start(&r->server->jobs, o->job);
		return;
	}
	(void)err_code(&e, ENOMEM, "no memory");
	finish(o, &e);
}

/* Nobody wants what is still on its way. */
static void cancel(struct operation *o)
{
	if (!o || !o->job || (o->kind > OPERATION_RESUME && o->kind != OPERATION_ADOPT))
		return;
	o->is_cancelled = true;
	job_cancel(o->job);
}

static unsigned queue_length(const struct runtime *r)
{
	unsigned n = 0;

	for (const struct operation *o = r->first; o; o = o->next)
		n++;
	return n;
}

static struct operation *operation_new(struct runtime *r, enum operation_kind kind)
{
	struct operation *o = queue_length(r) < OPERATIONS_MAX ? calloc(1, sizeof(*o)) : NULL;

	if (o) {
		o->runtime = r;
		o->kind = kind;
	}
	return o;
}

static void line_up(struct operation *o)
{
	struct runtime *r = o->runtime;

	if (o->kind == OPERATION_STOP)
		cancel(r->first);
	*r->last = o;
	r->last = &o->next;
	if (!r->busy)
		begin_next(r);
}

void operate_for(struct runtime *r, enum operation_kind kind, struct hearer *h)
{
	struct operation *o = operation_new(r, kind);
	struct waiter *w = o ? calloc(1, sizeof(*w)) : NULL;
	struct err e = { 0 };

	if (!w) {
		free(o);
		(void)err_code(&e, EBUSY, TOO_MUCH);
		h->told(h, &e);
		return;
	}
	w->hearer = h;
	o->waiters = w;
	line_up(o);
}

void operate(struct runtime *r, enum operation_kind kind, struct start_body *body, struct conn *c,
	     enum answer_kind answer)
{
	struct operation *o = operation_new(r, kind);

	if (!o) {
		if (body)
			start_body_clear(body);
		free(body);
		if (c)
			conn_reply_detail(c, 429, TOO_MUCH);
		return;
	}
	o->body = body;
	add_waiter(o, c, answer);
	line_up(o);
}

const struct start_body *operation_body(const struct operation *o)
{
	return o->body;
}

const struct runtime *operation_runtime(const struct operation *o)
{
	return o->runtime;
}

enum operation_kind operation_kind_of(const struct operation *o)
{
	return o->kind;
}

/* --- by itself ------------------------------------------------------------------------------- */

void runtime_ended(struct source *source, uint32_t events)
{
	struct runtime *r = container_of(source, struct runtime, end);

	(void)events;
	loop_remove(&r->server->loop, source);
	drop_fd(&source->fd);
	/* What is at work with it, which may be what ended it, looks at the record when it is done. */
	if (!r->busy)
		operate(r, OPERATION_RELEASE, NULL, NULL, ANSWER_EMPTY);
}
