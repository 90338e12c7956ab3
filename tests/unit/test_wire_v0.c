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

static void a_cell_has_its_arguments_and_defaults(void **state)
{
	static const char short_body[] =
		"{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"a\\u0000b\"}}}";
	static const char body[] =
		"{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"1\",\"thought\":\"\","
		"\"include_extra\":false,\"confirmation_state\":\"confirmed\",\"security_risk\":-1,"
		"\"kernel_init_code\":\"import os\"},\"timeout\":120.0}}";
	struct wire_refusal why = { 0 };
	struct action a;

	(void)state;
	assert_int_equal(wire_v0_action(short_body, strlen(short_body), &a, &why), 0);
	assert_int_equal(a.kind, ACTION_IPYTHON);
	assert_int_equal(a.ipython.code.len, 3);
	assert_int_equal(a.ipython.first.len, 0);
	assert_true(a.ipython.with_places);
	assert_int_equal(a.timeout_ms, 0);
	action_clear(&a);
	assert_int_equal(wire_v0_action(body, strlen(body), &a, &why), 0);
	assert_string_equal(a.ipython.code.at, "1");
	assert_string_equal(a.ipython.first.at, "import os");
	assert_false(a.ipython.with_places);
	assert_int_equal(a.timeout_ms, 120000);
	action_clear(&a);
}

static void cells_and_browsing_without_what_they_need_are_refused(void **state)
{
	(void)state;
	refused("{\"action\":{\"action\":\"run_ipython\",\"args\":{}}}", 500,
		"action 'run_ipython' has the wrong arguments: 'code' is missing");
	refused("{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"1\","
		"\"include_extra\":\"yes\"}}}",
		500, "'include_extra' must be true or false");
	refused("{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"1\","
		"\"kernel_init_code\":1}}}",
		500, "'kernel_init_code' must be a string");
	refused("{\"action\":{\"action\":\"browse\",\"args\":{\"url\":1}}}", 500,
		"'url' must be a string");
	refused("{\"action\":{\"action\":\"browse_interactive\",\"args\":{\"url\":\"x\"}}}", 500,
		"'browser_actions' is missing");
	refused("{\"action\":{\"action\":\"browse_interactive\",\"args\":{\"browser_actions\":\"x\","
		"\"return_axtree\":1}}}",
		500, "'return_axtree' must be true or false");
}

static void decoded(const char *args, const char *name, struct action *a)
{
	struct wire_refusal why = { 0 };
	char body[1000];

	(void)snprintf(body, sizeof(body), "{\"action\":{\"action\":\"%s\",\"args\":{%s}}}", name,
		       args);
	if (wire_v0_action(body, strlen(body), a, &why) < 0)
		fail_msg("'%s': %s", body, why.text);
}

static void a_read_of_the_editor_has_a_range(void **state)
{
	static const struct {
		const char *json, *shown;
		bool good;
	} ranges[] = {
		{ "[2,-1]", "[2, -1]", true },
		{ "[1]", "[1]", false },
		{ "[1,2,3]", "[1, 2, 3]", false },
		{ "[1,2.5]", "[1, 2.5]", false },
		{ "[null,true]", "[None, True]", false },
		{ "[\"a\",[1],{}]", "['a', [...], {...}]", false },
		{ "[\"0123456789012345678901234567890123456789012345678901234567890123456789abcde\xc3\xa9\"]",
		  "['0123456789012345678901234567890123456789012345678901234567890123456789abc...]",
		  false },
	};
	struct action a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		char args[200];

		(void)snprintf(args, sizeof(args),
			       "\"path\":\"/a\",\"impl_source\":\"oh_aci\",\"view_range\":%s",
			       ranges[i].json);
		decoded(args, "read", &a);
		assert_int_equal(a.kind, ACTION_READ);
		assert_true(a.read.editor);
		assert_true(a.read.range.given);
		assert_string_equal(a.read.range.shown, ranges[i].shown);
		assert_int_equal(a.read.range.good, ranges[i].good);
		if (i == 0) {
			assert_int_equal(a.read.range.first, 2);
			assert_int_equal(a.read.range.last, -1);
		}
		action_clear(&a);
	}
	decoded("\"path\":\"\",\"impl_source\":\"oh_aci\",\"view_range\":[]", "read", &a);
	assert_false(a.read.range.given);
	assert_string_equal(a.read.path.at, "");
	action_clear(&a);
	decoded("\"path\":\"/a\",\"impl_source\":\"default\",\"view_range\":[1,2]", "read", &a);
	assert_false(a.read.editor);
	action_clear(&a);
}

static void an_edit_has_what_was_given_and_no_more(void **state)
{
	struct action a;

	(void)state;
	decoded("\"path\":\"/a\",\"command\":\"str_replace\",\"old_str\":\"\",\"new_str\":null,"
		"\"insert_line\":null,\"content\":\"\",\"start\":1,\"end\":-1,\"thought\":\"\","
		"\"impl_source\":\"oh_aci\",\"security_risk\":-1",
		"edit", &a);
	assert_int_equal(a.kind, ACTION_EDIT);
	assert_string_equal(a.edit.command.at, "str_replace");
	assert_string_equal(a.edit.old_str.at, "");
	assert_null(a.edit.new_str.at);
	assert_null(a.edit.file_text.at);
	assert_false(a.edit.line_given);
	action_clear(&a);
	decoded("\"path\":\"/a\"", "edit", &a);
	assert_string_equal(a.edit.command.at, "");
	action_clear(&a);
}

