/* SPDX-License-Identifier: MIT */
/* act_run.c - the action `run`: one command in the persistent shell, or more of the one in it.
 *
 * A command that is not done within its time is answered for and stays *pending*: the next
 * request looks after it, types into it, or is told that it has to wait. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "sandbox/executor/act.h"
#include "sandbox/executor/keys.h"
#include "sandbox/executor/run_text.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/several.h"
#include "sandbox/executor/split.h"

const char *act_cwd(const struct server *s)
{
	const char *cwd = s->runs.shell.report.cwd;

	return cwd ? cwd : s->boot->workspace;
}

static struct text command_of(const struct act_runs *r)
{
	return text_strip(r->job->action.run.command);
}

static bool find_key(const struct act_runs *r, struct key *key)
{
	struct text command = command_of(r);

	return keys_find(command.at, command.len, r->where->screen.application, key);
}

/* --- what is told ---------------------------------------------------------------------------- */

/* Take what was typed off the front: it was shown there, and it is no output. */
static void drop_echo(struct observation *o, struct text typed)
{
	if (!typed.len || o->content.len < typed.len ||
	    memcmp(o->content.data, typed.at, typed.len) != 0)
		return;
	o->content.len -= typed.len;
	memmove(o->content.data, o->content.data + typed.len, o->content.len + 1);
	observation_trim(&o->content);
}

/* Only to see whether what was told is still what the screen begins with. */
static uint64_t hash(const char *bytes, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)bytes[i]) * 0x100000001b3;
	return sum;
}

static void forget_told(struct act_runs *r)
{
	r->pending = r->told_any = false;
	r->told_len = 0;
}

/* What the screen shows beyond what was told already. Returns how many lines it has in all. */
static unsigned new_output(struct act_runs *r, struct observation *o)
{
	bool main = r->where == &r->shell;
	struct buf *content = &o->content;
	size_t skip = main ? r->told_len : 0;
	unsigned lines;

	content->limit = (size_t)4 * SCREEN_HISTORY_BYTES;
	lines = screen_text(&r->where->screen, content);
	if (content->len < skip || (skip && hash(content->data, skip) != r->told_hash))
		skip = 0; /* the screen has changed there, or lost it */
	if (main) {
		r->told_len = content->len;
		r->told_hash = hash(buf_str(content), content->len);
	}
	if (skip) {
		content->len -= skip;
		memmove(content->data, content->data + skip, content->len + 1);
	}
	observation_trim(content);
	if (r->echoed)
		drop_echo(o, o->command);
	return lines;
}

static struct observation observe(struct text command)
{
	return (struct observation) { .kind = OBSERVED_RUN,
				      .command = command,
				      .exit_code = -1,
				      .background = -1 };
}

static void finish(struct act_runs *r, struct observation *o)
{
	loop_disarm(&r->server->loop, &r->timer);
	if (r->job->action.run.is_static)
		shell_stop(&r->once); /* done or not: nobody could look after it */
	r->job = NULL;
	r->echoed = false;
	dispatch_done(&r->server->dispatch, o);
}

/* Not done: what there is so far, and why. It stays pending. */
static void tell_unfinished(struct act_runs *r, struct buf *why)
{
	struct observation o = observe(command_of(r));

	(void)new_output(r, &o);
	observation_shorten(&o.content);
	o.suffix = *why;
	*why = (struct buf) { 0 };
	if (r->where == &r->shell) {
		if (r->told_any)
			buf_puts(&o.prefix, run_text_below);
		r->told_any = r->pending = true;
	}
	finish(r, &o);
}

static void put_shell(struct act_runs *r, struct observation *o)
{
	const struct shell_report *said = &r->where->report;

	o->user = r->server->boot->as_root ? "root" : r->server->boot->user.name;
	o->hostname = r->server->info.hostname;
	o->cwd = said->cwd;
	o->python = said->python;
	o->background = said->background;
}

/* Done: all that was not told yet. */
static void tell_finished(struct act_runs *r, int exit_code)
{
	struct observation o = observe(command_of(r));
	bool main = r->where == &r->shell;
	unsigned lines = new_output(r, &o);
	struct key key;

	o.hidden = r->job->action.run.hidden;
	if (!o.hidden)
		observation_shorten(&o.content);
	put_shell(r, &o);
	o.exit_code = exit_code;
	if (r->where->screen.lost_lines)
		run_text_lost(&o.prefix, lines);
	run_text_completed(&o.suffix, exit_code, find_key(r, &key) ? key.control : '\0');
	screen_clear(&r->where->screen);
	if (main) {
		if (r->died)
			run_text_new_shell(&o.suffix);
		r->died = false;
		forget_told(r);
	}
	finish(r, &o);
}

