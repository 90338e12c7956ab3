/* SPDX-License-Identifier: MIT */
/* actions_show.c - what there is to know of an action, as JSON; see actions.h. */
#include <string.h>

#include "base/clock.h"
#include "sandbox/executor/actions.h"
#include "sandbox/executor/server.h"

static const char *const kind_names[ACTION_KINDS] = {
	[ACTION_RUN] = "run",	[ACTION_READ] = "read",		  [ACTION_WRITE] = "write",
	[ACTION_EDIT] = "edit", [ACTION_IPYTHON] = "run_ipython", [ACTION_BROWSE] = "browse",
};

static const char *const state_names[] = {
	[ENTRY_WAITING] = "waiting", [ENTRY_RUNNING] = "running",     [ENTRY_DONE] = "done",
	[ENTRY_FAILED] = "failed",   [ENTRY_CANCELLED] = "cancelled",
};

const char *entry_state_name(enum entry_state state)
{
	return state_names[state];
}

static void number(struct json_out *o, const char *key, int64_t value)
{
	if (value == ENTRY_UNKNOWN)
		jo_null(o, key);
	else
		jo_int(o, key, value);
}

static void milliseconds(struct json_out *o, const char *key, int64_t us)
{
	if (us == ENTRY_UNKNOWN)
		jo_null(o, key);
	else
		jo_real(o, key, (double)us / 1000);
}

static void time_text(struct json_out *o, const char *key, time_t at)
{
	char text[32];
	struct tm parts;

	(void)gmtime_r(&at, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	jo_string(o, key, text);
}

static int64_t wall_us(const struct entry *en)
{
	if (en->state == ENTRY_WAITING)
		return 0;
	if (en->state != ENTRY_RUNNING)
		return (int64_t)(en->ended_us - en->began_us);
	return (int64_t)(clock_us() - en->began_us);
}

/* Other commands whose processes it found in its group. */
static void show_sharing(const struct actions *a, const struct entry *en, struct json_out *o)
{
	jo_array(o, "shares_group_with");
	for (const struct entry *other = en->older; en->shared && other; other = other->older)
		if (other->leaf == en->leaf && other->left > 0)
			jo_u64(o, NULL, other->id);
	(void)a;
	jo_end_array(o);
}

static void show_use(const struct entry *en, struct json_out *o)
{
	milliseconds(o, "wall_ms", wall_us(en));
	milliseconds(o, "cpu_ms", en->cpu_us);
	number(o, "peak_memory_bytes", en->peak_bytes);
	jo_object(o, "processes");
	number(o, "made", en->made);
	number(o, "left_running", en->left);
	jo_end_object(o);
	number(o, "bytes_written", en->written);
	number(o, "bytes_to_disk", en->stored);
}

void entry_show(const struct actions *a, const struct entry *en, bool full, struct json_out *o)
{
	const struct server *s = a->server;
	const struct ctl_boot *boot = s->boot;

	jo_object(o, NULL);
	jo_u64(o, "id", en->id);
	jo_string(o, "kind", kind_names[en->kind]);
	jo_string(o, "what", en->what);
	jo_string(o, "state", state_names[en->state]);
	time_text(o, "asked_at", en->asked_at);
	number(o, "exit_code", en->exit_code);
	if (en->of)
		jo_u64(o, "continues", en->of);
	if (full) {
		show_use(en, o);
		number(o, "group", boot->n_leaves ? (int64_t)en->leaf : ENTRY_UNKNOWN);
		show_sharing(a, en, o);
		violations_show(&en->violations, boot, o, "violations");
		violations_show_unseen(boot, boot->filter_tells && !s->procs.untold, o,
				       "not_observed");
	} else {
		milliseconds(o, "wall_ms", wall_us(en));
		jo_u64(o, "violations", en->violations.n + (en->violations.unlisted > 0));
	}
	jo_end_object(o);
}
