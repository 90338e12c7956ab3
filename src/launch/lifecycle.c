/* SPDX-License-Identifier: MIT */
/* lifecycle.c - the table of stages and the walks over it; see lifecycle.h. */
#include "launch/lifecycle.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/stages.h"
#include "session/overlay.h"
#include "session/record.h"
#include "session/remove.h"

#define BORN_TURN_MS 5

struct stage {
	const char *name;
	int (*up)(struct launch *l, struct err *e);
	int (*down)(const struct ending *x, struct err *e);
};

/* The order: what is shared and may take long comes before anything that would have to be undone;
 * the record before all that it names; the clone as early as it can be, so that the child mounts
 * while the host makes what it needs only later: groups that it enters by itself, the network. */
static const struct stage stages[] = {
	{ "base", stage_base_up, NULL },
	{ "root", stage_root_up, NULL },
	{ "slot", stage_slot_up, stage_slot_down },
	{ "listen", stage_listen_up, NULL },
	{ "session", stage_session_up, stage_session_down },
	{ "overlay", stage_overlay_up, NULL },
	{ "cgroup", stage_cgroup_up, stage_cgroup_down },
	{ "ids", stage_ids_up, NULL },
	{ "clone", stage_clone_up, stage_clone_down },
	{ "groups", stage_groups_up, NULL },
	{ "network", stage_network_up, stage_network_down },
	{ "boot", stage_boot_up, NULL },
	{ "go", stage_go_up, NULL },
};

#ifndef OHS_TEST_HOOKS
#define OHS_TEST_HOOKS 0 /* configure --enable-test-hooks */
#endif

/* OHS_FAIL_STAGE and OHS_KILL_STAGE are "NAME" (behind that stage is up), "before:NAME" or
 * "down:NAME" (before it is taken down). */
static bool hook_is(const char *variable, const char *when, const char *stage)
{
	const char *value = getenv(variable);
	const char *name = value ? strrchr(value, ':') : NULL;

	if (!value)
		return false;
	if (!name)
		return str_eq(when, "after") && str_eq(value, stage);
	return (size_t)(name - value) == strlen(when) && str_starts(value, when) &&
	       str_eq(name + 1, stage);
}

static int test_hook(const char *when, const char *stage, struct err *e)
{
	if (!OHS_TEST_HOOKS)
		return 0;
	if (hook_is("OHS_KILL_STAGE", when, stage))
		(void)raise(SIGKILL);
	if (hook_is("OHS_FAIL_STAGE", when, stage))
		return err_code(e, ECANCELED, "made to fail %s stage '%s'", when, stage);
	return 0;
}

void launch_init(struct launch *l, int state, struct plan *plan)
{
	*l = (struct launch) { .plan = plan,
			       .state = state,
			       .base = BASE_NONE,
			       .netns = NETNS_NONE,
			       .signals = -1,
			       .gate = -1,
			       .ctl = -1,
			       .pidfd = -1 };
	cgroup_init(&l->cgroup);
	l->inside.userns = l->inside.owner_userns = -1;
	l->inside.gate = l->inside.gate_host = l->inside.ctl = l->inside.program = l->inside.lock =
		-1;
	l->record.slot = SESSION_NO_SLOT;
}

static int one_up(struct launch *l, const struct stage *s, struct err *e)
{
	uint64_t start = clock_ns();

	if (test_hook("before", s->name, e) < 0 || s->up(l, e) < 0 ||
	    test_hook("after", s->name, e) < 0)
		return -e->code;
	l->times[l->n_times++] = (struct stage_time) { s->name, clock_ns() - start };
	return 0;
}

/* From stage `n` - 1 back to the first. */
static int walk_down(struct ending *x, size_t n, struct err *e)
{
	struct err first = { 0 };

	while (n-- > 0) {
		struct err here = { 0 };

		if (!stages[n].down)
			continue;
		if (test_hook("down", stages[n].name, &here) >= 0 && stages[n].down(x, &here) >= 0)
			continue;
		x->failed = true;
		(void)err_wrap(&here, "session %s: end of stage '%s'", x->record->id,
			       stages[n].name);
		err_keep(&first, &here);
	}
	if (!first.code)
		return 0;
	*e = first;
	return -first.code;
}

/* A start that failed leaves nothing: not even layers that were to be kept, for nothing ran. What was
 * to be brought back rests on. */
static void roll_back(struct launch *l, size_t reached)
{
	struct ending x = { .record = l->session ? &l->session->record : &l->record,
			    .session = l->session,
			    .remove = !l->resumes,
			    .rests = l->resumes };
	struct err e = { 0 };

	if (walk_down(&x, reached, &e) < 0 || (l->resumes && !l->session->record.rested &&
					       session_note(l->session, &e, "rested") < 0))
		log_error("%s", e.text);
}

