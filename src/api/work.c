/* SPDX-License-Identifier: MIT */
/* work.c - see work.h. All of it runs in a child, which has a copy of what the daemon knew. */
#include "api/work.h"

#include <poll.h>
#include <string.h>

#include "api/idle.h"
#include "api/order.h"
#include "api/service.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "launch/decide.h"
#include "launch/lifecycle.h"
#include "launch/pause.h"
#include "launch/start.h"
#include "launch/stop.h"
#include "launch/supervise.h"

#define RELEASE_WAIT_MS 50

static const struct operation *operation_of(const struct job *j)
{
	return j->arg;
}

static const struct runtime *runtime_of(const struct job *j)
{
	return operation_runtime(operation_of(j));
}

/* A descriptor of our own: the daemon's was closed with all others. */
static int open_state(const struct job *j, struct err *e)
{
	return state_open(runtime_of(j)->server->state_path, e);
}

/* By its record, as any later process does it: the session's lock must not be ours any more. */
static int on_service(int state, const char *id, struct buf *log, struct err *e)
{
	struct session *s = NULL;
	struct label label = { 0 };
	int result;

	if (session_open(state, id, false, &s, e) < 0)
		return -e->code;
	result = label_parse(s->record.label, &label, e);
	if (result == 0)
		result = log ? service_await(&s->record, &label, log, e)
			     : service_start(&s->record, &label, e);
	label_clear(&label);
	session_close(s);
	return result;
}

/* A session whose program does not come up is of no use to who wanted that. */
static void end_useless(int state, const char *id)
{
	struct err later = { 0 };

	if (stop_session(state, id, false, &later) < 0)
		log_error("%s", later.text);
}

/* From here on nothing is a matter of what was asked for: what the kernel says of a file or a right is no
 * client's fault. */
static int host_fault(struct err *e)
{
	static const int theirs[] = { EACCES, EPERM, EINVAL, E2BIG, EFBIG };

	for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
		if (e->code == theirs[i])
			e->code = EIO;
	return -e->code;
}

/* What is told of a session before it answers: its id, by which its record is found. */
static void note_id(struct launch *l)
{
	struct job *j = l->born_arg;

	memcpy(j->result->id, l->session->record.id, sizeof(j->result->id));
}

/* While a session is on the disk, nobody need listen at its ports. */
static bool is_sessions_port(const void *arg, uint16_t port)
{
	const struct server *s = arg;

	for (const struct runtime *r = s->runtimes; r; r = r->next) {
		if (r->port == port)
			return true;
		for (unsigned i = 0; i < r->n_ports; i++)
			if (r->ports[i].host == port)
				return true;
	}
	return false;
}

static int bring_up(struct order *o, struct job *j, struct err *e)
{
	const struct listen_kept kept = { is_sessions_port, runtime_of(j)->server };
	autoclose int state = open_state(j, e);
	struct decision d = { 0 };
	struct launch l;
	struct laps laps;
	int result;

	if (state < 0)
		return state;
	laps_start(&laps);
	/* The daemon swept when it began, and does as sessions end. */
	if (decide(&o->request, o->policy, &laps, &d, e) < 0)
		return e->code == EACCES ? host_fault(e)
					 : -e->code; /* the policy's refusals are EPERM */
	decision_warn(&d);
	launch_init(&l, state, d.plan);
	l.kept = &kept;
	l.born = note_id;
	l.born_arg = j;
	result = start_session(&l, &laps, e);
	if (result < 0)
		result = host_fault(e);
	supervise_signals_end(); /* whoever cancels what follows ends us */
	launch_clear(&l);
	decision_clear(&d);
	if (result == 0) {
		result = on_service(state, j->result->id, NULL, e);
		if (result < 0)
			end_useless(state, j->result->id);
	}
	if (result < 0)
		j->result->id[0] = '\0';
	j->result->value = result > 0 ? WORK_GOES_ON : 0;
	return result < 0 ? result : 0;
}

static int start(struct job *j, int out, const int *fds, struct err *e)
{
	const struct runtime *r = runtime_of(j);
	struct order o;
	int result;

	(void)out;
	(void)fds;
	result = order_make(r->server->config, operation_body(operation_of(j)),
			    r->shape ? NULL : r->name, r->shape, &o, e);
	if (result == 0)
		result = bring_up(&o, j, e);
	order_clear(&o);
	return result;
}