static void the_line_of_an_edit_may_be_a_text(void **state)
{
	static const struct {
		const char *json;
		bool good;
		int64_t line;
	} lines[] = {
		{ "7", true, 7 },	  { "-1", true, -1 },
		{ "\"12\"", true, 12 },	  { "\" +1_0\\n\"", true, 10 },
		{ "\"-3\"", true, -3 },	  { "\"99999999999999999999999\"", true, INT64_MAX },
		{ "\"\"", false, 0 },	  { "\"2x\"", false, 0 },
		{ "\"1.0\"", false, 0 },  { "\"_1\"", false, 0 },
		{ "\"1__0\"", false, 0 }, { "\"1_\"", false, 0 },
		{ "\"-\"", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct action a;
		char args[200];

		(void)snprintf(args, sizeof(args), "\"path\":\"/a\",\"insert_line\":%s",
			       lines[i].json);
		decoded(args, "edit", &a);
		assert_true(a.edit.line_given);
		assert_int_equal(!a.edit.bad_line.at, lines[i].good);
		if (lines[i].good)
			assert_int_equal(a.edit.line, lines[i].line);
		action_clear(&a);
	}
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
	refused("{\"action\":{\"action\":\"edit\",\"args\":{\"path\":\"/a\",\"insert_line\":1.5}}}",
		500, "'insert_line' must be an integer");
	refused("{\"action\":{\"action\":\"edit\",\"args\":{\"path\":\"a\\u0000b\"}}}", 500,
		"'path' is no path");
	refused("{\"action\":{\"action\":\"edit\",\"args\":{}}}", 500, "'path' is missing");
	refused("{\"action\":{\"action\":\"edit\",\"args\":{\"path\":\"/a\",\"old_str\":1}}}", 500,
		"'old_str' must be a string");
	refused("{\"action\":{\"action\":\"edit\",\"args\":{\"path\":\"/a\",\"impl_source\":"
		"\"llm_based_edit\"}}}",
		500, "'llm_based_edit' is the client's to do");
	refused("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"/a\",\"impl_source\":\"x\"}}}",
		500, "'impl_source' is none that is known");
	refused("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"/a\",\"impl_source\":\"oh_aci\","
		"\"view_range\":\"1\"}}}",
		500, "'view_range' must be a list");
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
	o.kind = OBSERVED_READ;
	o.editor = true;
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"I read the file /a.\",\"observation\":\"read\",\"content\":"
		"\"\",\"extras\":{\"path\":\"/a\",\"impl_source\":\"oh_aci\"}}");
	buf_reset(&out);
	o.kind = OBSERVED_EDIT;
	o.old_str = text_of("old");
	buf_puts(&o.content, "c");
	buf_puts(&o.diff, "d");
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"I edited the file /a.\",\"observation\":\"edit\",\"content\":\"c\","
		"\"extras\":{\"path\":\"/a\",\"prev_exist\":false,\"old_content\":\"old\","
		"\"new_content\":null,\"impl_source\":\"oh_aci\",\"diff\":\"d\",\"_diff_cache\":null}}");
	buf_reset(&out);
	buf_reset(&o.content);
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

static void a_cell_is_told_with_its_images(void **state)
{
	struct observation o = { .kind = OBSERVED_IPYTHON, .code = { "f()", 3 } };
	struct buf out = { 0 };

	(void)state;
	buf_puts(&o.content, "<P>");
	wire_v0_observation(&o, &out);
	assert_string_equal(buf_str(&out),
			    "{\"message\":\"Code executed in IPython cell.\",\"observation\":"
			    "\"run_ipython\",\"content\":\"<P>\",\"extras\":{\"code\":\"f()\","
			    "\"image_urls\":null},\"success\":true}");
	buf_reset(&out);
	buf_puts(&o.images[0], "\x89PNG");
	buf_puts(&o.images[1], "ab");
	o.n_images = 2;
	wire_v0_observation(&o, &out);
	assert_string_equal(
		buf_str(&out),
		"{\"message\":\"Code executed in IPython cell.\",\"observation\":"
		"\"run_ipython\",\"content\":\"<P>\",\"extras\":{\"code\":\"f()\",\"image_urls\":["
		"\"data:image/png;base64,iVBORw==\",\"data:image/png;base64,YWI=\"]},\"success\":true}");
	observation_clear(&o);
	buf_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_its_arguments_and_defaults),
		cmocka_unit_test(lines_of_a_file_are_taken),
		cmocka_unit_test(a_cell_has_its_arguments_and_defaults),
		cmocka_unit_test(cells_and_browsing_without_what_they_need_are_refused),
		cmocka_unit_test(a_read_of_the_editor_has_a_range),
		cmocka_unit_test(an_edit_has_what_was_given_and_no_more),
		cmocka_unit_test(the_line_of_an_edit_may_be_a_text),
		cmocka_unit_test(a_body_that_is_no_request_is_422),
		cmocka_unit_test(what_no_executor_does_is_said_in_the_references_words),
		cmocka_unit_test(a_wrong_type_names_its_field),
		cmocka_unit_test(nesting_without_end_is_refused),
		cmocka_unit_test(a_finished_command_is_told_as_the_reference_does),
		cmocka_unit_test(other_observations_have_no_key_a_client_would_refuse),
		cmocka_unit_test(a_cell_is_told_with_its_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
