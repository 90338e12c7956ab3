/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <signal.h>

#include "base/json.h"
#include "cli/cli.h"
#include "unit.h"

#define EXITED(n) ((n) << 8) /* as waitpid gives it */

static int status_of(const struct outcome *o)
{
	struct report r;

	report_init(&r);
	report_outcome(&r, o);
	return r.status;
}

static void statuses_are_the_commands_or_one_of_ours(void **state)
{
	(void)state;
	assert_int_equal(status_of(&(struct outcome) { .exited = true, .wait_status = EXITED(7) }),
			 7);
	assert_int_equal(status_of(&(struct outcome) { .exited = true, .wait_status = SIGKILL }),
			 137);
	assert_int_equal(status_of(&(struct outcome) { .deadline = true }), EXIT_DEADLINE);
	assert_int_equal(status_of(&(struct outcome) { .ended_by = SIGINT }), 130);
	assert_int_equal(status_of(&(struct outcome) { .hung_up = true }), 129);
	assert_int_equal(status_of(&(struct outcome) { .not_started = true }), EXIT_OURS);
	assert_int_equal(status_of(&(struct outcome) { .not_started = true,
						       .exec_failed = true,
						       .failure = { .code = ENOENT } }),
			 EXIT_NOT_FOUND);
	assert_int_equal(status_of(&(struct outcome) { .not_started = true,
						       .exec_failed = true,
						       .failure = { .code = EACCES } }),
			 EXIT_NOT_EXECUTABLE);
}

static void a_command_that_ended_in_time_keeps_its_status(void **state)
{
	const struct outcome o = { .exited = true, .wait_status = EXITED(0), .hung_up = true };

	(void)state;
	assert_int_equal(status_of(&o), 0);
}

static const char *line_of(const struct report *r, char text[200])
{
	autobuf struct buf out = { 0 };

	report_line(r, &out);
	(void)snprintf(text, 200, "%s", buf_str(&out));
	return text;
}

static void the_line_counts_and_names_limits(void **state)
{
	struct report r = { .has_changes = true, .changes = { .added = 1, .changed = 2 } };
	char text[200];

	(void)state;
	assert_string_equal(line_of(&r, text), "1 file added, 2 changed, 0 deleted");
	r.changes.added = 2;
	r.hit_memory = r.hit_timeout = true;
	r.kept = true;
	memcpy(r.id, "0123456789ab", 13);
	assert_string_equal(line_of(&r, text),
			    "2 files added, 2 changed, 0 deleted; limit hit: oom, "
			    "timeout; kept: ohsandbox diff 0123456789ab");
}

static void the_object_holds_every_key_whatever_happened(void **state)
{
	static const char *const keys[] = {
		"id",	  "exit_status",       "signal",     "stages",	"wall_ms",
		"cpu_ms", "peak_memory_bytes", "limits_hit", "changes", "kept",
		"error"
	};
	static const struct json_limits limits = { 1 << 20, 8, 200 };
	autobuf struct buf out = { 0 };
	autojson struct json_doc *doc = NULL;
	struct err e = { 0 };
	struct report r;

	(void)state;
	report_init(&r);
	lap(&r.laps, "one");
	(void)err_code(&r.error, EINVAL, "a \"quoted\" reason");
	report_json(&r, &out);
	assert_ok(json_parse(buf_str(&out), out.len, &limits, &doc, &e));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_non_null(json_get(json_root(doc), keys[i]));
	assert_int_equal(json_get(json_root(doc), "changes")->type, JSON_NULL);
	assert_string_equal(json_get(json_root(doc), "error")->string.bytes, "a \"quoted\" reason");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_the_commands_or_one_of_ours),
		cmocka_unit_test(a_command_that_ended_in_time_keeps_its_status),
		cmocka_unit_test(the_line_counts_and_names_limits),
		cmocka_unit_test(the_object_holds_every_key_whatever_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