int lifecycle_up(struct launch *l, struct err *e)
{
	_Static_assert(ARRAY_LEN(stages) <= LIFECYCLE_STAGES_MAX,
		       "the times of all stages have room");

	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		if (one_up(l, &stages[i], e) < 0) {
			/* That stage may have got half-way. */
			roll_back(l, i + 1);
			return -e->code;
		}
	}
	return 0;
}

int lifecycle_down(struct session *s, bool remove, struct err *e)
{
	struct ending x = { .record = &s->record, .session = s, .remove = remove };

	if (walk_down(&x, ARRAY_LEN(stages), e) < 0)
		return -e->code;
	return s->record.keep && !remove ? stages_forget(s, e) : 0;
}

int lifecycle_rest(struct session *s, struct err *e)
{
	struct ending x = { .record = &s->record, .session = s, .rests = true };
	bool wakes;

	if (walk_down(&x, ARRAY_LEN(stages), e) < 0)
		return -e->code;
	/* Of one that was frozen, or ended by itself, too; and that is nobody's wish. */
	wakes = !s->record.paused;
	if (!str_eq(s->record.paused, RECORD_ON_DISK) &&
	    session_note(s, e, "paused " RECORD_ON_DISK) < 0)
		return -e->code;
	if (wakes && session_note(s, e, "wakes") < 0)
		return -e->code;
	return session_note(s, e, "rested");
}

int lifecycle_end(struct session *s, struct err *e)
{
	int r;

	/* Whoever starts it holds the lock, and will till the session ends: so it is not waited for before
	 * there is a process to end. */
	while (!s->record.init_pid) {
		r = session_lock(s, false, e);
		if (r != -EBUSY)
			return r;
		(void)poll(NULL, 0, BORN_TURN_MS);
		r = session_claim(s, true, e);
		if (r < 0)
			return r;
	}
	if (lifecycle_kill(&s->record, e) < 0)
		return -e->code;
	return session_lock(s, true, e);
}

struct sweep {
	int state;
	struct err first;
};

/* Its supervisor is dead, and what is left of its processes is about to follow; not before they
 * have let go of the lock can it be taken down. */
static int take_over(struct session *s, struct err *e)
{
	if (lifecycle_kill(&s->record, e) < 0 || session_lock(s, true, e) < 0)
		return -e->code;
	/* Somebody else may have been faster. */
	return session_exists(s) ? lifecycle_down(s, false, e) : 0;
}

/* It is to be brought back. Whoever is about to do that, or to pause it, does what there is to do. */
static int put_to_rest(struct session *s, struct err *e)
{
	int alive;

	if (session_claim(s, false, e) < 0)
		return e->code == EBUSY || e->code == ENOENT ? 0 : -e->code;
	alive = session_is_alive(s->state, s->record.id, e);
	if (alive != 0)
		return alive < 0 ? alive : 0;
	if (lifecycle_kill(&s->record, e) < 0 || session_lock(s, true, e) < 0)
		return -e->code;
	return lifecycle_rest(s, e);
}

static int sweep_one(const char *id, void *arg, struct err *e)
{
	struct sweep *sweep = arg;
	struct session *s = NULL;
	int r, alive = session_is_alive(sweep->state, id, e);

	if (alive != 0)
		return alive < 0 ? alive : 0;
	if (session_open(sweep->state, id, false, &s, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	if (s->record.rested)
		r = 0;
	else if (s->record.paused || s->record.persists)
		r = put_to_rest(s, e);
	else
		r = take_over(s, e);
	if (r < 0)
		err_keep(&sweep->first, e);
	session_close(s);
	return 0;
}

int lifecycle_sweep(int state, struct err *e)
{
	struct sweep sweep = { .state = state };

	if (session_each(state, sweep_one, &sweep, e) < 0)
		return -e->code;
	if (sweep.first.code) {
		*e = sweep.first;
		return -e->code;
	}
	return session_sweep_unborn(state, e);
}

void launch_leave_listeners(struct launch *l)
{
	for (unsigned i = 0; i < l->n_listeners; i++)
		drop_fd(&l->listeners[i]);
	for (unsigned i = 0; i < l->n_publish; i++)
		drop_fd(&l->publish[i].fd);
	l->n_listeners = l->n_publish = 0;
}

void launch_clear(struct launch *l)
{
	struct inside *in = &l->inside;
	int *const fds[] = { &l->signals,	&l->gate,  &l->ctl,  &l->pidfd,	  &in->userns,
			     &in->owner_userns, &in->gate, &in->ctl, &in->program };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		drop_fd(fds[i]);
	launch_leave_listeners(l);
	netns_close(&l->netns);
	ids_reap(l->userns, ARRAY_LEN(l->userns));
	overlay_close(l->plan);
	cgroup_clear(&l->cgroup);
	base_clear(&l->base);
	free(take_ptr(&l->skeleton));
	record_clear(&l->record);
	session_close(l->session);
	l->session = NULL;
}
