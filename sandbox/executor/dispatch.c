/* SPDX-License-Identifier: MIT */
/* dispatch.c - see dispatch.h. */
#include "sandbox/executor/dispatch.h"

#include <stdlib.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/loop.h"

/* Each begins an action; dispatch_done() or dispatch_fail() follows, at once or later. */
static void (*const begin[ACTION_KINDS])(struct job *job) = {
	[ACTION_RUN] = act_run,	       [ACTION_READ] = act_read,     [ACTION_WRITE] = act_write,
	[ACTION_IPYTHON] = act_absent, [ACTION_BROWSE] = act_absent,
};

void dispatch_init(struct dispatch *d)
{
	*d = (struct dispatch) { .last = &d->first, .started_ms = loop_now() };
}

/* Whoever answers at once comes back here from within: the loop is in dispatch_next(). */
static void start(struct dispatch *d)
{
	d->started_ms = loop_now();
	begin[d->first->action.kind](d->first);
}

int dispatch_add(struct dispatch *d, struct job *job, struct err *e)
{
	if (d->n == DISPATCH_WAITING_MAX)
		return err_code(e, EAGAIN, "%d actions are waiting", DISPATCH_WAITING_MAX);
	job->next = NULL;
	*d->last = job;
	d->last = &job->next;
	if (d->n++ == 0)
		start(d);
	return 0;
}

static struct job *take_first(struct dispatch *d)
{
	struct job *job = d->first;

	d->first = job->next;
	if (!d->first)
		d->last = &d->first;
	d->n--;
	return job;
}

/* The reply first: it may bring the client's next request in, behind those that wait. */
static void finish(struct dispatch *d, struct job *job)
{
	action_clear(&job->action);
	free(job);
	if (d->first)
		start(d);
}

void dispatch_done(struct dispatch *d, struct observation *o)
{
	struct job *job = d->first;

	job->tell(job, o);
	observation_clear(o);
	finish(d, take_first(d));
}

void dispatch_fail(struct dispatch *d, const char *text)
{
	struct job *job = d->first;

	job->fail(job, text);
	finish(d, take_first(d));
}
