/* SPDX-License-Identifier: MIT */
/* act_run.c - the action `run`: one command in the persistent shell, or more of the one in it.
 *
 * A command that is not done within its time is answered for and stays *pending*: the next
 * request looks after it, types into it, or is told that it has to wait. */
#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

#define ADVICE                                                                                              \
	"You may wait longer to see additional output by sending empty command '', send other commands to " \
	"interact with the current process, send keys (\"C-c\", \"C-z\", \"C-d\") to interrupt/kill the "   \
	"previous command before sending your new command, or use the timeout parameter in execute_bash "   \
	"for future commands."

#define STILL_BELOW "[Below is the output of the previous command.]\n"

static struct text stripped(struct text t)
{
	while (t.len && isspace((unsigned char)t.at[0])) {
		t.at++;
		t.len--;
	}
	while (t.len && isspace((unsigned char)t.at[t.len - 1]))
		t.len--;
	return t;
}

static bool is_key(struct text t)
{
	return t.len == 3 && t.at[0] == 'C' && t.at[1] == '-';
}

/* The byte that a terminal sends for Ctrl and this key, or -1. */
static int key_byte(struct text t)
{
	int c = toupper((unsigned char)t.at[2]);

	if (c == '?')
		return 127;
	return c >= '@' && c <= '_' ? c - '@' : -1;
}

const char *act_cwd(const struct server *s)
{
	const char *cwd = s->runs.shell.report.cwd;

	return cwd ? cwd : s->boot->workspace;
}

/* --- what is told ---------------------------------------------------------------------------- */

/* Take what was typed off the front: the terminal echoed it, and it is no output. */
static void drop_echo(struct observation *o, struct text typed)
{
	if (!typed.len || o->content.len < typed.len ||
	    memcmp(o->content.data, typed.at, typed.len) != 0)
		return;
	o->content.len -= typed.len;
	memmove(o->content.data, o->content.data + typed.len, o->content.len + 1);
	observation_trim(&o->content);
}

/* What the screen shows beyond what was told already; the whole of it is left in *all. */
static void new_output(struct act_runs *r, struct observation *o, struct buf *all)
{
	const struct buf *told = &r->reported;
	size_t skip = 0;

	all->limit = (size_t)4 * SCREEN_HISTORY_BYTES;
	(void)screen_text(&r->where->screen, all);
	if (r->where == &r->shell && all->len >= told->len &&
	    memcmp(buf_str(all), buf_str(told), told->len) == 0)
		skip = told->len;
	o->content.limit = all->limit;
	buf_add(&o->content, buf_str(all) + skip, all->len - skip);
	observation_trim(&o->content);
	if (r->typed)
		drop_echo(o, o->command);
}

static void forget_reported(struct act_runs *r)
{
	buf_clear(&r->reported);
	r->any_reported = false;
}

static struct observation observe(const struct act_runs *r, struct text command)
{
	return (struct observation) { .kind = OBSERVED_RUN,
				      .command = command,
				      .exit_code = -1,
				      .background = -1,
				      .hidden = r->job && r->job->action.run.hidden };
}

static void finish(struct act_runs *r, struct observation *o)
{
	loop_disarm(&r->server->loop, &r->timer);
	if (r->job->action.run.is_static)
		shell_stop(&r->once); /* done or not: nobody could look after it */
	r->job = NULL;
	r->typed = false;
	dispatch_done(&r->server->dispatch, o);
}

static struct text command_of(const struct act_runs *r)
{
	return stripped(r->job->action.run.command);
}

/* What was told of the command in the persistent shell is not told again. */
static void remember_told(struct act_runs *r, struct buf *all)
{
	buf_clear(&r->reported);
	r->reported = *all;
	*all = (struct buf) { 0 };
	r->any_reported = true;
	r->pending = true;
}

/* Not done: what there is so far, with `why`. It stays pending. */
static void tell_unfinished(struct act_runs *r, struct text command, const char *why)
{
	struct observation o = observe(r, command);
	autobuf struct buf all = { 0 };

	new_output(r, &o, &all);
	observation_shorten(&o.content);
	o.hidden = false;
	buf_puts(&o.suffix, why);
	if (r->where == &r->shell) {
		if (r->any_reported)
			buf_puts(&o.prefix, STILL_BELOW);
		remember_told(r, &all);
	}
	finish(r, &o);
}

static void say_lost(const struct act_runs *r, struct observation *o)
{
	autobuf struct buf text = { .limit = (size_t)4 * SCREEN_HISTORY_BYTES };
	unsigned lines;

	if (!r->where->screen.lost_lines)
		return;
	lines = screen_text(&r->where->screen, &text);
	buf_printf(
		&o->prefix,
		"[Previous command outputs are truncated. Showing the last %u lines of the output below.]\n",
		lines);
}

