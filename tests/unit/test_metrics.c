/* SPDX-License-Identifier: MIT */
/* test_metrics.c - what is counted, and how it is told. */
#include "api/metrics.h"

#include "unit.h"

#include "api/operation.h"
#include "api/server.h"

static char *shown(struct server *s)
{
	struct buf text = { 0 };

	metrics_show(s, &text);
	return buf_take(&text);
}

static void assert_says(const char *text, const char *line)
{
	const char *found = strstr(text, line);

	if (!found || (found > text && found[-1] != '\n') || found[strlen(line)] != '\n')
		fail_msg("no line '%s' in: %s", line, text);
}

static void requests_are_counted_by_class(void **state)
{
	static const int statuses[] = { 200, 204, 307, 404, 422, 403, 500, 0, 99, 600, -1, 999 };
	struct server s = { 0 };
	autofree char *text = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		metrics_request(&s.metrics, statuses[i]);
	text = shown(&s);
	assert_says(text, "ohsandbox_requests_total{class=\"2xx\"} 2");
	assert_says(text, "ohsandbox_requests_total{class=\"3xx\"} 1");
	assert_says(text, "ohsandbox_requests_total{class=\"4xx\"} 3");
	assert_says(text, "ohsandbox_requests_total{class=\"5xx\"} 1");
}

static void times_fall_into_every_bucket_that_holds_them(void **state)
{
	struct server s = { 0 };
	autofree char *text = NULL;

	(void)state;
	metrics_operation(&s.metrics, OPERATION_START, 1000, false);
	metrics_operation(&s.metrics, OPERATION_START, 1001, false);
	metrics_operation(&s.metrics, OPERATION_START, 20000000, true);
	metrics_operation(&s.metrics, OPERATION_PAUSE, 0, false);
	text = shown(&s);
	assert_says(text, "ohsandbox_operation_seconds_bucket{operation=\"start\",le=\"0.001\"} 1");
	assert_says(text,
		    "ohsandbox_operation_seconds_bucket{operation=\"start\",le=\"0.0025\"} 2");
	assert_says(text, "ohsandbox_operation_seconds_bucket{operation=\"start\",le=\"10\"} 2");
	assert_says(text, "ohsandbox_operation_seconds_bucket{operation=\"start\",le=\"+Inf\"} 3");
	assert_says(text, "ohsandbox_operation_seconds_sum{operation=\"start\"} 20.002001");
	assert_says(text, "ohsandbox_operation_seconds_count{operation=\"start\"} 3");
	assert_says(text, "ohsandbox_operation_failures_total{operation=\"start\"} 1");
	assert_says(text, "ohsandbox_operation_failures_total{operation=\"stop\"} 0");
	assert_says(text, "ohsandbox_operation_seconds_count{operation=\"pause to disk\"} 1");
}

static void sessions_are_counted_by_state(void **state)
{
	struct runtime last = { .state = RUNTIME_PAUSED };
	struct runtime middle = { .state = RUNTIME_RUNNING, .next = &last };
	struct runtime first = { .state = RUNTIME_RUNNING, .next = &middle };
	struct server s = { .runtimes = &first };
	autofree char *text = shown(&s);

	(void)state;
	assert_says(text, "ohsandbox_sessions{state=\"running\"} 2");
	assert_says(text, "ohsandbox_sessions{state=\"paused\"} 1");
	assert_says(text, "ohsandbox_sessions{state=\"failed\"} 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_counted_by_class),
		cmocka_unit_test(times_fall_into_every_bucket_that_holds_them),
		cmocka_unit_test(sessions_are_counted_by_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
