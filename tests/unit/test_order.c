/* SPDX-License-Identifier: MIT */
/* test_order.c - what a client sent and the operator configured, as the request of a session. */
#include "api/order.h"

#include "unit.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/strv.h"

/* src/repo and src/other@home are repositories, secret is one beside; outer is one around "in". */
static int places_setup(void **state)
{
	static const char *const dirs[] = {
		"src",	       "src/repo",	 "src/repo/.git",	"src/repo/sub",
		"src/plain",   "src/other@home", "src/other@home/.git", "secret",
		"secret/.git", "outer",		 "outer/.git",		"outer/in"
	};
	const struct scratch *s;

	if (scratch_setup(state) < 0)
		return -1;
	s = *state;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (mkdirat(s->dir, dirs[i], 0755) < 0)
			return -1;
	return symlinkat("../secret", s->dir, "src/way-out");
}

#define places_test(f) cmocka_unit_test_setup_teardown(f, places_setup, scratch_teardown)

/* "$" stands for the scratch directory. */
static char *at(const struct scratch *s, const char *text)
{
	struct buf b = { 0 };

	for (; *text; text++)
		if (*text == '$')
			buf_puts(&b, s->path);
		else
			buf_putc(&b, *text);
	return buf_take(&b);
}

static int make(const struct scratch *s, const char *config, const char *body, struct order *o,
		struct err *e)
{
	autofree char *file = at(s, config), *text = at(s, body);
	struct start_body b;
	struct config *c = NULL;
	int result;

	if (config_parse(file, strlen(file), "c", &c, e) < 0 ||
	    start_body_parse(text, strlen(text), &b, e) < 0)
		fail_msg("%s", e->text);
	result = order_make(c, &b, "name", NULL, o, e);
	start_body_clear(&b);
	config_free(c);
	return result;
}

#define SRC "{\"repositories\": [\"$/src\"]}"

static void plain_image_is_an_empty_workspace(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_ok(make(*state, "{}", "{\"image\":\"img\",\"run_as_user\":10001}", &o, &e));
	assert_int_equal(o.request.kind, WORKSPACE_EMPTY);
	assert_string_equal(o.request.name, "name");
	assert_null(o.request.user);
	assert_null(o.request.rootfs);
	assert_null(o.policy);
	assert_true(o.request.persists);
	assert_int_equal(o.request.net, -1);
	assert_int_equal(o.request.n_publish, 3);
	assert_int_equal(o.request.publish[0].inside, ORDER_WORK_1);
	assert_int_equal(o.request.publish[1].inside, ORDER_WORK_2);
	assert_int_equal(o.request.publish[2].inside, ORDER_EDITOR);
	assert_string_equal(o.label.image, "img");
	assert_null(o.label.program);
	assert_null(o.label.program_key);
	order_clear(&o);
}

