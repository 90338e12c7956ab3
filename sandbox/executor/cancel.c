/* SPDX-License-Identifier: MIT */
/* cancel.c - see cancel.h.
 *
 * What a command has started is killed, and the shell that started it is interrupted, so that it does
 * not go on with the next: it lives on with its directory and variables. */
#include "sandbox/executor/cancel.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "sandbox/executor/server.h"

static void interrupt_shell(struct actions *a)
{
	struct server *s = a->server;
	struct shell *shell = &s->runs.shell;

	loop_arm(&s->loop, &a->insist, loop_time(&s->loop) + CANCEL_AGAIN_MS);
	if (shell->state == SHELL_BUSY)
		leaves_clear(&a->leaves, shell->proc.leaf, &shell->proc);
}

static const char *cancel_in_shell(struct actions *a, struct entry *en)
{
	enum shell_state state = a->server->runs.shell.state;

	if (state != SHELL_BUSY && state != SHELL_STARTING)
		return "the action is about to end";
	if (!en->cancelled)
		a->cancel_turns = 0;
	en->cancelled = true;
	interrupt_shell(a);
	return NULL;
}

static const char *cancel_static(struct actions *a, struct entry *en)
{
	struct server *s = a->server;

	en->cancelled = true;
	/* Its shell with its terminal's processes, and what else is in its leaf. */
	procs_signal(&s->procs, &s->runs.once.proc, SIGKILL, true);
	if (s->boot->n_leaves && s->runs.once.proc.leaf)
		leaves_clear(&a->leaves, s->runs.once.proc.leaf, NULL);
	return NULL;
}

static const char *cancel_cell(struct actions *a, struct entry *en)
{
	en->cancelled = true;
	act_cells_cancel(&a->server->cells);
	return NULL;
}

const char *cancel_action(struct actions *a, struct entry *en)
{
	if (en->state > ENTRY_RUNNING)
		return "the action has ended";
	if (en->state == ENTRY_WAITING) {
		dispatch_withdraw(&a->server->dispatch, en);
		return NULL;
	}
	if (en->of)
		return "the action only looks after an earlier one: cancel that";
	if (en->is_static)
		return cancel_static(a, en);
	if (en->kind == ACTION_RUN)
		return cancel_in_shell(a, en);
	if (en->kind == ACTION_IPYTHON)
		return cancel_cell(a, en);
	return "an action on files ends by itself";
}

/* It may have been about to start a program whose process group was not in the foreground yet, or in a
 * trap that cannot be interrupted. */
void cancel_insist(struct timer *timer)
{
	struct actions *a = container_of(timer, struct actions, insist);
	struct server *s = a->server;

	if (!a->in_shell || !a->in_shell->cancelled || s->runs.shell.state == SHELL_NONE)
		return;
	if (++a->cancel_turns < CANCEL_TURNS)
		interrupt_shell(a);
	else
		procs_signal(&s->procs, &s->runs.shell.proc, SIGKILL, true);
}
