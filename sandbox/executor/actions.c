/* SPDX-License-Identifier: MIT */
/* actions.c - see actions.h. What is shown of it is in actions_show.c. */
#include "sandbox/executor/actions.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "sandbox/executor/cancel.h"
#include "sandbox/executor/server.h"

/* Read from the groups before the answer is told, or about the session as a whole after it. */
#define OF_LEAF                                                                       \
	(1u << METER_CPU_US | 1u << METER_PEAK | 1u << METER_OOM | 1u << METER_PIDS | \
	 1u << METER_PIDS_FULL | 1u << METER_PIDS_FULL_ABOVE)
#define OF_SESSION (METER_ALL & ~OF_LEAF)

static void refused(struct procs *ps, const struct ctl_refused *r);

void actions_init(struct actions *a, struct server *s)
{
	*a = (struct actions) { .server = s };
	meter_open(&a->meter, s->boot);
	leaves_init(&a->leaves, s);
	s->procs.refused = refused;
	a->insist.fire = cancel_insist;
}

/* --- the list --------------------------------------------------------------------------------- */

struct entry *actions_find(const struct actions *a, uint64_t id)
{
	struct entry *en = a->newest;

	while (en && en->id > id)
		en = en->older;
	return en && en->id == id ? en : NULL;
}

static bool has_ended(const struct entry *en)
{
	return en->state > ENTRY_RUNNING;
}

static void forget(struct actions *a, struct entry *en)
{
	if (en->newer)
		en->newer->older = en->older;
	else
		a->newest = en->older;
	if (en->older)
		en->older->newer = en->newer;
	else
		a->oldest = en->newer;
	violations_clear(&en->violations);
	free(en);
}

static void forget_oldest(struct actions *a)
{
	struct entry *en = a->oldest;

	while (en && !has_ended(en))
		en = en->newer;
	if (!en)
		return;
	a->n_ended--;
	forget(a, en);
}

/* What it is about, for who looks at a list. */
static const size_t subjects[ACTION_KINDS] = {
	[ACTION_RUN] = offsetof(struct action, run.command),
	[ACTION_READ] = offsetof(struct action, read.path),
	[ACTION_WRITE] = offsetof(struct action, write.path),
	[ACTION_EDIT] = offsetof(struct action, edit.path),
	[ACTION_IPYTHON] = offsetof(struct action, ipython.code),
};

static void describe(struct entry *en, const struct action *action)
{
	const struct text *text;
	size_t len;

	if (!subjects[action->kind])
		return;
	text = (const struct text *)(const void *)((const char *)action + subjects[action->kind]);
	len = text->len < sizeof(en->what) ? text->len : sizeof(en->what) - 1;
	if (text->at)
		memcpy(en->what, text->at, len);
}

int actions_ask(struct actions *a, struct job *job, struct err *e)
{
	struct entry *en = calloc(1, sizeof(*en));

	if (!en)
		return err_code(e, ENOMEM, "no memory for an action");
	*en = (struct entry) { .id = ++a->last_id,
			       .kind = job->action.kind,
			       .older = a->newest,
			       .asked_at = time(NULL),
			       .exit_code = ENTRY_UNKNOWN,
			       .cpu_us = ENTRY_UNKNOWN,
			       .peak_bytes = ENTRY_UNKNOWN,
			       .made = ENTRY_UNKNOWN,
			       .left = ENTRY_UNKNOWN,
			       .written = ENTRY_UNKNOWN,
			       .stored = ENTRY_UNKNOWN };
	en->is_static = en->kind == ACTION_RUN && job->action.run.is_static;
	describe(en, &job->action);
	if (a->newest)
		a->newest->newer = en;
	else
		a->oldest = en;
	a->newest = en;
	job->entry = en;
	return 0;
}

static void ended(struct actions *a, struct entry *en, enum entry_state state)
{
	if (has_ended(en))
		return;
	/* As long as it has not ended itself it is not what is forgotten. */
	if (a->n_ended == ACTIONS_KEPT)
		forget_oldest(a);
	a->n_ended++;
	en->state = en->cancelled ? ENTRY_CANCELLED : state;
	en->ended_us = clock_us();
	if (!en->began_us)
		en->began_us = en->ended_us;
	feeds_end(&a->server->feeds, en);
}

void actions_withdraw(struct actions *a, struct entry *en)
{
	en->cancelled = true;
	ended(a, en, ENTRY_CANCELLED);
}

