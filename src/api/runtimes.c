/* SPDX-License-Identifier: MIT */
/* runtimes.c - see runtimes.h. */
#include "api/runtimes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/operation.h"
#include "base/log.h"
#include "base/str.h"

struct runtime *runtimes_add(struct server *s, const char *name)
{
	struct runtime *r = runtime_new(s, name);

	if (!r)
		return NULL;
	r->next = s->runtimes;
	s->runtimes = r;
	return r;
}

static void take_out(struct runtime *r)
{
	struct runtime **at = &r->server->runtimes;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
}

void runtimes_remove(struct runtime *r)
{
	take_out(r);
	runtime_free(r);
}

/* It is the newest of all for whoever has got it. */
void runtimes_name(struct runtime *r, char *name)
{
	struct server *s = r->server;

	take_out(r);
	r->next = s->runtimes;
	s->runtimes = r;
	free(r->name);
	r->name = name;
	free(take_ptr(&r->shape));
	free(take_ptr(&r->fresh));
	r->stamp = session_stamp(s->state, r->id);
	runtime_claimed(r);
}

unsigned runtimes_count(const struct server *s, bool all)
{
	unsigned n = 0;

	/* What never came to life is no session, and makes no room scarce. */
	for (const struct runtime *r = s->runtimes; r; r = r->next)
		n += r->state != RUNTIME_FAILED && (all || !r->shape);
	return n;
}

static struct runtime *known(struct server *s, const char *name)
{
	for (struct runtime *r = s->runtimes; r; r = r->next)
		if (str_eq(r->name, name) || (r->id[0] && str_eq(r->id, name)))
			return r;
	return NULL;
}

static struct runtime *known_id(struct server *s, const char *id)
{
	for (struct runtime *r = s->runtimes; r; r = r->next)
		if (str_eq(r->id, id) || operation_makes(r, id))
			return r;
	return NULL;
}

/* --- records --------------------------------------------------------------------------------- */

/* A start of somebody else's: wait for what becomes of it. */
static void adopt(struct runtime *r)
{
	if (r->state == RUNTIME_STARTING && !runtime_is_busy(r))
		operate(r, OPERATION_ADOPT, NULL, NULL, ANSWER_EMPTY);
}

/* A start that is under way, ours or another's, has a record before anybody answers at its port. */
static int take_record(struct server *s, const struct record *record, bool alive, struct err *e)
{
	struct runtime *r;

	if (!record->stays)
		return 0; /* of a `run`, which ends with its command */
	r = record->name ? known(s, record->name) : NULL;
	if (r && r->state == RUNTIME_STARTING)
		return 0; /* the job will say when it is there */
	if (!r)
		r = runtimes_add(s, record->name ? record->name : record->id);
	if (!r)
		return err_code(e, ENOMEM, "no memory");
	if (runtime_follow(r, record, alive, e) < 0)
		return -e->code;
	adopt(r);
	return 0;
}

static int each_record(const char *id, void *arg, struct err *e)
{
	struct server *s = arg;
	struct session *session = NULL;
	int alive, result;

	if (known_id(s, id))
		return 0;
	alive = session_is_alive(s->state, id, e);
	if (alive < 0)
		return alive;
	/* It may have gone since the directory was read. */
	result = session_open(s->state, id, false, &session, e);
	if (result == -ENOENT)
		return 0;
	if (result == 0)
		result = take_record(s, &session->record, alive, e);
	session_close(session);
	/* One that cannot be read must not hide all others. */
	if (result < 0) {
		log_warn("session %s is not taken in: %s", id, e->text);
		result = 0;
	}
	return result;
}

int runtimes_reload(struct runtime *r, struct err *e)
{
	struct session *session = NULL;
	int alive = session_is_alive(r->server->state, r->id, e), result;

	if (alive < 0)
		return alive;
	if (session_open(r->server->state, r->id, false, &session, e) < 0)
		return -e->code;
	result = runtime_follow(r, &session->record, alive, e);
	session_close(session);
	return result;
}

