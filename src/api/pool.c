/* SPDX-License-Identifier: MIT */
/* pool.c - see pool.h. */
#include "api/pool.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/events.h"
#include "api/order.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/str.h"
#include "session/name.h"

#define AGAIN_MAX 6 /* doublings of a second, after failures */

/* What is held of a template: what was asked for last. */
struct pool_shape {
	struct pool_shape *next;
	char *template;
	char *text; /* a body that asks for it; NULL: no client has shown one yet */
	char shape[SHA256_HEX_BYTES];
	char missed[SHA256_HEX_BYTES]; /* another that was asked for, once */
	bool asked;		       /* by a client; else it is the template's own */
	unsigned failed;	       /* starts, one after the other */
	uint64_t again_ms;
};

static struct server *server_of(struct pool *p)
{
	return container_of(p, struct server, pool);
}

/* --- what to hold ---------------------------------------------------------------------------- */

static bool learn(struct pool_shape *p, const char *shape, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return false;
	free(p->text);
	p->text = copy;
	memcpy(p->shape, shape, sizeof(p->shape));
	p->failed = 0;
	p->again_ms = 0;
	return true;
}

/* Before anybody has asked: the image alone, where the template names one. */
static void learn_template(struct pool_shape *p, const struct session_template *t)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };
	struct start_body body;
	struct err e = { 0 };
	char shape[SHA256_HEX_BYTES];

	if (strpbrk(t->image, "*?["))
		return;
	jo_object(&o, NULL);
	jo_string(&o, "image", t->image);
	jo_end_object(&o);
	if (!text.failed && start_body_parse(buf_str(&text), text.len, &body, &e) == 0) {
		start_body_shape(&body, shape);
		(void)learn(p, shape, buf_str(&text), text.len); /* without memory: a client will */
	}
	start_body_clear(&body);
}

static bool holds_any(const struct server *s, const struct session_template *t)
{
	for (const struct runtime *r = s->runtimes; r; r = r->next)
		if (r->shape && str_eq(r->template, t->name))
			return true;
	return false;
}

static struct pool_shape *shape_of(struct server *s, const struct session_template *t)
{
	struct pool_shape *p;

	for (p = s->pool.shapes; p; p = p->next)
		if (str_eq(p->template, t->name))
			return p;
	p = calloc(1, sizeof(*p));
	if (p)
		p->template = strdup(t->name);
	if (!p || !p->template) {
		free(p);
		return NULL; /* nothing is held then */
	}
	/* Those that an earlier daemon left are what clients asked it for. */
	if (!holds_any(s, t))
		learn_template(p, t);
	p->next = s->pool.shapes;
	s->pool.shapes = p;
	return p;
}

/* One client that wants something else for once is no reason to start all of them anew. */
static void note_asked(struct pool_shape *p, const char *shape, const char *text, size_t len)
{
	bool known = p->text && str_eq(p->shape, shape);

	if (!known && p->asked && !str_eq(p->missed, shape))
		memcpy(p->missed, shape, sizeof(p->missed));
	else if (!known && learn(p, shape, text, len))
		p->missed[0] = '\0';
	p->asked = true;
}

/* --- handing out ----------------------------------------------------------------------------- */

static bool is_ready(const struct runtime *r, const char *shape)
{
	return r->fresh && r->state == RUNTIME_RUNNING && !r->logs && str_eq(r->shape, shape) &&
	       !runtime_is_busy((struct runtime *)r);
}

static struct runtime *first_ready(struct server *s, const char *shape, const char *fresh)
{
	for (struct runtime *r = s->runtimes; r; r = r->next)
		if (is_ready(r, shape) && (!fresh || str_eq(r->fresh, fresh)))
			return r;
	return NULL;
}

/* What it would be made of now. */
static int fresh_now(struct server *s, const struct start_body *body, const char *shape,
		     char fresh[SHA256_HEX_BYTES], struct err *e)
{
	struct order o;
	int r = order_make(s->config, body, NULL, shape, &o, e);

	if (r == 0)
		memcpy(fresh, o.label.fresh, SHA256_HEX_BYTES);
	order_clear(&o);
	return r;
}

/* NULL: there is none that could be given. */
static struct runtime *give_one(struct server *s, const struct start_body *body, const char *shape)
{
	char fresh[SHA256_HEX_BYTES];
	struct err e = { 0 };
	struct runtime *r;