static void tell_text(struct act_runs *r, const char *text)
{
	struct observation o = observe((struct text) { .at = "" });

	buf_puts(&o.content, text);
	finish(r, &o);
}

/* There is no shell to run it in. */
static void tell_no_shell(struct act_runs *r, const char *why)
{
	struct observation o = observe(command_of(r));

	shell_stop(r->where);
	buf_printf(&o.content, "ERROR: %s.", why);
	finish(r, &o);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void time_is_up(struct act_runs *r)
{
	autobuf struct buf why = { 0 };

	run_text_timed_out(&why, r->job->action.timeout_s);
	tell_unfinished(r, &why);
}

static void nothing_new(struct act_runs *r)
{
	autobuf struct buf why = { 0 };

	run_text_silent(&why, r->silence_ms / 1000);
	tell_unfinished(r, &why);
}

static uint64_t silence_ends(const struct act_runs *r)
{
	return r->job->action.run.blocking ? UINT64_MAX : r->quiet_ms + r->silence_ms;
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
	uint64_t now = loop_time(&r->server->loop);

	if (r->where->state == SHELL_STARTING)
		tell_no_shell(r, "the shell did not start in time: look at ~/.bashrc");
	else if (silence_ends(r) <= now)
		nothing_new(r);
	else if (time_ends(r) <= now)
		time_is_up(r);
	else
		arm(r);
}

static void wait_from_now(struct act_runs *r)
{
	r->since_ms = r->quiet_ms = loop_time(&r->server->loop);
	arm(r);
}

/* --- the shell ------------------------------------------------------------------------------- */

static int status_code(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The shell is up, and has nothing in hand. What was not told yet comes before what it writes now. */
static void hand_over(struct act_runs *r)
{
	struct text command = command_of(r);
	struct key key;

	if (find_key(r, &key))
		shell_press(r->where, key.control ? key.bytes[0] : '\0');
	else
		shell_run(r->where, command.at, command.len,
			  split_commands(command.at, command.len, NULL, 0) == 1);
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
		tell_no_shell(r, sh->failure.text);
		return;
	}
	*cwd = (struct text) { 0 };
	in_shell(r, sh, r->server->boot->workspace);
}

static void on_event(struct act_runs *r, struct shell *sh, enum shell_event event)
{
	bool mine = r->job && r->where == sh;

	if (event == SHELL_DONE || event == SHELL_ENDED)
		actions_shell_done(&r->server->actions, sh);
	if (event == SHELL_WROTE)
		actions_shell_wrote(&r->server->actions, sh);
	if (mine && event == SHELL_OUTPUT)
		r->quiet_ms = loop_time(&r->server->loop);
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

/* --- a look at who is in the foreground: with the workload's ids, which alone may ---------------- */

static void looked(struct helper *h, struct file_reply *reply)
{
	struct act_runs *r = container_of(h, struct act_runs, looker);
	const struct buf *stat = &reply->gives[FILE_GIVES_CONTENT];

	shell_looked(r->looks_at, r->looks_for,
		     reply->status == FILE_OK && shell_stat_is_between(buf_str(stat)));
}

static void not_looked(struct helper *h, const struct err *why)
{
	struct act_runs *r = container_of(h, struct act_runs, looker);

	(void)why; /* then the key goes as it is */
	shell_looked(r->looks_at, r->looks_for, false);
}

static void look(struct act_runs *r, struct shell *sh, int group)
{
	struct file_request request = { .op = FILE_READ, .flags = FILE_ONLY_READS, .end = -1 };

	r->looks_at = sh;
	r->looks_for = group;
	if (r->looker.busy)
		return; /* its answer is for this one then, as near as it is */
	(void)snprintf(r->look_path, sizeof(r->look_path), "/proc/%d/stat", group);
	request.part[FILE_PATH] = text_of(r->look_path);
	helper_ask(&r->looker, &request);
}

static void look_at_shell(struct shell *sh, int group)
{
	look(container_of(sh, struct act_runs, shell), sh, group);
}

static void look_at_once(struct shell *sh, int group)
{
	look(container_of(sh, struct act_runs, once), sh, group);
}

void act_runs_init(struct act_runs *r, struct server *s)
{
	*r = (struct act_runs) { .server = s };
	shell_init(&r->shell, &s->procs, shell_event);
	shell_init(&r->once, &s->procs, once_event);
	r->shell.look = look_at_shell;
	r->once.look = look_at_once;
	helper_init(&r->looker, &s->procs, ACT_LOOK_MS);
	r->looker.done = looked;
	r->looker.failed = not_looked;
	r->once.counts_first = true; /* it is ended when it is done */
	r->silence_ms = run_text_silence(s->boot->env) * 1000;
	r->timer.fire = timer_fired;
}

void act_runs_prepare(struct act_runs *r)
{
	struct err e = { 0 };

	r->shell.proc.leaf = leaves_pick(&r->server->actions.leaves);
	/* It is tried again when asked. */
	(void)!shell_start(&r->shell, r->server->boot->workspace, &e);
}

static uint64_t start_ends(const struct act_runs *r)
{
	uint64_t ms = r->job->action.timeout_ms;

	return loop_time(&r->server->loop) + (ms && ms + ACT_START_OVER_MS < ACT_START_MS
						      ? ms + ACT_START_OVER_MS
						      : ACT_START_MS);
}

/* Run it now if the shell is up, else when it is. */
static void in_shell(struct act_runs *r, struct shell *sh, const char *cwd)
{
	struct err e = { 0 };

	if (sh->state == SHELL_IDLE) {
		hand_over(r);
		return;
	}
	loop_arm(&r->server->loop, &r->timer, start_ends(r));
	if (sh->state == SHELL_NONE && shell_start(sh, cwd, &e) < 0)
		tell_no_shell(r, e.text);
}

static void not_now(struct act_runs *r)
{
	autobuf struct buf why = { 0 };

	run_text_not_executed(&why, command_of(r));
	tell_unfinished(r, &why);
}

static void type(struct act_runs *r)
{
	struct text command = command_of(r);
	struct key key;

	if (!find_key(r, &key)) {
		r->echoed = shell_echoes(r->where);
		shell_type(r->where, command.at, command.len);
	} else if (key.signals) {
		shell_type_signal(r->where, key.bytes[0]);
	} else {
		shell_type(r->where, key.bytes, key.len);
	}
	if (!key.control)
		shell_type(r->where, "\r", 1); /* Enter, as a terminal sends it */
}

/* A command that was answered for before it was done runs still. */
static void go_on(struct act_runs *r)
{
	bool has_text = command_of(r).len > 0;
	struct key key;

	/* A key is no command that could have to wait. */
	if (has_text && !r->job->action.run.is_input && !(find_key(r, &key) && key.control)) {
		not_now(r);
		return;
	}
	if (has_text)
		type(r);
	else
		shell_ask(r->where);
	wait_from_now(r);
}

/* A hidden command's client takes nothing but a `run`. */
static void refuse_several(struct act_runs *r, struct buf *words)
{
	struct observation o = observe(command_of(r));

	if (!r->job->action.run.hidden)
		o.kind = OBSERVED_ERROR;
	o.content = *words;
	*words = (struct buf) { 0 };
	finish(r, &o);
}

static void begin(struct act_runs *r, bool pending)
{
	const struct action_run *run = &r->job->action.run;
	const char *start = r->server->boot->workspace;

	if (pending && r->shell.state == SHELL_BUSY)
		go_on(r);
	else if (pending && !command_of(r).len)
		tell_finished(r, r->shell.report.exit_code);
	else
		in_shell(r, r->where, run->is_static && run->cwd.at ? run->cwd.at : start);
}

/* In the order of the reference. A static command has a shell in which nothing is pending. */
void act_run(struct job *job)
{
	struct act_runs *r = &job->server->runs;
	const struct action_run *run = &job->action.run;
	bool pending = r->pending && !run->is_static;
	autobuf struct buf several = { 0 };

	r->job = job;
	r->where = run->is_static ? &r->once : &r->shell;
	several_words(command_of(r), &several);
	if (!pending && !command_of(r).len)
		tell_text(r, run_text_no_logs);
	else if (!pending && run->is_input)
		tell_text(r, run_text_no_program);
	else if (several.len)
		refuse_several(r, &several);
	else
		begin(r, pending);
}