bool actions_are_quiet(const struct actions *a)
{
	const struct server *s = a->server;
	int64_t ours = s->runs.shell.proc.asked + s->cells.kernel.proc.asked, all = 0;

	if (s->dispatch.in_hand || a->in_shell)
		return false;
	for (unsigned i = 1; i < s->boot->n_leaves; i++) {
		struct reading r;

		meter_read(&a->meter, i, 1u << METER_PIDS, &r);
		if (r.value[METER_PIDS] == METER_UNKNOWN)
			return false;
		all += r.value[METER_PIDS];
	}
	return s->boot->n_leaves && all == ours;
}

/* --- begin ------------------------------------------------------------------------------------ */

/* Which leaf it runs in. A process that is not there yet will be started in an empty one. */
static unsigned place(struct actions *a, const struct entry *en)
{
	struct server *s = a->server;
	struct proc *p = NULL;
	bool there = true;

	if (en->is_static) {
		p = &s->runs.once.proc;
		there = s->runs.once.state != SHELL_NONE;
	} else if (en->kind == ACTION_RUN) {
		p = &s->runs.shell.proc;
		there = s->runs.shell.state != SHELL_NONE;
	} else if (en->kind == ACTION_IPYTHON) {
		p = &s->cells.kernel.proc;
		there = s->cells.kernel.state != KERNEL_NONE;
	}
	if (p && !there)
		p->leaf = leaves_pick(&a->leaves);
	return p ? p->leaf : 0;
}

static void read_session(struct actions *a)
{
	meter_read(&a->meter, 0, OF_SESSION, &a->session);
}

void actions_begin(struct actions *a, struct job *job)
{
	struct entry *en = job->entry;

	en->state = ENTRY_RUNNING;
	en->began_us = clock_us();
	en->leaf = place(a, en);
	if (en->kind == ACTION_RUN && !en->is_static) {
		if (a->in_shell)
			en->of = a->in_shell->id;
		else
			a->in_shell = en;
	}
	/* The peak of a command that is looked after goes on. */
	if (!en->of)
		meter_reset(&a->meter, en->leaf);
	if (!a->quiet)
		read_session(a);
	en->before = a->session;
	meter_read(&a->meter, en->leaf, OF_LEAF, &en->before);
	en->shared = en->leaf && en->before.value[METER_PIDS] > 1;
	a->quiet = false;
	leaves_watch(&a->leaves);
}

/* --- what the filter refused -------------------------------------------------------------------- */

/* Whoever began last in what this process does, or looks after it. */
static struct entry *entry_under(const struct actions *a, uint32_t tag)
{
	const struct server *s = a->server;
	struct entry *en = a->newest;
	bool once = s->runs.once.proc.tag == tag, cell = s->cells.kernel.proc.tag == tag;

	for (; en; en = en->older)
		if (en->state != ENTRY_WAITING && !en->of && en->is_static == once &&
		    (en->kind == ACTION_IPYTHON) == cell &&
		    (en->kind == ACTION_RUN || en->kind == ACTION_IPYTHON))
			return en;
	return NULL;
}

static void refused(struct procs *ps, const struct ctl_refused *r)
{
	struct actions *a = &container_of(ps, struct server, procs)->actions;
	struct entry *en = entry_under(a, r->tag);
	struct violation v = { .kind = VIOLATED_FILTER, .call = r->call, .count = r->count };

	if (!en)
		return;
	if (r->call == CTL_CALLS_OTHER) {
		en->violations.unlisted += r->count;
		return;
	}
	memcpy(v.args, r->args, sizeof(v.args));
	violations_add(&en->violations, &v);
}

/* --- what it used ------------------------------------------------------------------------------ */

static void violated(struct entry *en, enum violation_kind kind, int64_t count)
{
	struct violation v = { .kind = kind, .count = (uint64_t)count };

	if (count > 0) /* ENTRY_UNKNOWN is less */
		violations_add(&en->violations, &v);
}

static int64_t peak_of(const struct actions *a, const struct entry *en, const struct reading *r)
{
	int64_t grown = meter_grown(&en->before, r, METER_PEAK);

	if (en->of || grown == METER_UNKNOWN)
		return ENTRY_UNKNOWN;
	/* Where it cannot be set back, it says something of this action only when it rose. */
	if (!a->meter.peak_resets[en->leaf])
		return grown > 0 ? r->value[METER_PEAK] : ENTRY_UNKNOWN;
	return grown;
}

