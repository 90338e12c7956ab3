/* SPDX-License-Identifier: MIT */
/* reclaim.c - see reclaim.h. What is reclaimed is paused to disk: its work stays, and whoever wants
 * something of it wakes it. */
#include "api/reclaim.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/idle.h"
#include "api/operation.h"
#include "api/runtimes.h"
#include "api/service.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"

#define ASK_EVERY_MS 15000

static const struct session_template *template_of(const struct runtime *r)
{
	return r->template ? config_named(r->server->config, r->template) : NULL;
}

static uint64_t idle_limit(const struct runtime *r)
{
	const struct session_template *t = template_of(r);

	return t && t->idle_ms ? t->idle_ms : r->server->idle_ms;
}

/* `idle_ms`: only if nobody has wanted anything for so long even when its turn comes. */
static void reclaim(struct runtime *r, const char *why, uint64_t idle_ms)
{
	const struct session_template *t = template_of(r);

	r->reclaim_stops = t && t->reclaim_stops;
	r->reclaim_idle_ms = idle_ms;
	log_info("session %s (%s): %s: it is %s", r->id, r->name, why,
		 r->reclaim_stops ? "stopped" : "paused to disk");
	operate(r, OPERATION_RECLAIM, NULL, NULL, ANSWER_EMPTY);
}

/* What it was before it was given to somebody is not his. */
static uint64_t since_claimed(const struct runtime *r, uint64_t ms)
{
	uint64_t claimed = r->claimed_ms ? loop_now() - r->claimed_ms : UINT64_MAX;

	return ms < claimed ? ms : claimed;
}

/* --- whose program has ended ----------------------------------------------------------------- */

struct check {
	struct server *server;
	uint64_t began_ms;
	char id[sizeof(((struct runtime *)0)->id)];
};

/* What it says of that, on a line; nothing where it lives. */
static int run_check(struct job *j, int out, const int *fds, struct err *e)
{
	const struct check *check = j->arg;
	/* Of its own: a job has none of the daemon's descriptors. */
	autoclose int state = state_open(check->server->state_path, e);
	struct session *s = NULL;
	struct label label = { 0 };
	struct err why = { 0 };
	int result = 0;

	(void)fds;
	if (state < 0 || session_open(state, check->id, false, &s, e) < 0)
		return -e->code;
	if (label_parse(s->record.label, &label, &why) == 0 &&
	    !service_answers(&s->record, &label) &&
	    service_check(&s->record, &label, &why) == -ECHILD)
		result = io_write_all(out, why.text, strlen(why.text), e);
	label_clear(&label);
	session_close(s);
	return result;
}

static void check_done(struct job *j)
{
	struct check *check = j->arg;
	struct runtime *r = runtimes_find(check->server, check->id);

	if (r)
		r->checking = false;
	/* One that was brought back meanwhile is another than was looked at. */
	if (r && j->output.len && r->state == RUNTIME_RUNNING && !runtime_is_busy(r) &&
	    r->since_ms <= check->began_ms)
		runtime_break(r, buf_str(&j->output), NULL);
	free(check);
}

/* In a process of its own: who does not answer keeps whoever asks. */
static void check(struct runtime *r)
{
	struct check *check = calloc(1, sizeof(*check));
	struct job *j = check ? job_new(run_check, check_done, check) : NULL;

	if (!j) {
		free(check); /* the next time will do */
		return;
	}
	check->server = r->server;
	check->began_ms = loop_now();
	memcpy(check->id, r->id, sizeof(check->id));
	r->checking = true;
	job_start(&r->server->calls, j);
}

/* --- who is idle ----------------------------------------------------------------------------- */

static bool is_asked(const struct runtime *r)
{
	return r->state == RUNTIME_RUNNING && (idle_limit(r) || r->program_key);
}

static size_t collect(const struct server *s, const struct runtime **whom, struct idle_ask *asks)
{
	size_t n = 0;

	for (const struct runtime *r = s->runtimes; r; r = r->next) {
		if (!is_asked(r))
			continue;
		if (whom) {
			whom[n] = r;
			asks[n] = idle_ask_of(r);
		}
		n++;
	}
	return n;
}