static void repository_is_found_by_image_or_variable(void **state)
{
	static const struct {
		const char *body, *path, *subdir, *rev;
	} cases[] = {
		{ "{\"image\":\"worktree:$/src/repo\"}", "$/src/repo", "", NULL },
		{ "{\"image\":\"worktree:$/src/repo/sub/\"}", "$/src/repo", "sub", NULL },
		{ "{\"image\":\"worktree:$/src/repo@v1.0\"}", "$/src/repo", "", "v1.0" },
		{ "{\"image\":\"worktree:$/src/repo@a@{1}\"}", NULL, NULL, NULL },
		{ "{\"image\":\"worktree:$/src/other@home\"}", "$/src/other@home", "", NULL },
		{ "{\"image\":\"worktree:$/src/other@home@main\"}", "$/src/other@home", "",
		  "main" },
		{ "{\"image\":\"img\",\"environment\":{\"OHSANDBOX_REPO\":\"$/src/repo@x\"}}",
		  "$/src/repo", "", "x" },
		{ "{\"image\":\"worktree:$/src/./repo/../repo\"}", "$/src/repo", "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct order o;
		struct err e = { 0 };
		autofree char *path = at(*state, cases[i].path ? cases[i].path : "");
		int result = make(*state, SRC, cases[i].body, &o, &e);

		if (!cases[i].path) {
			assert_int_equal(result, -EACCES);
			order_clear(&o);
			continue;
		}
		if (result < 0)
			fail_msg("%s: %s", cases[i].body, e.text);
		assert_int_equal(o.request.kind, WORKSPACE_REPO);
		assert_string_equal(o.request.path, path);
		assert_string_equal(o.request.subdir, cases[i].subdir);
		if (cases[i].rev)
			assert_string_equal(o.request.rev, cases[i].rev);
		else
			assert_null(o.request.rev);
		order_clear(&o);
	}
}

/* What is there and may not be named, and what is not there, are told with the same words. */
static void directory_that_may_not_be_named_is_refused_by_name(void **state)
{
	static const char *const paths[] = {
		"$/secret", "$/src/way-out",	  "$/src/repo/../../secret", "$/src/nothing", "/",
		"$",	    "$/src/way-out@main",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct order o;
		struct err e = { 0 };
		autofree char *body = str_fmt(&e, "{\"image\":\"worktree:%s\"}", paths[i]);

		assert_int_equal(make(*state, SRC, body, &o, &e), -EACCES);
		assert_non_null(strstr(e.text, "not among the repositories that clients may name"));
		order_clear(&o);
	}
}

/* The repository would be found above, where clients may name nothing. */
static void repository_around_an_allowed_directory_is_refused(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_int_equal(make(*state, "{\"repositories\": [\"$/outer/in\"]}",
			      "{\"image\":\"worktree:$/outer/in\"}", &o, &e),
			 -EACCES);
	order_clear(&o);
}

static void what_is_no_repository_is_refused(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_int_equal(make(*state, SRC, "{\"image\":\"worktree:relative\"}", &o, &e), -EINVAL);
	order_clear(&o);
	assert_int_equal(make(*state, SRC, "{\"image\":\"worktree:$/src/plain\"}", &o, &e),
			 -ERR_NONE_SUCH);
	order_clear(&o);
	assert_int_equal(make(*state, "{}", "{\"image\":\"worktree:$/src/repo\"}", &o, &e),
			 -EACCES);
	order_clear(&o);
}

#define TEMPLATE                                                                                 \
	"{\"only_templates\": true, \"templates\": [{\"name\": \"t\", \"image\": \"py:*\", "     \
	"\"repo\": \"$/secret\", \"rev\": \"main\", \"policy\": \"strict\", \"user\": \"root\"," \
	"\"rootfs\": \"/\", \"environment\": {\"A\": \"1\", \"B\": \"2\"}, \"net\": \"nat\", "   \
	"\"limits\": {\"memory\": \"100M\", \"cpus\": 1.5, \"pids\": 50}}]}"

static void template_says_what_an_image_is(void **state)
{
	struct order o;
	struct err e = { 0 };
	autofree char *secret = at(*state, "$/secret");

	assert_ok(
		make(*state, TEMPLATE,
		     "{\"image\":\"py:3\",\"environment\":{\"B\":\"mine\"},\"resource_factor\":4}",
		     &o, &e));
	assert_string_equal(o.request.path, secret);
	assert_string_equal(o.request.rev, "main");
	assert_string_equal(o.policy, "strict");
	assert_string_equal(o.request.rootfs, "/");
	assert_string_equal(o.request.user, "root");
	assert_int_equal(o.request.net, NET_NAT);
	assert_string_equal(strv_env_get(o.request.env, "A"), "1");
	assert_string_equal(strv_env_get(o.request.env, "B"), "mine");
	assert_int_equal(o.request.limits.memory_bytes, UINT64_C(400) << 20);
	assert_int_equal(o.request.limits.cpu_milli, 6000);
	assert_int_equal(o.request.limits.pids, 200);
	assert_true(o.request.limit_named[0] && o.request.limit_named[2] &&
		    o.request.limit_named[3]);
	assert_false(o.request.limit_named[1]);
	assert_string_equal(o.label.template, "t");
	order_clear(&o);
}

static void image_of_no_template_is_refused_where_only_those_may_be(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_refused(make(*state, TEMPLATE, "{\"image\":\"ruby\"}", &o, &e), ERR_NONE_SUCH,
		       "no template fits the image 'ruby', and the configuration allows no other");
	order_clear(&o);
}

static void first_generations_line_is_honoured(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_ok(
		make(*state, "{}",
		     "{\"image\":\"i\",\"working_dir\":\"/openhands/code\",\"command\":\"python -m "
		     "openhands.runtime.action_execution_server 60000 --working-dir /workspace/x "
		     "--username root --user-id 0\"}",
		     &o, &e));
	assert_string_equal(o.request.workdir, "/workspace/x");
	assert_string_equal(o.request.user, "root");
	assert_null(o.label.program);
	assert_null(o.label.directory);
	order_clear(&o);
}

static void program_that_is_there_gets_a_key_and_a_port_of_its_own(void **state)
{
	struct order o, other;
	struct err e = { 0 };
	static const char body[] =
		"{\"image\":\"i\",\"working_dir\":\"/workspace/project\",\"run_as_user\":0,"
		"\"command\":[\"sh\",\"-c\",\"x\",\"--port\",\"60000\"],"
		"\"environment\":{\"SESSION_API_KEY\":\"\",\"OH_SESSION_API_KEYS_0\":\"guess\","
		"\"LANG\":\"de\"}}";

	assert_ok(make(*state, "{}", body, &o, &e));
	assert_ok(make(*state, "{}", body, &other, &e));
	assert_string_equal(o.label.program[0], "sh");
	assert_int_equal(o.label.program_port, 60000);
	assert_string_equal(o.label.directory, "/workspace/project");
	assert_int_equal(strlen(o.label.program_key), 64);
	assert_string_not_equal(o.label.program_key, other.label.program_key);
	assert_string_equal(strv_env_get(o.request.env, "SESSION_API_KEY"), o.label.program_key);
	assert_string_equal(strv_env_get(o.request.env, "OH_SESSION_API_KEYS_0"),
			    o.label.program_key);
	assert_string_equal(strv_env_get(o.request.env, "LANG"), "de");
	assert_string_equal(strv_env_get(o.request.env, "LITELLM_LOCAL_MODEL_COST_MAP"), "True");
	/* No change of the workspace's, which may be a repository. */
	assert_string_equal(strv_env_get(o.request.env, "OH_CONVERSATIONS_PATH"),
			    "/var/tmp/openhands/conversations");
	assert_string_equal(o.request.user, "root");
	assert_int_equal(o.request.publish[0].inside, 60000);
	assert_int_equal(o.request.n_publish, 4);
	assert_string_equal(strv_env_get(o.request.env, "OH_VSCODE_PORT"), "60001");
	order_clear(&o);
	order_clear(&other);
}

/* What it would wait for there would be the network. */
static void agent_server_asks_no_network_at_its_start(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_ok(make(*state,
		       "{\"templates\": [{\"name\": \"t\", \"image\": \"*\", \"net\": \"nat\"}]}",
		       "{\"image\":\"i\",\"command\":[\"sh\"]}", &o, &e));
	assert_string_equal(strv_env_get(o.request.env, "LITELLM_LOCAL_MODEL_COST_MAP"), "True");
	order_clear(&o);
}

static void a_port_is_published_once(void **state)
{
	struct order o;
	struct err e = { 0 };

	assert_ok(make(*state, "{}", "{\"image\":\"i\",\"command\":[\"sh\",\"--port\",\"12001\"]}",
		       &o, &e));
	assert_int_equal(o.request.n_publish, 3);
	assert_int_equal(o.request.publish[0].inside, ORDER_WORK_2);
	order_clear(&o);
}

static void program_that_is_nowhere_leaves_the_native_executor(void **state)
{
	static const char *const commands[] = { "/usr/local/bin/openhands-agent-server-x --port 1",
						"no-such-program-at-all", "/etc/passwd",
						"/tmp/program" };

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		struct order o;
		struct err e = { 0 };
		autofree char *body =
			str_fmt(&e, "{\"image\":\"i\",\"command\":\"%s\"}", commands[i]);

		assert_ok(make(*state, "{}", body, &o, &e));
		assert_null(o.label.program);
		assert_int_equal(o.request.n_publish, 3);
		order_clear(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		places_test(plain_image_is_an_empty_workspace),
		places_test(repository_is_found_by_image_or_variable),
		places_test(directory_that_may_not_be_named_is_refused_by_name),
		places_test(repository_around_an_allowed_directory_is_refused),
		places_test(what_is_no_repository_is_refused),
		places_test(template_says_what_an_image_is),
		places_test(image_of_no_template_is_refused_where_only_those_may_be),
		places_test(first_generations_line_is_honoured),
		places_test(program_that_is_there_gets_a_key_and_a_port_of_its_own),
		places_test(agent_server_asks_no_network_at_its_start),
		places_test(a_port_is_published_once),
		places_test(program_that_is_nowhere_leaves_the_native_executor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