/* What its leaf has counted. */
static void count(struct actions *a, struct entry *en)
{
	int64_t residents = en->leaf && !en->is_static, forks, above;
	struct reading r;

	meter_read(&a->meter, en->leaf, OF_LEAF, &r);
	en->cpu_us = meter_grown(&en->before, &r, METER_CPU_US);
	en->peak_bytes = peak_of(a, en, &r);
	if (en->leaf && r.value[METER_PIDS] != METER_UNKNOWN)
		en->left = r.value[METER_PIDS] > residents ? r.value[METER_PIDS] - residents : 0;
	violated(en, VIOLATED_MEMORY, meter_grown(&en->before, &r, METER_OOM));
	forks = meter_grown(&en->before, &r, METER_PIDS_FULL);
	above = meter_grown(&en->before, &r, METER_PIDS_FULL_ABOVE);
	if (forks != METER_UNKNOWN && above != METER_UNKNOWN)
		violated(en, VIOLATED_PIDS_ABOVE, above - forks);
	leaves_look(&a->leaves, en->leaf, r.value[METER_PIDS_FULL]);
}

void actions_forks_refused(struct actions *a, unsigned leaf, int64_t count)
{
	struct entry *en = a->newest;

	/* Whoever began last in it: also if it has been answered, and left them behind. */
	while (en && (en->state == ENTRY_WAITING || en->leaf != leaf || en->of))
		en = en->older;
	if (en)
		violated(en, VIOLATED_PIDS, count);
}

static void finish(struct actions *a, struct entry *en, enum entry_state state, int64_t exit_code)
{
	if (has_ended(en))
		return;
	en->exit_code = exit_code;
	count(a, en);
	if (a->in_shell == en) {
		a->in_shell = NULL;
		a->last_in_shell = en->id;
	}
	ended(a, en, state);
}

/* --- end -------------------------------------------------------------------------------------- */

void actions_told(struct actions *a, struct entry *en)
{
	const struct reading *now = &a->session;

	if (!has_ended(en))
		return; /* its command goes on */
	read_session(a);
	en->made = meter_grown(&en->before, now, METER_MADE);
	violated(en, VIOLATED_CPU, meter_grown(&en->before, now, METER_THROTTLED_US));
	violated(en, VIOLATED_NO_ROUTE, meter_grown(&en->before, now, METER_NO_ROUTE));
	violated(en, VIOLATED_UNREACHABLE, meter_grown(&en->before, now, METER_UNREACHABLE));
	leaves_settle(&a->leaves);
	a->quiet = actions_are_quiet(a);
	if (!a->quiet)
		leaves_watch(&a->leaves);
}

void actions_answer(struct actions *a, struct job *job, const struct observation *o)
{
	struct entry *en = job->entry;
	bool has_code = o && o->kind == OBSERVED_RUN && o->exit_code >= 0;

	/* A command that is answered for before it is done is not done. */
	if (en == a->in_shell && a->server->runs.shell.state == SHELL_BUSY)
		return;
	finish(a, en, o ? ENTRY_DONE : ENTRY_FAILED, has_code ? o->exit_code : ENTRY_UNKNOWN);
}

static int64_t status_of(const struct shell *sh)
{
	if (sh->state != SHELL_NONE)
		return sh->report.exit_code;
	return WIFSIGNALED(sh->wait_status) ? 128 + WTERMSIG(sh->wait_status)
					    : WEXITSTATUS(sh->wait_status);
}

void actions_shell_done(struct actions *a, const struct shell *sh)
{
	struct server *s = a->server;
	struct job *job = s->dispatch.first;
	struct entry *en = a->in_shell;

	if (sh == &s->runs.once)
		return; /* its answer comes at once */
	if (!en)
		return;
	finish(a, en, ENTRY_DONE, status_of(sh));
	/* Answered already: nobody else will look at the rest. */
	if (!job || job->entry != en)
		actions_told(a, en);
}

void actions_shell_wrote(struct actions *a, const struct shell *sh)
{
	const struct server *s = a->server;
	bool once = sh == &s->runs.once;
	const struct job *job = s->dispatch.first;
	struct entry *en = NULL;

	/* A static command's shell says it before its end, the other one after it. */
	if (!once)
		en = actions_find(a, a->last_in_shell);
	else if (job && job->entry->is_static)
		en = actions_find(a, job->entry->id);
	if (!en)
		return;
	en->written = sh->written.bytes;
	en->stored = sh->written.stored;
}
