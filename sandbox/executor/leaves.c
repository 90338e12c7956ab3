/* SPDX-License-Identifier: MIT */
/* leaves.c - see leaves.h. */
#include "sandbox/executor/leaves.h"

#include <sys/ioctl.h>

#include "sandbox/executor/server.h"

static int64_t pids_in(const struct leaves *l, unsigned leaf)
{
	struct reading r;

	meter_read(&l->server->actions.meter, leaf, 1u << METER_PIDS, &r);
	return r.value[METER_PIDS];
}

/* A process of the server's own is there, or about to be. */
static bool is_taken(const struct leaves *l, unsigned leaf)
{
	const struct server *s = l->server;

	return (s->runs.shell.state != SHELL_NONE && s->runs.shell.proc.leaf == leaf) ||
	       (s->runs.once.state != SHELL_NONE && s->runs.once.proc.leaf == leaf) ||
	       (s->cells.kernel.state != KERNEL_NONE && s->cells.kernel.proc.leaf == leaf) ||
	       (l->moving && l->move_to == leaf) || l->use[leaf].clearing;
}

unsigned leaves_pick(const struct leaves *l)
{
	for (unsigned i = 1; i < l->server->boot->n_leaves; i++) {
		int64_t pids;

		if (is_taken(l, i))
			continue;
		/* Not counted here: then each of our processes has one, and what it leaves behind is
		 * not seen. */
		pids = pids_in(l, i);
		if (pids == 0 || pids == METER_UNKNOWN)
			return i;
	}
	return 0;
}

/* --- asked of init ---------------------------------------------------------------------------- */

static void moved(struct proc *p, struct ctl_message *m)
{
	struct leaves *l = container_of(p, struct leaves, move);
	struct shell *shell = &l->server->runs.shell;

	l->moving = false;
	/* It may have ended meanwhile, and a new one started; or the kernel would not: it shares. */
	if (m->answered.code == 0 && shell->state != SHELL_NONE)
		shell->proc.leaf = l->move_to;
	dispatch_release(&l->server->dispatch);
}

void leaves_settle(struct leaves *l)
{
	struct ctl_message m = { .kind = CTL_MOVE };
	struct shell *shell = &l->server->runs.shell;
	struct err e = { 0 };
	unsigned to;

	if (shell->state != SHELL_IDLE || l->moving || l->use[shell->proc.leaf].clearing ||
	    pids_in(l, shell->proc.leaf) <= 1)
		return;
	to = leaves_pick(l);
	if (!to)
		return;
	m.ask.of = shell->proc.tag;
	m.ask.leaf = to;
	if (procs_ask(&l->server->procs, &l->move, &m, &e) < 0) {
		l->server->procs.broken = true; /* init cannot be reached */
		return;
	}
	l->moving = true;
	l->move_to = to;
	dispatch_hold(&l->server->dispatch);
}

static int64_t refused_in(const struct leaves *l, unsigned leaf)
{
	struct reading r;

	meter_read(&l->server->actions.meter, leaf, 1u << METER_PIDS_FULL, &r);
	return r.value[METER_PIDS_FULL];
}

/* Forks were refused: whoever they were of hears of it once. */
static bool more_refused(struct leaves *l, unsigned leaf, int64_t refused)
{
	struct leaf_use *u = &l->use[leaf];

	if (refused == METER_UNKNOWN || refused <= u->refused)
		return false;
	actions_forks_refused(&l->server->actions, leaf, refused - u->refused);
	u->refused = refused;
	return true;
}

static void cleared(struct proc *p, struct ctl_message *m)
{
	struct leaf_use *u = container_of(p, struct leaf_use, ask);
	struct server *s = u->server;
	struct leaves *l = &s->actions.leaves;
	unsigned leaf = (unsigned)(u - l->use);

	(void)m; /* what does not die stays in its leaf, which is then no empty one */
	/* None of them could fork any more. */
	(void)more_refused(l, leaf, refused_in(l, leaf));
	u->clearing = false;
	/* The interruption may have hit its report, which is then lost: it is asked again. */
	if (u->interrupts && s->runs.shell.state == SHELL_BUSY)
		shell_ask(&s->runs.shell);
	dispatch_release(&s->dispatch);
}

void leaves_clear(struct leaves *l, unsigned leaf, const struct proc *spare)
{
	struct leaf_use *u = &l->use[leaf];
	struct ctl_message m = { .kind = CTL_CLEAR };
	const struct shell *shell = &l->server->runs.shell;
	struct err e = { 0 };

	if (u->clearing)
		return;
	u->interrupts = spare == &shell->proc && shell->state == SHELL_BUSY;
	m.ask.of = spare ? spare->tag : 0;
	m.ask.leaf = leaf;
	m.ask.interrupt = u->interrupts;
	/* Without leaves, what is in the foreground of the shell's terminal. */
	if (!l->server->boot->n_leaves && spare == &shell->proc)
		(void)ioctl(shell->terminal.fd, TIOCGPGRP, &m.ask.group); /* none, if it is gone */
	if (procs_ask(&l->server->procs, &u->ask, &m, &e) < 0) {
		l->server->procs.broken = true;
		return;
	}
	u->clearing = true;
	dispatch_hold(&l->server->dispatch);
}

/* --- a leaf that is full ---------------------------------------------------------------------- */

/* The process of ours that lives on in a leaf, or NULL. */
static const struct proc *resident(const struct leaves *l, unsigned leaf)
{
	const struct server *s = l->server;

	if (s->runs.shell.state != SHELL_NONE && s->runs.shell.proc.leaf == leaf)
		return &s->runs.shell.proc;
	if (s->cells.kernel.state != KERNEL_NONE && s->cells.kernel.proc.leaf == leaf)
		return &s->cells.kernel.proc;
	return NULL;
}

void leaves_look(struct leaves *l, unsigned leaf, int64_t refused)
{
	/* In the first there is only what the executor itself starts, one by one. */
	if (more_refused(l, leaf, refused) && leaf)
		leaves_clear(l, leaf, resident(l, leaf));
}

static void look_at_all(struct timer *timer)
{
	struct leaves *l = container_of(timer, struct leaves, look);

	for (unsigned i = 1; i < l->server->boot->n_leaves; i++)
		leaves_look(l, i, refused_in(l, i));
	if (!actions_are_quiet(&l->server->actions))
		leaves_watch(l);
}

void leaves_watch(struct leaves *l)
{
	const struct ctl_boot *b = l->server->boot;

	if (b->n_leaves && b->leaves[0].counter[CTL_COUNT_PIDS_EVENTS] >= 0 && !l->look.armed)
		loop_arm(&l->server->loop, &l->look, loop_time(&l->server->loop) + LEAVES_LOOK_MS);
}

void leaves_init(struct leaves *l, struct server *s)
{
	*l = (struct leaves) { .server = s, .move.answer = moved, .look.fire = look_at_all };
	for (unsigned i = 0; i < CTL_LEAVES; i++) {
		l->use[i] = (struct leaf_use) { .server = s, .ask.answer = cleared };
		l->use[i].refused = refused_in(l, i);
	}
}
