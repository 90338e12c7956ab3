/* SPDX-License-Identifier: MIT */
/* runtime.c - see runtime.h. */
#include "api/runtime.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/events.h"
#include "api/held.h"
#include "api/label.h"
#include "api/operation.h"
#include "api/server.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/lifecycle.h"
#include "session/record.h"

/* V1's SDK reads both columns, its application server the first; a pair that does not fit is taken
 * for a start that hangs. "ready" is said of what answers, and of nothing else. */
static const struct {
	const char *status, *pod_status;
} states[RUNTIME_STATES] = {
	[RUNTIME_STARTING] = { "starting", "pending" },
	[RUNTIME_RUNNING] = { "running", "ready" },
	[RUNTIME_FROZEN] = { "paused", "not found" },
	[RUNTIME_PAUSED] = { "paused", "not found" },
	[RUNTIME_ENDED] = { "error", "failed" },
	[RUNTIME_FAILED] = { "error", "failed" },
};

const char *runtime_status(enum runtime_state s)
{
	return states[s].status;
}

const char *runtime_pod_status(enum runtime_state s)
{
	return states[s].pod_status;
}

struct runtime *runtime_new(struct server *s, const char *name)
{
	struct runtime *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->server = s;
	r->name = strdup(name);
	r->end.fd = -1;
	r->last = &r->first;
	r->since_ms = loop_now();
	if (r->name)
		return r;
	free(r);
	return NULL;
}

static void unwatch(struct runtime *r)
{
	loop_remove(&r->server->loop, &r->end);
	drop_fd(&r->end.fd);
}

void runtime_free(struct runtime *r)
{
	unwatch(r);
	held_drop(r);
	explicit_bzero(r->key, sizeof(r->key));
	free(r->name);
	free(r->template);
	free(r->program_key);
	free(r->shape);
	free(r->fresh);
	free(r->created);
	free(r->detail);
	free(r->logs);
	free(r);
}

void runtime_set(struct runtime *r, enum runtime_state state, const char *detail)
{
	free(r->detail);
	r->detail = detail ? strdup(detail) : NULL; /* without memory it is not told why */
	free(take_ptr(&r->logs));
	r->state = state;
	r->since_ms = loop_now();
	if (state != RUNTIME_RUNNING && state != RUNTIME_FROZEN)
		unwatch(r);
	events_tell(r);
}

void runtime_claimed(struct runtime *r)
{
	r->since_ms = loop_now();
	r->claimed_ms = r->since_ms;
	events_tell(r);
}

void runtime_log(struct runtime *r, const char *log)
{
	free(r->logs);
	r->logs = strdup(log); /* without memory it is not told */
}

void runtime_break(struct runtime *r, const char *why, const char *log)
{
	free(r->detail);
	r->detail = strdup(why);
	runtime_log(r, log && *log ? log : why);
	log_warn("session %s (%s): %s", r->id, r->name, why);
	events_tell(r);
}

static int put_text(char **to, const char *text, struct err *e)
{
	char *copy = text ? str_dup(text, e) : NULL;

	if (text && !copy)
		return -e->code;
	free(*to);
	*to = copy;
	return 0;
}

static int watch(struct runtime *r, const struct record *record, struct err *e)
{
	if (r->end.fd >= 0)
		return 0;
	r->end.fd = lifecycle_init_open(record, e);
	if (r->end.fd < 0)
		return r->end.fd;
	r->end.events = EPOLLIN;
	r->end.ready = runtime_ended;
	if (loop_add(&r->server->loop, &r->end, e) == 0)
		return 0;
	drop_fd(&r->end.fd);
	return -e->code;
}

static enum runtime_state state_of(const struct record *record, bool alive)
{
	if (record->paused && str_eq(record->paused, RECORD_ON_DISK))
		return RUNTIME_PAUSED;
	if (!alive)
		return RUNTIME_ENDED;
	if (!record->ready)
		return RUNTIME_STARTING; /* by somebody else, or by a daemon that is no more */
	return record->paused ? RUNTIME_FROZEN : RUNTIME_RUNNING;
}

