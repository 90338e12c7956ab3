/* SPDX-License-Identifier: MIT */
/* act_ipython.c - the action `run_ipython`: one cell in the persistent Python of the session.
 *
 * Python is started with the first cell, and again with the first one after it has ended. A session
 * without one answers with an error observation: clients run a cell when they connect, and would
 * give up on an error of the server. */
#include "sandbox/executor/act_ipython.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/str.h"
#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

/* --- what is told ---------------------------------------------------------------------------- */

static void finish(struct act_cells *c, struct observation *o)
{
	loop_disarm(&c->server->loop, &c->timer);
	c->job = NULL;
	dispatch_done(&c->server->dispatch, o);
}

static void line(struct buf *out, const char *text)
{
	if (out->len)
		buf_putc(out, '\n');
	buf_puts(out, text);
}

/* How the kernel has ended, in words. */
static void say_end(const struct kernel *k, char *text, size_t size)
{
	int status = k->wait_status;

	if (k->broken)
		(void)snprintf(text, size, "a cell closed or garbled its channel to the executor");
	else if (WIFSIGNALED(status))
		(void)snprintf(text, size, "killed by signal %d", WTERMSIG(status));
	else
		(void)snprintf(text, size, "exit status %d", WEXITSTATUS(status));
}

static void say_places(const struct act_cells *c, struct observation *o)
{
	buf_printf(&o->content, "\n[Jupyter current working directory: %s]", act_cwd(c->server));
	buf_printf(&o->content, "\n[Jupyter Python interpreter: %s]", c->kernel.python);
}

/* What the cell had to say, and behind it `why` it said no more (NULL: it was done). */
static void tell(struct act_cells *c, const char *why)
{
	const struct action_ipython *a = &c->job->action.ipython;
	struct observation o = { .kind = OBSERVED_IPYTHON, .code = a->code };
	char text[300];

	if (!kernel_take(&c->kernel, &o) && !why)
		buf_puts(&o.content, "[Code executed successfully with no output]");
	if (why)
		line(&o.content, why);
	if (c->ended[0]) {
		(void)snprintf(text, sizeof(text),
			       "[Python had ended: %s. This cell ran in a new one, without the "
			       "variables and imports of earlier cells.]",
			       c->ended);
		line(&o.content, text);
		c->ended[0] = '\0';
	}
	if (a->with_places && c->kernel.python)
		say_places(c, &o);
	finish(c, &o);
}

#define IN_A_NEW_ONE \
	"The next cell runs in a new one, without the variables and imports of earlier cells.]"

static void tell_timeout(struct act_cells *c, const char *more)
{
	autobuf struct buf text = { 0 };

	if (c->cancelled) {
		buf_puts(&text, "[Execution was cancelled.]");
	} else {
		buf_puts(&text, "[Execution timed out (");
		observation_seconds(&text, c->job->action.timeout_ms ? c->job->action.timeout_s
								     : ACT_CELL_MS / 1000.0);
		buf_puts(&text, " seconds).]");
	}
	if (more)
		line(&text, more);
	tell(c, buf_str(&text));
}

static void tell_end(struct act_cells *c)
{
	char how[sizeof(c->ended)], text[300];

	say_end(&c->kernel, how, sizeof(how));
	(void)snprintf(text, sizeof(text), "[Python has ended: %s. " IN_A_NEW_ONE, how);
	if (c->interrupted)
		tell_timeout(c, text);
	else
		tell(c, text);
}

/* There is no Python to run it, for this reason; what Python itself said of that stands below. */
static void tell_absent(struct act_cells *c, const char *why)
{
	struct observation o = { .kind = OBSERVED_ERROR }, said = { .kind = OBSERVED_ERROR };

	buf_printf(&o.content, "IPython is not available in this session: %s", why);
	if (kernel_take(&c->kernel, &said))
		line(&o.content, buf_str(&said.content));
	observation_clear(&said);
	finish(c, &o);
}

/* --- the kernel ------------------------------------------------------------------------------ */

/* It is sent to the shell's directory when that is another one than before: what a cell itself
 * changed lasts until then. */
static void run_cell(struct act_cells *c)
{
	const struct action *a = &c->job->action;
	const char *cwd = act_cwd(c->server);
	struct kernel_cell cell = { .cwd = "", .code = a->ipython.code };

	if (c->fresh)
		cell.first = a->ipython.first;
	c->fresh = false;
	if (!c->cwd || !str_eq(c->cwd, cwd)) {
		cell.cwd = cwd;
		free(c->cwd);
		c->cwd = strdup(cwd); /* without memory it is told again next time */
	}
	loop_arm(&c->server->loop, &c->timer,
		 loop_time(&c->server->loop) + (a->timeout_ms ? a->timeout_ms : ACT_CELL_MS));
	kernel_run(&c->kernel, &cell);
}

static void interrupt(struct act_cells *c)
{
	c->interrupted = true;
	loop_arm(&c->server->loop, &c->timer, loop_time(&c->server->loop) + ACT_INTERRUPTED_MS);
	kernel_interrupt(&c->kernel);
}

static void timer_fired(struct timer *timer)
{
	struct act_cells *c = container_of(timer, struct act_cells, timer);

	if (c->kernel.state == KERNEL_STARTING) {
		kernel_stop(&c->kernel);
		if (c->cancelled)
			tell_timeout(c, NULL);
		else
			tell_absent(c, "Python did not start in time.");
	} else if (c->interrupted) {
		kernel_stop(&c->kernel);
		tell_timeout(
			c,
			"[Python did not end the cell when interrupted, and was killed. " IN_A_NEW_ONE);
	} else {
		interrupt(c);
	}
}

void act_cells_cancel(struct act_cells *c)
{
	c->cancelled = true;
	if (c->kernel.state == KERNEL_BUSY && !c->interrupted)
		interrupt(c);
	else if (c->kernel.state != KERNEL_BUSY)
		loop_arm(&c->server->loop, &c->timer,
			 loop_time(&c->server->loop)); /* it is being started */
}

static void up(struct act_cells *c)
{
	free(c->cwd);
	c->cwd = NULL;
	c->fresh = true;
	run_cell(c);
}

static void failed(struct act_cells *c)
{
	const struct err *why = &c->kernel.failure;

	tell_absent(c, why->code == ENOENT ? "there is no python3 in its PATH." : why->text);
}

static void kernel_event(struct kernel *k, enum kernel_event event)
{
	struct act_cells *c = container_of(k, struct act_cells, kernel);

	if (!c->job)
		say_end(k, c->ended, sizeof(c->ended)); /* between two cells nothing else happens */
	else if (event == KERNEL_UP)
		up(c);
	else if (event == KERNEL_FAILED)
		failed(c);
	else if (event == KERNEL_ENDED)
		tell_end(c);
	else if (c->interrupted)
		tell_timeout(c, NULL);
	else
		tell(c, NULL);
}

void act_cells_init(struct act_cells *c, struct server *s)
{
	*c = (struct act_cells) { .server = s };
	kernel_init(&c->kernel, &s->procs, kernel_event);
	c->timer.fire = timer_fired;
}

void act_ipython(struct job *job)
{
	struct act_cells *c = &job->server->cells;
	struct err e = { 0 };

	c->job = job;
	c->interrupted = c->cancelled = false;
	if (c->kernel.state == KERNEL_IDLE) {
		run_cell(c);
		return;
	}
	loop_arm(&c->server->loop, &c->timer, loop_time(&c->server->loop) + ACT_START_MS);
	if (kernel_start(&c->kernel, &e) < 0)
		tell_absent(c, e.text);
}