	/* Whatever is wrong is told by the start that follows. */
	if (!first_ready(s, shape, NULL) || fresh_now(s, body, shape, fresh, &e) < 0)
		return NULL;
	while ((r = first_ready(s, shape, fresh))) {
		if (name_give(s->state, r->id, body->session_id, &e) == 0)
			return r;
		if (e.code == EEXIST)
			return NULL;
		log_warn("session %s, which was held ready, cannot be given away: %s", r->id,
			 e.text);
		operate(r, OPERATION_STOP, NULL, NULL, ANSWER_EMPTY);
	}
	return NULL;
}

bool pool_take(struct server *s, const struct start_body *body, const char *text, size_t len,
	       struct conn *c, enum answer_kind answer)
{
	const struct session_template *t = config_template(s->config, body->image);
	struct pool_shape *p = t && t->warm ? shape_of(s, t) : NULL;
	char shape[SHA256_HEX_BYTES];
	uint64_t began_us = clock_us();
	struct runtime *r;
	struct err none = { 0 };
	char *name;

	s->pool.asked_ms = loop_now();
	if (!p)
		return false;
	start_body_shape(body, shape);
	note_asked(p, shape, text, len);
	pool_want(s);
	name = strdup(body->session_id);
	r = name ? give_one(s, body, shape) : NULL;
	if (!r) {
		free(name);
		return false;
	}
	runtimes_name(r, name);
	s->pool.taken++;
	metrics_operation(&s->metrics, OPERATION_START, clock_us() - began_us, false);
	log_operation(r, "start, held ready", clock_us() - began_us, &none);
	reply_runtime(c, r, answer);
	return true;
}

/* --- filling --------------------------------------------------------------------------------- */

static void start_one(struct server *s, struct pool_shape *p)
{
	struct start_body *body = calloc(1, sizeof(*body));
	struct runtime *r = NULL;
	struct err e = { 0 };
	char name[32];

	/* No client's name, and none that a client could use. */
	(void)snprintf(name, sizeof(name), "+warm-%u", ++s->pool.number);
	if (body && start_body_parse(p->text, strlen(p->text), body, &e) == 0)
		r = runtimes_add(s, name);
	if (r) {
		r->shape = strdup(p->shape);
		r->template = strdup(p->template);
	}
	if (r && r->shape && r->template) {
		free(take_ptr(&body->session_id));
		operate(r, OPERATION_START, body, NULL, ANSWER_EMPTY);
		return;
	}
	if (r)
		runtimes_remove(r);
	if (body)
		start_body_clear(body);
	free(body);
}

/* The template's own is tried again, ever more seldom; what a client asked for and could not have either is
 * forgotten: the next client will show what it is. */
static void has_failed(struct pool_shape *p, const struct session_template *t)
{
	unsigned doublings = p->failed < AGAIN_MAX ? p->failed : AGAIN_MAX;

	p->failed++;
	p->again_ms = loop_now() + (UINT64_C(1000) << doublings);
	if (!p->asked)
		return;
	free(take_ptr(&p->text));
	p->shape[0] = '\0';
	p->asked = false;
	learn_template(p, t);
}

/* How many of a template's there are, once those that are of no use have been sent away. */
struct held {
	unsigned starting, ready;
};

/* Is it still what would be handed out? `fresh` NULL: that was not looked at. */
static bool is_wanted(const struct runtime *r, const struct pool_shape *p, const char *fresh)
{
	if (r->state != RUNTIME_RUNNING || r->logs || loop_now() - r->since_ms > POOL_AGE_MS)
		return false;
	/* Whether those that an earlier daemon left are what clients want, a client will show. */
	if (p->text && !str_eq(r->shape, p->shape))
		return false;
	return !fresh || (r->fresh && str_eq(r->fresh, fresh));
}

static void count_one(struct runtime *r, const struct session_template *t, struct pool_shape *p,
		      const char *fresh, uint64_t most, struct held *n)
{
	if (r->state == RUNTIME_FAILED && !runtime_is_busy(r)) {
		has_failed(p, t);
		runtimes_remove(r);
	} else if (r->state == RUNTIME_STARTING) {
		n->starting++;
	} else if (runtime_is_busy(r)) {
		; /* it is being stopped */
	} else if (n->ready < most && is_wanted(r, p, fresh)) {
		n->ready++;
		p->failed = 0;
	} else {
		operate(r, OPERATION_STOP, NULL, NULL, ANSWER_EMPTY);
	}
}