static void put_shell(struct act_runs *r, struct observation *o)
{
	const struct shell_report *said = &r->where->report;

	o->user = r->server->boot->user.name;
	o->hostname = r->server->info.hostname;
	o->cwd = said->cwd;
	o->python = said->python;
	o->background = said->background;
}

static void say_restart(struct act_runs *r, struct observation *o)
{
	if (!r->died)
		return;
	buf_puts(
		&o->suffix,
		"\n[The shell has ended. A new one is started for the next command: its directory, "
		"variables, functions and aliases are those of the start.]");
	r->died = false;
}

/* Done: all that was not told yet. */
static void tell_finished(struct act_runs *r, int exit_code)
{
	struct text command = command_of(r);
	struct observation o = observe(r, command);
	autobuf struct buf all = { 0 };

	new_output(r, &o, &all);
	if (!o.hidden)
		observation_shorten(&o.content);
	put_shell(r, &o);
	o.exit_code = exit_code;
	say_lost(r, &o);
	buf_printf(&o.suffix, "\n[The command completed with exit code %d.", exit_code);
	if (is_key(command))
		buf_printf(&o.suffix, " CTRL+%c was sent.", toupper((unsigned char)command.at[2]));
	buf_putc(&o.suffix, ']');
	say_restart(r, &o);
	screen_clear(&r->where->screen);
	if (r->where == &r->shell) {
		r->pending = false;
		forget_reported(r);
	}
	finish(r, &o);
}

static void tell_text(struct act_runs *r, struct text command, const char *text)
{
	struct observation o = observe(r, command);

	buf_puts(&o.content, text);
	finish(r, &o);
}