int runtime_read(struct runtime *r, const struct record *record, struct err *e)
{
	struct label label = { 0 };

	memcpy(r->id, record->id, sizeof(r->id));
	memcpy(r->key, record->key, sizeof(r->key));
	r->port = r->url_port = record->host_port;
	r->wakes = record->wakes;
	r->up_ticks = record->init_start;
	r->n_ports = 0;
	for (unsigned i = 0; i < record->n_ports && i < RUNTIME_PORTS_MAX; i++)
		r->ports[r->n_ports++] =
			(struct runtime_port) { record->ports[i].host, record->ports[i].inside };
	if (label_parse(record->label, &label, e) < 0)
		return err_wrap(e, "session %s", r->id);
	for (unsigned i = 0; label.program_port && i < r->n_ports; i++)
		if (r->ports[i].inside == label.program_port)
			r->url_port = r->ports[i].host;
	if (put_text(&r->template, label.template, e) < 0 ||
	    put_text(&r->program_key, label.program_key, e) < 0 ||
	    put_text(&r->shape, record->name ? NULL : label.shape, e) < 0 ||
	    put_text(&r->fresh, record->name ? NULL : label.fresh, e) < 0 ||
	    put_text(&r->created, record->created, e) < 0) {
		label_clear(&label);
		return -e->code;
	}
	label_clear(&label);
	return 0;
}

int runtime_follow(struct runtime *r, const struct record *record, bool alive, struct err *e)
{
	enum runtime_state state = state_of(record, alive);

	if (runtime_read(r, record, e) < 0)
		return -e->code;
	if (r->state != state)
		runtime_set(r, state, NULL);
	if (alive || !record->paused)
		held_drop(r);
	else
		held_take(r);
	if (!alive || state == RUNTIME_STARTING || watch(r, record, e) == 0)
		return 0;
	if (e->code != ESRCH)
		return -e->code;
	/* It has ended in this moment: by itself, or because somebody else puts it to rest. */
	if (state != RUNTIME_PAUSED)
		runtime_set(r, RUNTIME_ENDED, NULL);
	return 0;
}

/* --- as clients are shown it ----------------------------------------------------------------- */

/* The operator's own pattern. Where that tells sessions by their ids alone, it leads to one port. */
static const char *pattern(const struct runtime *r, uint16_t port)
{
	const char *own = r->server->config->url;

	return own && (port == r->url_port || strstr(own, "{port}")) ? own : "http://{host}:{port}";
}

void runtime_url(const struct runtime *r, uint16_t port, struct buf *out)
{
	const struct config *c = r->server->config;
	const char *at = pattern(r, port);

	while (*at) {
		if (str_starts(at, "{host}")) {
			buf_puts(out, c->advertise);
			at += strlen("{host}");
		} else if (str_starts(at, "{port}")) {
			buf_printf(out, "%u", port);
			at += strlen("{port}");
		} else if (str_starts(at, "{runtime_id}")) {
			buf_puts(out, r->id);
			at += strlen("{runtime_id}");
		} else {
			buf_putc(out, *at++);
		}
	}
}

static void url_field(struct json_out *o, const struct runtime *r)
{
	autobuf struct buf url = { 0 };

	if (r->url_port)
		runtime_url(r, r->url_port, &url);
	/* A string in every state: one reader takes it for one before it looks at the state. */
	jo_string(o, "url", buf_str(&url));
}

/* The ports inside that an agent may serve on, by the URL that leads there. */
static void work_hosts(struct json_out *o, const struct runtime *r)
{
	jo_object(o, "work_hosts");
	for (unsigned i = 0; i < r->n_ports; i++) {
		autobuf struct buf url = { 0 };

		if (r->ports[i].host == r->url_port)
			continue;
		runtime_url(r, r->ports[i].host, &url);
		jo_u64(o, buf_str(&url), r->ports[i].inside);
	}
	jo_end_object(o);
}

static void empty_list(struct json_out *o, const char *key)
{
	jo_array(o, key);
	jo_end_array(o);
}

/* The SDK shows these alone, so they say as well why there is no session. */
static const char *pod_logs(const struct runtime *r)
{
	if (r->logs)
		return r->logs;
	return r->state == RUNTIME_FAILED && r->detail ? r->detail : "";
}

void runtime_json(struct json_out *o, const char *key, const struct runtime *r)
{
	/* A session without the program that it was started for is of no use to its client. */
	enum runtime_state shown = r->logs ? RUNTIME_ENDED : r->state;

	jo_object(o, key);
	jo_string(o, "session_id", r->name);
	jo_string(o, "runtime_id", r->id[0] ? r->id : r->name);
	url_field(o, r);
	/* V0 keeps an old one where it is missing, and V1's application server indexes it: always there,
	 * and never null, which V0 would send as a header. */
	jo_string(o, "session_api_key", r->program_key ? r->program_key : r->key);
	jo_string(o, "status", runtime_status(shown));
	jo_string(o, "pod_status", runtime_pod_status(shown));
	jo_string(o, "status_detail", r->detail);
	jo_u64(o, "restart_count", r->restarts);
	empty_list(o, "restart_reasons");
	empty_list(o, "container_statuses");
	empty_list(o, "events");
	jo_string(o, "pod_logs", pod_logs(r));
	work_hosts(o, r);
	jo_end_object(o);
}
