/* SPDX-License-Identifier: MIT */
/* metrics.c - see metrics.h. */
#include "api/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/operation.h"
#include "api/server.h"

_Static_assert((int)OPERATIONS == (int)METRICS_OPERATIONS, "every operation is counted");

/* Upper bounds, in microseconds. */
static const uint64_t bounds[METRICS_BUCKETS] = { 1000,	 2500,	 5000,	  10000,    25000,
						  50000, 100000, 1000000, 10000000, UINT64_MAX };

void metrics_request(struct metrics *m, int status)
{
	int class = status / 100;

	if (class > 0 && class < METRICS_CLASSES)
		m->requests[class]++;
}

void metrics_operation(struct metrics *m, unsigned operation, uint64_t us, bool failed)
{
	m->operation[operation].done++;
	m->operation[operation].failed += failed;
	m->operation[operation].us += us;
	for (unsigned i = 0; i < METRICS_BUCKETS; i++)
		if (us <= bounds[i])
			m->operation[operation].within[i]++;
}

/* --- as Prometheus reads it ------------------------------------------------------------------ */

static void about(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP ohsandbox_%s %s\n# TYPE ohsandbox_%s %s\n", name, help, name, type);
}

static void sessions(const struct server *s, struct buf *out)
{
	static const char *const states[RUNTIME_STATES] = { "starting", "running", "frozen",
							    "paused",	"ended",   "failed" };
	unsigned n[RUNTIME_STATES] = { 0 }, ready = 0;

	for (const struct runtime *r = s->runtimes; r; r = r->next)
		if (!r->shape)
			n[r->state]++;
		else
			ready += r->state == RUNTIME_RUNNING;
	about(out, "sessions", "gauge", "Sessions by state.");
	for (unsigned i = 0; i < RUNTIME_STATES; i++)
		buf_printf(out, "ohsandbox_sessions{state=\"%s\"} %u\n", states[i], n[i]);
	buf_printf(out, "ohsandbox_sessions{state=\"warm\"} %u\n", ready);
	about(out, "warm_starts_total", "counter", "Starts that were given a session held ready.");
	buf_printf(out, "ohsandbox_warm_starts_total %" PRIu64 "\n", s->pool.taken);
}

static void requests(const struct metrics *m, struct buf *out)
{
	about(out, "requests_total", "counter", "Requests answered, by class of status.");
	for (unsigned i = 1; i < METRICS_CLASSES; i++)
		buf_printf(out, "ohsandbox_requests_total{class=\"%uxx\"} %" PRIu64 "\n", i,
			   m->requests[i]);
}

static void operations(const struct metrics *m, struct buf *out)
{
	about(out, "operation_failures_total", "counter", "Operations that failed.");
	for (unsigned i = 0; i < OPERATIONS; i++)
		buf_printf(out,
			   "ohsandbox_operation_failures_total{operation=\"%s\"} %" PRIu64 "\n",
			   operation_name(i), m->operation[i].failed);
	about(out, "operation_seconds", "histogram", "How long operations took.");
	for (unsigned i = 0; i < OPERATIONS; i++) {
		const char *name = operation_name(i);

		for (unsigned b = 0; b < METRICS_BUCKETS; b++) {
			char le[24] = "+Inf";

			if (bounds[b] != UINT64_MAX)
				(void)snprintf(le, sizeof(le), "%g", (double)bounds[b] / 1e6);
			buf_printf(
				out,
				"ohsandbox_operation_seconds_bucket{operation=\"%s\",le=\"%s\"} %" PRIu64
				"\n",
				name, le, m->operation[i].within[b]);
		}
		buf_printf(out,
			   "ohsandbox_operation_seconds_sum{operation=\"%s\"} %.6f\n"
			   "ohsandbox_operation_seconds_count{operation=\"%s\"} %" PRIu64 "\n",
			   name, (double)m->operation[i].us / 1e6, name, m->operation[i].done);
	}
}

void metrics_show(const struct server *s, struct buf *out)
{
	about(out, "uptime_seconds", "gauge", "Since the daemon began.");
	buf_printf(out, "ohsandbox_uptime_seconds %.3f\n",
		   (double)(loop_now() - s->began_ms) / 1000);
	about(out, "jobs", "gauge", "Processes at work on sessions.");
	buf_printf(out, "ohsandbox_jobs %u\n", s->jobs.running + s->waits.running);
	about(out, "calls", "gauge", "Processes at what clients wait for of a session.");
	buf_printf(out, "ohsandbox_calls %u\n", s->calls.running);
	sessions(s, out);
	requests(&s->metrics, out);
	operations(&s->metrics, out);
}