/* "idle ID" of those that have been for too long, "silent ID" of those whose program says nothing. */
static int run_ask(struct job *j, int out, const int *fds, struct err *e)
{
	const struct server *s = j->arg;
	size_t n = collect(s, NULL, NULL);
	autofree const struct runtime **whom = calloc(n + 1, sizeof(*whom));
	autofree struct idle_ask *asks = calloc(n + 1, sizeof(*asks));
	autobuf struct buf text = { 0 };

	(void)fds;
	if (!whom || !asks)
		return err_code(e, ENOMEM, "no memory");
	(void)collect(s, whom, asks); /* as many: this process has a copy of its own */
	idle_ask_all(asks, n);
	for (size_t i = 0; i < n && whom[i]; i++) {
		uint64_t limit = idle_limit(whom[i]);

		if (whom[i]->program_key && asks[i].silent)
			buf_printf(&text, "silent %s\n", whom[i]->id);
		if (limit && asks[i].idle_ms != IDLE_UNKNOWN &&
		    since_claimed(whom[i], asks[i].idle_ms) >= limit)
			buf_printf(&text, "idle %s\n", whom[i]->id);
	}
	if (buf_check(&text, e) < 0)
		return -e->code;
	return io_write_all(out, buf_str(&text), text.len, e);
}

static void ask_done(struct job *j)
{
	struct server *s = j->arg;
	char *rest = j->output.data, *id;

	s->asking = false;
	s->asked_ms = loop_now();
	while ((id = strsep(&rest, "\n")) && *id) {
		const char *what = strsep(&id, " ");
		struct runtime *r = id ? runtimes_find(s, id) : NULL;

		if (!r || r->state != RUNTIME_RUNNING || runtime_is_busy(r))
			continue;
		if (str_eq(what, "idle"))
			reclaim(r, "idle", idle_limit(r));
		else if (!r->logs && !r->checking)
			check(r);
	}
}

static void look_for_idle(struct server *s)
{
	bool any = false;
	struct job *j;

	for (const struct runtime *r = s->runtimes; r && !any; r = r->next)
		any = is_asked(r);
	if (!any || s->asking || loop_now() - s->asked_ms < s->ask_every_ms)
		return;
	j = job_new(run_ask, ask_done, s);
	if (!j)
		return; /* the next turn will */
	s->asking = true;
	job_start(&s->calls, j);
}

/* --- who is old ------------------------------------------------------------------------------ */

/* Since its processes were started last, by whichever daemon: what is brought back begins anew. */
static uint64_t age_ms(const struct runtime *r)
{
	uint64_t up_ms = r->up_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK), now_ms;
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail for this clock */
	now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	return r->up_ticks && now_ms > up_ms ? now_ms - up_ms : 0;
}

static void look_at(struct runtime *r)
{
	const struct session_template *t = template_of(r);
	const struct config *c = r->server->config;
	bool lives = r->state == RUNTIME_RUNNING || r->state == RUNTIME_FROZEN;

	if (!lives || r->shape || runtime_is_busy(r))
		return;
	if (t && t->lifetime_ms && since_claimed(r, age_ms(r)) > t->lifetime_ms)
		reclaim(r, "its life time is over", 0);
	else if (r->state == RUNTIME_FROZEN && c->pause_to_disk_ms &&
		 loop_now() - r->since_ms > c->pause_to_disk_ms)
		operate(r, OPERATION_PAUSE, NULL, NULL, ANSWER_EMPTY);
}

void reclaim_turn(struct server *s)
{
	uint64_t shortest = ASK_EVERY_MS;
	struct runtime *r, *next;

	for (r = s->runtimes; r; r = next) {
		uint64_t limit = idle_limit(r);

		next = r->next;
		if (limit && limit / 2 < shortest)
			shortest = limit / 2;
		look_at(r);
	}
	s->ask_every_ms = shortest < 500 ? 500 : shortest;
	look_for_idle(s);
	runtimes_forget_failed(s);
}
