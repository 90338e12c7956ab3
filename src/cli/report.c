/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. */
#include "cli/report.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json_out.h"
#include "cli/cli.h"

void report_init(struct report *r)
{
	*r = (struct report) { 0 };
	laps_start(&r->laps);
}

void report_outcome(struct report *r, const struct outcome *o)
{
	if (o->not_started) {
		r->status = !o->exec_failed		? EXIT_OURS
			    : o->failure.code == ENOENT ? EXIT_NOT_FOUND
							: EXIT_NOT_EXECUTABLE;
		return;
	}
	r->ran = true;
	if (o->deadline) {
		r->status = EXIT_DEADLINE;
		r->hit_timeout = true;
	} else if (o->exited && WIFEXITED(o->wait_status)) {
		r->status = WEXITSTATUS(o->wait_status);
	} else if (o->exited) {
		r->signal = WTERMSIG(o->wait_status);
		r->status = EXIT_SIGNAL + r->signal;
	} else if (o->ended_by) {
		r->signal = SIGKILL;
		r->status = EXIT_SIGNAL + o->ended_by;
	} else if (o->hung_up) {
		r->signal = SIGKILL;
		r->status = EXIT_SIGNAL + SIGHUP;
	}
}

static double as_ms(uint64_t ns)
{
	uint64_t us = ns / 1000;

	return (double)us / 1000.0;
}

struct hit {
	const char *name;
	bool is;
};
#define HITS 4

static void hits(const struct report *r, struct hit out[HITS])
{
	out[0] = (struct hit) { "oom", r->hit_memory };
	out[1] = (struct hit) { "pids", r->hit_pids };
	out[2] = (struct hit) { "cpu", r->hit_cpu };
	out[3] = (struct hit) { "timeout", r->hit_timeout };
}

static void json_changes(const struct report *r, struct json_out *o)
{
	if (!r->has_changes) {
		jo_null(o, "changes");
		return;
	}
	jo_object(o, "changes");
	jo_u64(o, "added", r->changes.added);
	jo_u64(o, "changed", r->changes.changed);
	jo_u64(o, "deleted", r->changes.deleted);
	jo_end_object(o);
}

static void json_figures(const struct report *r, struct json_out *o)
{
	struct hit hit[HITS];

	jo_array(o, "stages");
	for (unsigned i = 0; i < r->laps.n; i++) {
		jo_object(o, NULL);
		jo_string(o, "name", r->laps.stages[i].name);
		jo_real(o, "ms", as_ms(r->laps.stages[i].ns));
		jo_end_object(o);
	}
	jo_end_array(o);
	jo_real(o, "wall_ms", as_ms(laps_whole(&r->laps)));
	jo_u64(o, "cpu_ms", r->cpu_ms);
	jo_u64(o, "peak_memory_bytes", r->peak_memory_bytes);
	jo_array(o, "limits_hit");
	hits(r, hit);
	for (int i = 0; i < HITS; i++)
		if (hit[i].is)
			jo_string(o, NULL, hit[i].name);
	jo_end_array(o);
}

void report_json(const struct report *r, struct buf *out)
{
	struct json_out o = { .buf = out };

	jo_object(&o, NULL);
	jo_string(&o, "id", r->id[0] ? r->id : NULL);
	jo_int(&o, "exit_status", r->status);
	if (r->signal)
		jo_int(&o, "signal", r->signal);
	else
		jo_null(&o, "signal");
	json_figures(r, &o);
	json_changes(r, &o);
	jo_bool(&o, "kept", r->kept);
	jo_string(&o, "error", r->error.code ? r->error.text : NULL);
	jo_end_object(&o);
	buf_putc(out, '\n');
}

static void count(struct buf *out, uint64_t n, const char *what)
{
	buf_printf(out, "%llu %s %s", (unsigned long long)n, n == 1 ? "file" : "files", what);
}

void report_line(const struct report *r, struct buf *out)
{
	struct hit hit[HITS];
	bool first = true;

	count(out, r->changes.added, "added");
	buf_printf(out, ", %llu changed, %llu deleted", (unsigned long long)r->changes.changed,
		   (unsigned long long)r->changes.deleted);
	hits(r, hit);
	for (int i = 0; i < HITS; i++) {
		if (!hit[i].is)
			continue;
		buf_printf(out, "%s%s", first ? "; limit hit: " : ", ", hit[i].name);
		first = false;
	}
	if (r->kept)
		buf_printf(out, "; kept: ohsandbox diff %s", r->id);
}

void report_times(const struct report *r, struct buf *out)
{
	for (unsigned i = 0; i < r->laps.n; i++)
		buf_printf(out, "ohsandbox: %-8s %9.3f ms\n", r->laps.stages[i].name,
			   as_ms(r->laps.stages[i].ns));
	buf_printf(out, "ohsandbox: %-8s %9.3f ms\n", "all", as_ms(laps_whole(&r->laps)));
}
