/* SPDX-License-Identifier: MIT */
/* dispatch.c - see dispatch.h. */
#include "sandbox/executor/dispatch.h"

#include <stdlib.h>

#include "base/loop.h"
#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

/* Each begins an action; dispatch_done() or dispatch_fail() follows, at once or later. */
static void (*const begin[ACTION_KINDS])(struct job *job) = {
	[ACTION_RUN] = act_run,	  [ACTION_READ] = act_read,	  [ACTION_WRITE] = act_write,
	[ACTION_EDIT] = act_edit, [ACTION_IPYTHON] = act_ipython, [ACTION_BROWSE] = act_browse,
};

void dispatch_init(struct dispatch *d)
{
	*d = (struct dispatch) { .last = &d->first, .used_ms = loop_now() };
}

/* Whoever answers at once comes back here from within: the loop is in finish(). */
static void start(struct dispatch *d)
{
	struct job *job = d->first;

	if (!job || d->in_hand || d->held)
		return;
	d->in_hand = true;
	actions_begin(&job->server->actions, job);
	begin[job->action.kind](job);
}

int dispatch_add(struct dispatch *d, struct job *job, struct err *e)
{
	if (d->n == DISPATCH_WAITING_MAX)
		return err_code(e, EAGAIN, "%d actions are waiting", DISPATCH_WAITING_MAX);
	if (actions_ask(&job->server->actions, job, e) < 0)
		return -e->code;
	job->next = NULL;
	*d->last = job;
	d->last = &job->next;
	d->n++;
	start(d);
	return 0;
}

static struct job *take_out(struct dispatch *d, const struct entry *en)
{
	struct job **at = &d->first, *job;

	while (*at && (*at)->entry != en)
		at = &(*at)->next;
	job = *at;
	if (!job || (job == d->first && d->in_hand))
		return NULL;
	*at = job->next;
	if (!*at)
		d->last = at;
	d->n--;
	return job;
}

static void say_cancelled(const struct action *a, struct observation *o)
{
	if (a->kind != ACTION_RUN) {
		o->kind = OBSERVED_ERROR;
		buf_puts(&o->content, "The action was cancelled before it began.");
		return;
	}
	/* Clients take nothing else for a hidden command. */
	*o = (struct observation) { .kind = OBSERVED_RUN,
				    .command = a->run.command,
				    .exit_code = -1,
				    .background = -1 };
	buf_puts(&o->suffix, "\n[The command was cancelled before it began.]");
}

void dispatch_withdraw(struct dispatch *d, struct entry *en)
{
	struct job *job = take_out(d, en);
	struct observation o = { 0 };

	if (!job)
		return;
	say_cancelled(&job->action, &o);
	actions_withdraw(&job->server->actions, en);
	job->tell(job, &o);
	observation_clear(&o);
	action_clear(&job->action);
	free(job);
}

void dispatch_hold(struct dispatch *d)
{
	d->held++;
}

void dispatch_release(struct dispatch *d)
{
	d->held--;
	start(d);
}

static struct job *take_first(struct dispatch *d)
{
	struct job *job = d->first;

	d->first = job->next;
	if (!d->first)
		d->last = &d->first;
	d->n--;
	d->in_hand = false;
	d->used_ms = loop_now();
	return job;
}

/* The reply first: it may bring the client's next request in, behind those that wait. */
static void finish(struct dispatch *d, struct job *job)
{
	actions_told(&job->server->actions, job->entry);
	action_clear(&job->action);
	free(job);
	start(d);
}

void dispatch_done(struct dispatch *d, struct observation *o)
{
	struct job *job = d->first;

	actions_answer(&job->server->actions, job, o);
	job->tell(job, o);
	observation_clear(o);
	finish(d, take_first(d));
}

void dispatch_fail(struct dispatch *d, const char *text)
{
	struct job *job = d->first;

	actions_answer(&job->server->actions, job, NULL);
	job->fail(job, text);
	finish(d, take_first(d));
}