static int resume(struct job *j, int out, const int *fds, struct err *e)
{
	autoclose int state = open_state(j, e);
	const char *id = runtime_of(j)->id;
	unsigned n_listeners = (unsigned)(fds[0] >= 0) + (unsigned)(fds[1] >= 0);
	struct laps laps;
	int result;

	(void)out;
	laps_start(&laps);
	if (state < 0 || resume_session_on(state, id, fds, n_listeners, &laps, e) < 0)
		return host_fault(e);
	supervise_signals_end();
	result = on_service(state, id, NULL, e);
	j->result->value = result > 0 ? WORK_GOES_ON : 0;
	return result < 0 ? result : 0;
}

int work_await(struct job *j, int out, const int *fds, struct err *e)
{
	autoclose int state = open_state(j, e);
	autobuf struct buf log = { 0 };
	struct err later = { 0 };
	int result;

	(void)fds;
	if (state < 0)
		return state;
	result = on_service(state, runtime_of(j)->id, &log, e);
	if (result == 0)
		return 0;
	if (io_write_all(out, buf_str(&log), log.len, &later) < 0)
		log_warn("%s", later.text); /* its last words are in e */
	if (operation_kind_of(operation_of(j)) == OPERATION_START)
		end_useless(state, runtime_of(j)->id);
	return result;
}

static int pause_as(struct job *j, enum pause_form form, struct err *e)
{
	autoclose int state = open_state(j, e);

	return state < 0 ? state : pause_session(state, runtime_of(j)->id, form, e);
}

/* Where a host cannot freeze, what a client asks for is kept by the other form. */
static int freeze(struct job *j, int out, const int *fds, struct err *e)
{
	int result = pause_as(j, PAUSE_FREEZE, e);

	(void)out;
	(void)fds;
	return result == -EOPNOTSUPP ? pause_as(j, PAUSE_DISK, e) : result;
}

static int pause_to_disk(struct job *j, int out, const int *fds, struct err *e)
{
	(void)out;
	(void)fds;
	return pause_as(j, PAUSE_DISK, e);
}

/* What was asked for between the question and this is lost to nobody but for a moment. */
static bool is_wanted(const struct runtime *r)
{
	struct idle_ask ask = idle_ask_of(r);

	if (!r->reclaim_idle_ms)
		return false;
	idle_ask_all(&ask, 1);
	return ask.idle_ms < r->reclaim_idle_ms;
}

static int stop(struct job *j, int out, const int *fds, struct err *e)
{
	autoclose int state = open_state(j, e);

	(void)out;
	(void)fds;
	if (state < 0)
		return state;
	/* Somebody else was faster: it is gone, as it was wanted. */
	if (stop_session(state, runtime_of(j)->id, false, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	return 0;
}

static int release(struct job *j, int out, const int *fds, struct err *e)
{
	autoclose int state = open_state(j, e);

	(void)out;
	(void)fds;
	if (state < 0)
		return state;
	/* Who ended it, by a command of his own, may still be at it: let him. */
	(void)poll(NULL, 0, RELEASE_WAIT_MS);
	return lifecycle_sweep(state, e);
}

static int reclaim(struct job *j, int out, const int *fds, struct err *e)
{
	if (is_wanted(runtime_of(j))) {
		log_info("session %s is in use again", runtime_of(j)->id);
		return 0;
	}
	return runtime_of(j)->reclaim_stops ? stop(j, out, fds, e) : pause_as(j, PAUSE_ASLEEP, e);
}

/* Its starter is still at it, or was killed; then nobody will ever hear of it again. */
static int adopt(struct job *j, int out, const int *fds, struct err *e)
{
	autoclose int state = open_state(j, e);

	(void)out;
	(void)fds;
	return state < 0 ? state : start_adopt(state, runtime_of(j)->id, e);
}

int (*work_of(enum operation_kind kind))(struct job *j, int out, const int *fds, struct err *e)
{
	static int (*const works[])(struct job *, int, const int *, struct err *) = {
		[OPERATION_START] = start,     [OPERATION_RESUME] = resume,
		[OPERATION_FREEZE] = freeze,   [OPERATION_PAUSE] = pause_to_disk,
		[OPERATION_RECLAIM] = reclaim, [OPERATION_STOP] = stop,
		[OPERATION_RELEASE] = release, [OPERATION_ADOPT] = adopt,
	};

	return works[kind];
}