static struct held count(struct server *s, const struct session_template *t, struct pool_shape *p,
			 const char *fresh, uint64_t most)
{
	struct held n = { 0 };
	struct runtime *r, *next;

	for (r = s->runtimes; r; r = next) {
		next = r->next;
		if (r->shape && str_eq(r->template, t->name))
			count_one(r, t, p, fresh, most, &n);
	}
	return n;
}

/* "": it could not be told; a start will say why. */
static void look(struct server *s, const struct pool_shape *p, char fresh[SHA256_HEX_BYTES])
{
	struct start_body body;
	struct err e = { 0 };

	fresh[0] = '\0';
	if (!p->text)
		return;
	if (start_body_parse(p->text, strlen(p->text), &body, &e) < 0 ||
	    fresh_now(s, &body, p->shape, fresh, &e) < 0)
		log_debug("warm sessions of '%s': %s", p->template, e.text);
	start_body_clear(&body);
}

static unsigned starting(const struct server *s)
{
	unsigned n = 0;

	for (const struct runtime *r = s->runtimes; r; r = r->next)
		n += r->shape && r->state == RUNTIME_STARTING;
	return n;
}

/* For what clients have not asked for: theirs goes first. */
static uint64_t room(const struct server *s)
{
	uint64_t taken = runtimes_count(s, false), most = s->config->max_sessions;

	return taken < most ? most - taken : 0;
}

static void fill(struct server *s, const struct session_template *t, bool looks)
{
	struct pool_shape *p = shape_of(s, t);
	char fresh[SHA256_HEX_BYTES] = "";
	uint64_t most = room(s) < t->warm ? room(s) : t->warm;
	struct held n;

	if (!p)
		return;
	if (looks)
		look(s, p, fresh);
	n = count(s, t, p, *fresh ? fresh : NULL, most);
	while (p->text && n.ready + n.starting < most && loop_now() >= p->again_ms &&
	       starting(s) < POOL_AT_ONCE) {
		start_one(s, p);
		n.starting++;
	}
}

/* Templates change, and go. */
static void send_away(struct server *s)
{
	struct runtime *r, *next;

	for (r = s->runtimes; r; r = next) {
		const struct session_template *t;

		next = r->next;
		if (!r->shape || runtime_is_busy(r))
			continue;
		t = config_named(s->config, r->template);
		if (!t || !t->warm)
			operate(r, OPERATION_STOP, NULL, NULL, ANSWER_EMPTY);
	}
}

void pool_turn(struct server *s)
{
	uint64_t now = loop_now();
	bool looks = now - s->pool.looked_ms >= POOL_LOOK_MS;

	s->pool.wanted_ms = 0;
	if (s->draining)
		return;
	if (looks)
		s->pool.looked_ms = now;
	send_away(s);
	for (unsigned i = 0; i < s->config->n_templates; i++)
		if (s->config->templates[i].warm)
			fill(s, &s->config->templates[i], looks);
}

static void turn(struct timer *timer)
{
	struct server *s = server_of(container_of(timer, struct pool, turn));
	uint64_t now = loop_now();

	if (now - s->pool.asked_ms < POOL_QUIET_MS && now - s->pool.wanted_ms < POOL_PATIENT_MS)
		loop_arm(&s->loop, timer, s->pool.asked_ms + POOL_QUIET_MS);
	else
		pool_turn(s);
}

void pool_want(struct server *s)
{
	uint64_t now = loop_now();

	if (s->pool.wanted_ms)
		return;
	s->pool.wanted_ms = now;
	loop_arm(&s->loop, &s->pool.turn, now);
}

void pool_begin(struct server *s)
{
	s->pool.turn.fire = turn;
	s->pool.looked_ms = loop_now();
	pool_want(s);
}

void pool_end(struct server *s)
{
	struct pool_shape *p, *next;

	for (p = s->pool.shapes; p; p = next) {
		next = p->next;
		free(p->template);
		free(p->text);
		free(p);
	}
	s->pool.shapes = NULL;
}