static void tell_failure(struct act_runs *r, const char *text)
{
	loop_disarm(&r->server->loop, &r->timer);
	shell_stop(r->where);
	r->job = NULL;
	dispatch_fail(&r->server->dispatch, text);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void time_is_up(struct act_runs *r)
{
	autobuf struct buf why = { 0 };

	buf_puts(&why, "\n[The command timed out after ");
	observation_seconds(&why, r->job->action.timeout_s);
	buf_puts(&why, " seconds. " ADVICE "]");
	tell_unfinished(r, command_of(r), buf_str(&why));
}

static void nothing_new(struct act_runs *r)
{
	autobuf struct buf why = { 0 };

	buf_printf(&why, "\n[The command has no new output after %d seconds. " ADVICE "]",
		   ACT_SILENCE_MS / 1000);
	tell_unfinished(r, command_of(r), buf_str(&why));
}

static uint64_t silence_ends(const struct act_runs *r)
{
	return r->job->action.run.blocking ? UINT64_MAX : r->quiet_ms + ACT_SILENCE_MS;
}

static uint64_t time_ends(const struct act_runs *r)
{
	return r->job->action.timeout_ms ? r->since_ms + r->job->action.timeout_ms : UINT64_MAX;
}

static void arm(struct act_runs *r)
{
	uint64_t silence = silence_ends(r), time = time_ends(r),
		 first = silence < time ? silence : time;

	if (first != UINT64_MAX)
		loop_arm(&r->server->loop, &r->timer, first);
}

/* The timer stays where it was while output comes, and is moved when it fires too early. */
static void timer_fired(struct timer *timer)
{
	struct act_runs *r = container_of(timer, struct act_runs, timer);
	uint64_t now = loop_now();

	if (r->where->state == SHELL_STARTING)
		tell_failure(r, "the shell did not start in time: look at ~/.bashrc");
	else if (silence_ends(r) <= now)
		nothing_new(r);
	else if (time_ends(r) <= now)
		time_is_up(r);
	else
		arm(r);
}

static void wait_from_now(struct act_runs *r)
{
	r->since_ms = r->quiet_ms = loop_now();
	arm(r);
}

/* --- the shell ------------------------------------------------------------------------------- */

static int status_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The shell is up, and has nothing in hand: run the command. A key alone has nothing to act on
 * but the shell, which is asked what came of it. */
static void hand_over(struct act_runs *r)
{
	struct text command = command_of(r);
	int byte = is_key(command) ? key_byte(command) : -1;

	if (!r->pending)
		screen_clear(&r->where->screen); /* else what was not told yet comes first */
	if (byte == 4) {			 /* end of input */
		shell_run(r->where, "exit", 4);
	} else if (byte >= 0) {
		shell_type(r->where, (char[]) { (char)byte }, 1);
		shell_ask(r->where);
	} else {
		shell_run(r->where, command.at, command.len);
	}
	wait_from_now(r);
}

static void shell_lost(struct act_runs *r, struct shell *sh, bool mine)
{
	free(sh->report.cwd);
	free(sh->report.python);
	sh->report = (struct shell_report) { .exit_code = status_code(sh->wait_status),
					     .background = -1 };
	if (sh == &r->shell)
		r->died = true;
	if (mine)
		tell_finished(r, sh->report.exit_code);
}

static void in_shell(struct act_runs *r, struct shell *sh, const char *cwd);

/* A static command whose directory is not there runs where the session started. */
static void shell_failed(struct act_runs *r, struct shell *sh)
{
	struct text *cwd = &r->job->action.run.cwd;

	if (sh != &r->once || !cwd->at) {
		tell_failure(r, sh->failure.text);
		return;
	}
	*cwd = (struct text) { 0 };
	in_shell(r, sh, r->server->boot->workspace);
}

static void on_event(struct act_runs *r, struct shell *sh, enum shell_event event)
{
	bool mine = r->job && r->where == sh;

	if (event == SHELL_OUTPUT)
		r->quiet_ms = loop_now();
	else if (event == SHELL_ENDED)
		shell_lost(r, sh, mine);
	else if (mine && event == SHELL_UP)
		hand_over(r);
	else if (mine && event == SHELL_DONE)
		tell_finished(r, sh->report.exit_code);
	else if (mine && event == SHELL_FAILED)
		shell_failed(r, sh);
}

static void shell_event(struct shell *sh, enum shell_event event)
{
	on_event(container_of(sh, struct act_runs, shell), sh, event);
}

static void once_event(struct shell *sh, enum shell_event event)
{
	on_event(container_of(sh, struct act_runs, once), sh, event);
}

void act_runs_init(struct act_runs *r, struct server *s)
{
	*r = (struct act_runs) { .server = s };
	shell_init(&r->shell, &s->procs, shell_event);
	shell_init(&r->once, &s->procs, once_event);
	r->timer.fire = timer_fired;
}

/* Run it now if the shell is up, else when it is. */
static void in_shell(struct act_runs *r, struct shell *sh, const char *cwd)
{
	struct err e = { 0 };

	r->where = sh;
	if (sh->state == SHELL_IDLE) {
		hand_over(r);
		return;
	}
	loop_arm(&r->server->loop, &r->timer, loop_now() + ACT_START_MS);
	if (sh->state == SHELL_NONE && shell_start(sh, cwd, &e) < 0)
		tell_failure(r, e.text);
}

static void not_now(struct act_runs *r, struct text command)
{
	autobuf struct buf why = { 0 };

	buf_puts(&why, "\n[Your command \"");
	buf_add(&why, command.at, command.len);
	buf_puts(
		&why,
		"\" is NOT executed. The previous command is still running - You CANNOT send new commands "
		"until the previous command is completed. By setting `is_input` to `true`, you can interact "
		"with the current process: " ADVICE "]");
	tell_unfinished(r, command, buf_str(&why));
}

static void type(struct act_runs *r, struct text command)
{
	int byte = is_key(command) ? key_byte(command) : -1;

	r->typed = byte < 0;
	if (byte >= 0) {
		shell_type(r->where, (char[]) { (char)byte }, 1);
		return;
	}
	shell_type(r->where, command.at, command.len);
	shell_type(r->where, "\n", 1);
}

/* A command that was answered for before it was done runs still. */
static void go_on(struct act_runs *r, struct text command)
{
	if (command.len && !r->job->action.run.is_input && !is_key(command)) {
		not_now(r, command);
		return;
	}
	if (command.len)
		type(r, command);
	wait_from_now(r);
}

/* Nothing runs: neither is there anything to look after, nor to type into. */
static void refuse_idle(struct act_runs *r, struct text command)
{
	static const char nothing_to[] = "ERROR: No previous running command to %s.";
	char text[80];

	(void)snprintf(text, sizeof(text), nothing_to,
		       command.len ? "interact with" : "retrieve logs from");
	tell_text(r, command, text);
}

void act_run(struct job *job)
{
	struct act_runs *r = &job->server->runs;
	const struct action_run *run = &job->action.run;
	const char *start = job->server->boot->workspace;

	r->job = job;
	r->where = run->is_static ? &r->once : &r->shell;
	if (run->is_static)
		in_shell(r, &r->once, run->cwd.at ? run->cwd.at : start);
	else if (r->pending && r->shell.state == SHELL_BUSY)
		go_on(r, command_of(r));
	else if (r->pending && !command_of(r).len)
		tell_finished(r, r->shell.report.exit_code);
	else if (!command_of(r).len || (!r->pending && run->is_input))
		refuse_idle(r, command_of(r));
	else
		in_shell(r, &r->shell, start);
}
