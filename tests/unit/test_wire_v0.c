/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/wire_v0.h"

#include "unit.h"

static void refused(const char *body, int status, const char *part)
{
	struct wire_refusal why = { 0 };
	struct action a;

	assert_true(wire_v0_action(body, strlen(body), &a, &why) < 0);
	assert_int_equal(why.status, status);
	if (!strstr(why.text, part))
		fail_msg("'%s' does not say '%s'", why.text, part);
}

static void a_run_has_its_arguments_and_defaults(void **state)
{
	static const char body[] =
		"{\"action\":{\"message\":\"Running command: echo hi\",\"action\":\"run\",\"args\":{\"command\":"
		"\"echo hi\",\"is_input\":false,\"thought\":\"\",\"blocking\":true,\"is_static\":false,\"cwd\":null,"
		"\"hidden\":false,\"confirmation_state\":\"confirmed\",\"security_risk\":-1},\"timeout\":1.5}}";
	struct wire_refusal why = { 0 };
	struct action a;

	(void)state;
	assert_int_equal(wire_v0_action(body, strlen(body), &a, &why), 0);
	assert_int_equal(a.kind, ACTION_RUN);
	assert_string_equal(a.run.command.at, "echo hi");
	assert_true(a.run.blocking);
	assert_false(a.run.is_input);
	assert_null(a.run.cwd.at);
	assert_int_equal(a.timeout_ms, 1500);
	action_clear(&a);
}

static void lines_of_a_file_are_taken(void **state)
{
	static const char read[] =
		"{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"a\",\"start\":2,\"end\":5}}}";
	static const char write[] =
		"{\"action\":{\"action\":\"write\",\"args\":{\"path\":\"a\",\"content\":\"x\\u0000y\"}}}";
	struct wire_refusal why = { 0 };
	struct action a;

	(void)state;
	assert_int_equal(wire_v0_action(read, strlen(read), &a, &why), 0);
	assert_int_equal(a.read.start, 2);
	assert_int_equal(a.read.end, 5);
	assert_int_equal(a.timeout_ms, 0);
	action_clear(&a);
	assert_int_equal(wire_v0_action(write, strlen(write), &a, &why), 0);
	assert_int_equal(a.write.content.len, 3);
	assert_int_equal(a.write.end, -1);
	action_clear(&a);
}

static void a_body_that_is_no_request_is_422(void **state)
{
	(void)state;
	refused("", 422, "");
	refused("[]", 422, "'action' is missing");
	refused("{}", 422, "'action' is missing");
	refused("{\"action\":1}", 422, "must be an object");
	refused("{\"action\":{}", 422, "");
	refused("{\"action\":{}} x", 422, "");
	refused("{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"\xff\"}}}", 422, "");
}

static void what_no_executor_does_is_said_in_the_references_words(void **state)
{
	(void)state;
	refused("{\"action\":{}}", 500, "Unknown event type: ");
	refused("{\"action\":{\"observation\":\"run\"}}", 500, "400: Invalid action type");
	refused("{\"action\":{\"action\":\"fly\",\"args\":{}}}", 500,
		"is not defined. Available actions:");
	refused("{\"action\":{\"action\":\"run\",\"args\":{}}}", 500, "has the wrong arguments:");
	refused("{\"action\":{\"action\":\"run\"}}", 500, "has the wrong arguments:");
	refused("{\"action\":{\"action\":\"think\",\"args\":{\"thought\":\"\"}}}", 500,
		"'ActionExecutor' object has no attribute 'think'");
	refused("{\"action\":{\"action\":\"run\",\"source\":\"moon\",\"args\":{\"command\":\"a\"}}}",
		500, "'moon' is not a valid EventSource");
}

static void a_wrong_type_names_its_field(void **state)
{
	(void)state;
	refused("{\"action\":{\"action\":\"run\",\"args\":{\"command\":1}}}", 500,
		"'command' must be a string");
	refused("{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"a\",\"hidden\":1}}}", 500,
		"'hidden' must be true or false");
	refused("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"a\",\"start\":\"1\"}}}", 500,
		"'start' must be an integer");
	refused("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"a\\u0000b\"}}}", 500,
		"'path' is no path");
	refused("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"\"}}}", 500,
		"'path' is no path");
	refused("{\"action\":{\"action\":\"run\",\"args\":[]}}", 500, "'args' must be an object");
	refused("{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"a\"},\"timeout\":-1}}",
		500, "'timeout'");
	refused("{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"a\"},\"timeout\":1e99}}",
		500, "'timeout'");
}

static void nesting_without_end_is_refused(void **state)
{
	char *deep = malloc(100002);

	(void)state;
	memset(deep, '[', 100000);
	strcpy(deep + 100000, "]");
	refused(deep, 422, "");
	free(deep);
}

static void a_finished_command_is_told_as_the_reference_does(void **state)
{
	struct observation o = { .kind = OBSERVED_RUN,
				 .command = { "echo hi", 7 },
				 .background = -1,
				 .user = "root",
				 .hostname = "vm",
				 .cwd = "/workspace",
				 .python = "/usr/bin/python" };
	struct buf out = { 0 };

	(void)state;
	buf_puts(&o.content, "hi");
	buf_puts(&o.suffix, "\n[The command completed with exit code 0.]");
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"Command `echo hi` executed with exit code 0.\",\"observation\":\"run\",\"content\":"
		"\"hi\",\"extras\":{\"command\":\"echo hi\",\"metadata\":{\"exit_code\":0,\"pid\":-1,\"username\":"
		"\"root\",\"hostname\":\"vm\",\"working_dir\":\"/workspace\",\"py_interpreter_path\":"
		"\"/usr/bin/python\",\"prefix\":\"\",\"suffix\":\"\\n[The command completed with exit code 0.]\"},"
		"\"hidden\":false},\"success\":true}");
	observation_clear(&o);
	buf_clear(&out);
}

static void other_observations_have_no_key_a_client_would_refuse(void **state)
{
	struct observation o = { .kind = OBSERVED_READ };
	struct buf out = { 0 };

	(void)state;
	buf_puts(&o.path, "/a");
	buf_puts(&o.content, "x");
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"I read the file /a.\",\"observation\":\"read\",\"content\":"
		"\"x\",\"extras\":{\"path\":\"/a\",\"impl_source\":\"default\"}}");
	buf_reset(&out);
	o.kind = OBSERVED_WRITE;
	buf_reset(&o.content);
	wire_v0_observation(&o, &out);
	assert_string_equal(buf_str(&out),
			    "{\"message\":\"I wrote to the file /a.\",\"observation\":\"write\","
			    "\"content\":\"\",\"extras\":{\"path\":\"/a\"}}");
	buf_reset(&out);
	o.kind = OBSERVED_ERROR;
	buf_puts(&o.content, "no");
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"no\",\"observation\":\"error\",\"content\":\"no\",\"extras\":"
		"{\"error_id\":\"\"}}");
	observation_clear(&o);
	buf_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_its_arguments_and_defaults),
		cmocka_unit_test(lines_of_a_file_are_taken),
		cmocka_unit_test(a_body_that_is_no_request_is_422),
		cmocka_unit_test(what_no_executor_does_is_said_in_the_references_words),
		cmocka_unit_test(a_wrong_type_names_its_field),
		cmocka_unit_test(nesting_without_end_is_refused),
		cmocka_unit_test(a_finished_command_is_told_as_the_reference_does),
		cmocka_unit_test(other_observations_have_no_key_a_client_would_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