int runtimes_peek(struct runtime *r, struct err *e)
{
	struct session *session = NULL;
	int result;

	if (session_open(r->server->state, r->id, false, &session, e) < 0)
		return -e->code;
	result = runtime_read(r, &session->record, e);
	session_close(session);
	return result;
}

/* Others stop, pause and resume sessions too: `ohsandbox stop` knows of no daemon. NULL: it is gone. */
static struct runtime *current(struct runtime *r)
{
	uint64_t stamp;
	struct err e = { 0 };

	if (r->state == RUNTIME_FAILED || runtime_is_busy(r))
		return r;
	stamp = session_stamp(r->server->state, r->id);
	if (stamp && stamp == r->stamp)
		return r;
	if (runtimes_reload(r, &e) == -ENOENT) {
		runtimes_remove(r);
		return NULL;
	}
	if (e.code)
		log_warn("%s", e.text);
	r->stamp = e.code ? 0 : stamp;
	adopt(r);
	return r;
}

/* Those that are in the list, in order: each record is looked for among them. */
struct ids {
	struct server *server;
	size_t n;
	char sorted[][13];
};

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct ids *)NULL)->sorted[0]));
}

static struct ids *ids_of(struct server *s, struct err *e)
{
	struct ids *ids;
	size_t n = 0;

	for (const struct runtime *r = s->runtimes; r; r = r->next)
		n++;
	ids = calloc(1, sizeof(*ids) + n * sizeof(ids->sorted[0]));
	if (!ids) {
		(void)err_code(e, ENOMEM, "no memory");
		return NULL;
	}
	ids->server = s;
	for (const struct runtime *r = s->runtimes; r; r = r->next)
		memcpy(ids->sorted[ids->n++], r->id, sizeof(r->id));
	qsort(ids->sorted, ids->n, sizeof(ids->sorted[0]), compare_ids);
	return ids;
}

static int each_unknown(const char *id, void *arg, struct err *e)
{
	const struct ids *ids = arg;
	char key[sizeof(ids->sorted[0])] = "";

	(void)snprintf(key, sizeof(key), "%s", id);
	if (bsearch(key, ids->sorted, ids->n, sizeof(key), compare_ids))
		return 0;
	return each_record(id, ids->server, e);
}

int runtimes_refresh(struct server *s, struct err *e)
{
	autofree struct ids *ids = NULL;
	struct runtime *next;

	for (struct runtime *r = s->runtimes; r; r = next) {
		next = r->next;
		(void)current(r); /* gone or not, the list is right then */
	}
	ids = ids_of(s, e);
	return ids ? session_each(s->state, each_unknown, ids, e) : -e->code;
}

/* One that somebody else has started. Not by a prefix of its id, as a person would name it. */
static struct runtime *take_in(struct server *s, const char *name)
{
	struct session *session = NULL;
	struct err e = { 0 };
	char id[sizeof(session->record.id)] = "";

	/* The beginning of an id would be looked for among all of them. */
	if (!session_is_named(s->state, name))
		return NULL;
	if (session_open(s->state, name, false, &session, &e) < 0)
		return NULL; /* the most likely: there is none */
	if (str_eq(session->record.id, name) ||
	    (session->record.name && str_eq(session->record.name, name)))
		memcpy(id, session->record.id, sizeof(id));
	session_close(session);
	/* What cannot be read is not found, and the log says why. */
	if (id[0] && each_record(id, s, &e) < 0)
		log_warn("session '%s': %s", name, e.text);
	return id[0] ? known(s, name) : NULL;
}

struct runtime *runtimes_find(struct server *s, const char *name)
{
	struct runtime *r = known(s, name);

	if (r)
		r = current(r);
	if (!r)
		r = take_in(s, name);
	return r && r->shape ? NULL : r;
}

void runtimes_forget_failed(struct server *s)
{
	uint64_t now = loop_now();
	struct runtime *r, *next;
	unsigned n = 0;

	for (r = s->runtimes; r; r = next) {
		next = r->next;
		if (r->state != RUNTIME_FAILED || runtime_is_busy(r))
			continue;
		/* The newest come first. */
		if (++n > RUNTIME_FAILED_MAX || now - r->since_ms > RUNTIME_FAILED_MS)
			runtimes_remove(r);
	}
}
