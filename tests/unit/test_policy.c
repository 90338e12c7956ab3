/* SPDX-License-Identifier: MIT */
/* test_policy.c - what a policy's text means, and what is refused, by key and line. */
#include "unit.h"

#include "base/io.h"
#include "base/str.h"
#include "plan/filter.h"
#include "plan/policy.h"
#include "plan/policy_parts.h"

static const char parent_text[] =
	"{\"hostname\": \"parent\", \"limits\": {\"memory\": \"1G\", \"pids\": 7},\n"
	" \"environment\": {\"set\": {\"A\": \"1\", \"B\": \"2\"}},\n"
	" \"seccomp\": {\"rules\": [{\"allow\": [\"execve\", \"read\"]}]}}";

static int find_parent(const char *name, struct buf *text, struct err *e)
{
	if (str_eq(name, "grandchild")) {
		buf_puts(text, "{\"extends\": \"parent\"}");
		return 0;
	}
	if (!str_eq(name, "parent"))
		return err_code(e, ENOENT, "no policy '%s'", name);
	buf_puts(text, parent_text);
	return 0;
}

static int parse(const char *text, struct policy **p, struct err *e)
{
	return policy_parse(text, strlen(text), "x.json", find_parent, p, e);
}

static struct policy *parsed(const char *text)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_ok(parse(text, &p, &e));
	return p;
}

static void refused(const char *text, const char *words)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_true(parse(text, &p, &e) < 0);
	assert_null(p);
	assert_string_equal(e.text, words);
}

static void empty_policy_has_every_default(void **state)
{
	struct policy *p = parsed("{}");

	(void)state;
	assert_string_equal(p->user.name, "openhands");
	assert_int_equal(p->user.uid, 1000);
	assert_int_equal(p->user.gid, 0);
	assert_false(p->root_allowed);
	assert_int_equal(p->net, NET_NONE);
	assert_true(p->limits.memory_bytes == LIMIT_NONE);
	assert_int_equal(p->allow_degraded, 0);
	assert_int_equal(p->default_error, EPERM);
	assert_int_equal(strlen(p->digest), 64);
	policy_free(p);
}

static void values_are_taken(void **state)
{
	struct policy *p = parsed(
		"{\"user\": {\"name\": \"dev\", \"uid\": 1500, \"gid\": 1500, \"home\": \"/home/dev\"},\n"
		"\"root\": {\"allowed\": true, \"capabilities\": {\"CAP_CHOWN\": \"why\"}},\n"
		"\"limits\": {\"memory\": \"1.5G\", \"cpus\": \"1.5\", \"timeout\": \"30s\", \"pids\": null},\n"
		"\"network\": {\"mode\": \"nat\", \"resolvers\": [\"9.9.9.9\", \"2620:fe::fe\"]},\n"
		"\"allow_degraded\": [\"memory\", \"ids\"],\n"
		"\"mounts\": [{\"host\": \"~/data\", \"inside\": \"/data\", \"mode\": \"ro\"}],\n"
		"\"git\": {\"objects\": \"all\", \"name\": \"A B\", \"email\": \"a@b\"}}");

	(void)state;
	assert_string_equal(p->user.name, "dev");
	assert_int_equal(p->user.uid, 1500);
	assert_int_equal(p->root_caps, 1);
	assert_int_equal(p->limits.memory_bytes, 3ULL << 29);
	assert_int_equal(p->limits.cpu_milli, 1500);
	assert_int_equal(p->limits.timeout_ms, 30000);
	assert_int_equal(p->net, NET_NAT);
	assert_string_equal(p->resolvers[1], "2620:fe::fe");
	assert_int_equal(p->allow_degraded, DEGRADED_MEMORY | DEGRADED_IDS);
	assert_int_equal(p->n_mounts, 1);
	assert_int_equal(p->mounts[0].mode, MOUNT_MODE_RO);
	assert_int_equal(p->git_objects, GIT_OBJECTS_ALL);
	policy_free(p);
}

static void unknown_keys_are_named_with_their_line(void **state)
{
	(void)state;
	refused("{\n \"hostnmae\": \"x\"\n}", "x.json: line 2: unknown key 'hostnmae'");
	refused("{\"limits\": {\n\n\"memroy\": \"1G\"}}", "x.json: line 3: unknown key 'memroy'");
	refused("{\"seccomp\": {\"rules\": [\n{\"alow\": []}]}}",
		"x.json: line 2: unknown key 'alow'");
}

static void wrong_types_and_ranges_are_named(void **state)
{
	(void)state;
	refused("{\"hostname\": 3}", "x.json: line 1: 'hostname': must be a host's name");
	refused("{\"limits\": {\"pids\": -1}}",
		"x.json: line 1: 'pids': must be a whole number or null");
	refused("{\"limits\": {\"memory_percent\": 101}}",
		"x.json: line 1: 'memory_percent': 101 is not between 1 and 100");
	refused("{\"user\": {\"uid\": 0}}",
		"x.json: line 1: 'uid': must be a whole number from 1 to 65519");
	refused("{\"user\": {\"uid\": 65520}}",
		"x.json: line 1: 'uid': must be a whole number from 1 to 65519");
	refused("{\"user\": {\"name\": \"root\"}}",
		"x.json: line 1: 'name': must be a name of a user other than root and agent");
	refused("{\"network\": {\"mode\": \"host\"}}",
		"x.json: line 1: 'mode': must be \"none\" or \"nat\"");
	refused("{\"network\": {\"resolvers\": [\"dns.example\"]}}",
		"x.json: line 1: 'resolvers': must hold addresses alone, as texts");
	refused("[]", "x.json: line 1: must be an object");
}

static void sizes_no_machine_has_are_refused(void **state)
{
	static const char *const sizes[] = { "-1",  "1e9G", "",
					     "4 G", "0x10", "99999999999999999999T" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };
		char text[100];

		(void)snprintf(text, sizeof(text), "{\"limits\": {\"memory\": \"%s\"}}", sizes[i]);
		assert_true(parse(text, &p, &e) < 0);
		assert_true(str_starts(e.text, "x.json: line 1: 'memory': "));
	}
}

static void capabilities_that_reach_out_cannot_be_granted(void **state)
{
	static const char *const caps[] = { "CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_NET_ADMIN",
					    "CAP_NET_RAW",   "CAP_MKNOD",      "CAP_SYS_MODULE",
					    "CAP_BPF",	     "chown" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
		char text[100], words[200];

		(void)snprintf(text, sizeof(text), "{\"root\": {\"capabilities\": {\"%s\": \"\"}}}",
			       caps[i]);
		(void)snprintf(
			words, sizeof(words),
			"x.json: line 1: '%s': is no capability that a session's root may have",
			caps[i]);
		refused(text, words);
	}
}

static void child_replaces_what_it_names_and_keeps_the_rest(void **state)
{
	struct policy *p = parsed(
		"{\"hostname\": \"child\", \"limits\": {\"memory\": \"2G\"},\n"
		"\"environment\": {\"set\": {\"B\": \"3\"}},\n"
		"\"seccomp\": {\"more_rules\": [{\"allow\": [\"write\"]}]}, \"extends\": \"parent\"}");

	(void)state;
	assert_string_equal(p->hostname, "child");
	assert_int_equal(p->limits.memory_bytes, 2ULL << 30);
	assert_int_equal(p->limits.pids, 7);
	assert_string_equal(p->env[0], "A=1");
	assert_string_equal(p->env[1], "B=3");
	assert_int_equal(p->n_rules, 2);
	assert_string_equal(p->rules[1].calls[0], "write");
	policy_free(p);
}

static void rules_of_a_child_take_the_place_of_its_parents(void **state)
{
	struct policy *p = parsed(
		"{\"extends\": \"parent\", \"seccomp\": {\"rules\": [{\"allow\": [\"execve\"]}]}}");

	(void)state;
	assert_int_equal(p->n_rules, 1);
	assert_string_equal(p->rules[0].calls[0], "execve");
	policy_free(p);
}

static void only_one_level_is_extended(void **state)
{
	(void)state;
	refused("{\"extends\": \"grandchild\"}",
		"grandchild: line 1: 'extends': a policy that another "
		"extends cannot extend again");
}

static void extended_policy_that_is_not_there_is_named(void **state)
{
	(void)state;
	refused("{\n\"extends\": \"nobody\"}", "x.json: line 2: 'extends': no policy 'nobody'");
	refused("{\"extends\": \"../../etc/x y\"}",
		"x.json: line 1: 'extends': must be the name of a policy");
}

static void reasons_change_nothing(void **state)
{
	struct policy *plain = parsed("{\"limits\": {\"pids\": 5}}");
	struct policy *told = parsed(
		"{\"why\": \"a\", \"limits\": {\"why\": [\"b\", \"c\"], \"pids\": 5}, \"description\": \"d\"}");

	(void)state;
	assert_string_equal(plain->digest, told->digest);
	policy_free(plain);
	policy_free(told);
}

static void every_value_changes_the_digest(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"limits\": {\"pids\": 5}}",
		"{\"limits\": {\"pids\": 6}}",
		"{\"hostname\": \"x\"}",
		"{\"user\": {\"uid\": 1001}}",
		"{\"root\": {\"allowed\": true}}",
		"{\"network\": {\"mode\": \"nat\"}}",
		"{\"environment\": {\"set\": {\"A\": \"1\"}}}",
		"{\"environment\": {\"pass\": [\"A\"]}}",
		"{\"namespaces\": {\"nested\": true}}",
		"{\"seccomp\": {\"rules\": [{\"allow\": [\"read\"]}]}}",
		"{\"seccomp\": {\"rules\": [{\"refuse\": [\"read\"]}]}}",
		"{\"seccomp\": {\"rules\": [{\"refuse\": [\"read\"], \"error\": \"EACCES\"}]}}",
		"{\"seccomp\": {\"rules\": [{\"allow\": [\"read\"], \"when\": [{\"arg\": 0, \"value\": 1}]}]}}",
		"{\"seccomp\": {\"rules\": [{\"allow\": [\"read\"], \"when\": [{\"arg\": 1, \"value\": 1}]}]}}",
		"{\"seccomp\": {\"default_error\": \"ENOSYS\"}}",
		"{\"git\": {\"objects\": \"all\"}}",
		"{\"allow_degraded\": [\"memory\"]}",
		"{\"certificates\": {\"files\": [\"/a\"]}}",
		"{\"certificates\": {\"variables\": [\"A\"]}}",
		"{\"mounts\": [{\"host\": \"/a\", \"inside\": \"/b\"}]}",
		"{\"mounts\": [{\"host\": \"/a\", \"inside\": \"/b\", \"mode\": \"ro\"}]}",
	};
	char digests[ARRAY_LEN(texts)][65];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct policy *p = parsed(texts[i]);

		memcpy(digests[i], p->digest, sizeof(digests[i]));
		policy_free(p);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(digests[k], digests[i]);
	}
}

static void conditions_compare_the_low_half_unless_told(void **state)
{
	struct policy *p =
		parsed("{\"seccomp\": {\"rules\": [{\"allow\": [\"ioctl\"], \"when\": [\n"
		       "{\"arg\": 1, \"value\": [\"0x5401\", 2]}, {\"arg\": 2, \"not\": 0},\n"
		       "{\"arg\": 3, \"mask\": \"0xffffffffffffffff\", \"value\": 1}]}]}}");

	(void)state;
	assert_int_equal(p->n_rules, 2);
	assert_int_equal(p->rules[0].n_args, 3);
	assert_int_equal(p->rules[0].args[0].value, 0x5401);
	assert_int_equal(p->rules[1].args[0].value, 2);
	assert_true(p->rules[0].args[0].mask == UINT32_MAX);
	assert_int_equal(p->rules[0].args[1].op, SECCOMP_NE);
	assert_true(p->rules[0].args[2].mask == UINT64_MAX);
	policy_free(p);
}

static void rules_that_mean_nothing_are_refused(void **state)
{
	(void)state;
	refused("{\"seccomp\": {\"rules\": [{\"allow\": [\"a\"], \"kill\": [\"b\"]}]}}",
		"x.json: line 1: 'kill': a rule has one of 'allow', 'refuse', 'kill' and 'otherwise'");
	refused("{\"seccomp\": {\"rules\": [{\"error\": \"EPERM\"}]}}",
		"x.json: line 1: a rule has one of 'allow', 'refuse', 'kill' and 'otherwise'");
	refused("{\"seccomp\": {\"rules\": [{\"allow\": [\"a\"], \"error\": \"EPERM\"}]}}",
		"x.json: line 1: 'error' belongs to 'refuse' and 'otherwise'");
	refused("{\"seccomp\": {\"rules\": [{\"refuse\": [\"a\"], \"error\": \"EWHAT\"}]}}",
		"x.json: line 1: 'error': must be the name of an error, such as \"EPERM\", or its number");
	refused("{\"seccomp\": {\"rules\": [{\"allow\": [\"a\"], \"when\": [{\"arg\": 6, \"value\": 0}]}]}}",
		"x.json: line 1: 'arg': must be a number from 0 to 5");
	refused("{\"seccomp\": {\"rules\": [{\"allow\": [\"a\"], \"when\": [{\"arg\": 0}]}]}}",
		"x.json: line 1: a condition has one of 'value' and 'not'");
	refused("{\"seccomp\": {\"rules\": [{\"allow\": [\"a\"], \"when\": [{\"arg\": 0, \"mask\": 1, \"value\": 2}]}]}}",
		"x.json: line 1: a value has bits that its mask takes away");
}

static void shown_policy_has_every_value_and_is_json(void **state)
{
	struct policy *p = parsed("{\"extends\": \"parent\"}");
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	autojson struct json_doc *doc = NULL;
	autobuf struct buf out = { 0 };
	struct err e = { 0 };
	static const char *const keys[] = { "name",	    "digest",	   "user",
					    "root",	    "limits",	   "allow_degraded",
					    "network",	    "environment", "mounts",
					    "certificates", "hostname",	   "root_filesystem",
					    "git",	    "namespaces",  "seccomp" };

	(void)state;
	policy_show(p, &out);
	assert_ok(json_parse(buf_str(&out), out.len, &limits, &doc, &e));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_non_null(json_get(json_root(doc), keys[i]));
	policy_free(p);
}

static void policies_that_ship_are_fine(void **state)
{
	static const char *const names[] = { "default", "strict", "net", "nested" };
	autofree char *dir = NULL;

	(void)state;
	assert_true(asprintf(&dir, "%s/policy", getenv("OHS_SRCDIR")) > 0);
	assert_int_equal(setenv("OHS_POLICY_DIR", dir, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct policy *p = NULL;
		struct err e = { 0 };

		assert_ok(policy_load(names[i], &p, &e));
		assert_string_equal(p->name, names[i]);
		assert_true(p->description[0]);
		policy_free(p);
	}
}

static void write_file(struct scratch *s, const char *name, const char *text)
{
	struct err e = { 0 };

	assert_ok(io_replace_file(s->dir, name, text, strlen(text), 0600, &e));
}

static void policy_without_rules_cannot_be_used(void **state)
{
	struct scratch *s = *state;
	autofree char *path = NULL;
	struct policy *p = NULL;
	struct err e = { 0 };

	write_file(s, "bare.json", "{}");
	assert_true(asprintf(&path, "%s/bare.json", s->path) > 0);
	assert_int_equal(policy_load(path, &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "'seccomp' allows no execve"));
}

static void name_is_looked_up_and_path_is_not(void **state)
{
	struct scratch *s = *state;
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_int_equal(setenv("OHS_POLICY_DIR", s->path, 1), 0);
	write_file(s, "mine.json", "{\"seccomp\": {\"rules\": [{\"allow\": [\"execve\"]}]}}");
	assert_ok(policy_load("mine", &p, &e));
	assert_string_equal(p->name, "mine");
	policy_free(p);
	p = NULL;
	assert_int_equal(policy_load("nobody-has-this", &p, &e), -ENOENT);
	assert_true(str_starts(e.text, "no policy 'nobody-has-this' in"));
	assert_int_equal(policy_load("./mine.json", &p, &e), -ENOENT);
}

static const char oci_text[] =
	"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 1,\n"
	"\"archMap\": [{\"architecture\": \"SCMP_ARCH_X86_64\", \"subArchitectures\": []}],\n"
	"\"syscalls\": [\n"
	"{\"names\": [\"execve\", \"read\", \"clone\", \"socket\", \"ioctl\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": null},\n"
	"{\"names\": [\"personality\"], \"action\": \"SCMP_ACT_ALLOW\",\n"
	" \"args\": [{\"index\": 0, \"value\": 8, \"valueTwo\": 0, \"op\": \"SCMP_CMP_EQ\"}]},\n"
	"{\"names\": [\"clone3\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 38},\n"
	"{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}},\n"
	"{\"names\": [\"chown\"], \"action\": \"SCMP_ACT_ALLOW\", \"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}}]}";

static void policy_is_read_again_as_it_was(void **state)
{
	static const char extends[] =
		"{\"extends\": \"mine\", \"environment\": {\"set\": {\"A\": \"1\"}}}";
	struct scratch *s = *state;
	struct policy *p = NULL, *again = NULL;
	autofree char *path = NULL;
	struct err e = { 0 };

	assert_int_equal(setenv("OHS_POLICY_DIR", s->path, 1), 0);
	write_file(s, "mine.json", "{\"seccomp\": {\"rules\": [{\"allow\": [\"execve\"]}]}}");
	write_file(s, "other.json", extends);
	assert_ok(policy_load("other", &p, &e));
	write_file(s, "mine.json", "not even JSON");
	write_file(s, "other.json", "{}");
	assert_ok(policy_reload(p->path, &p->texts, &again, &e));
	assert_string_equal(again->name, "other");
	assert_string_equal(again->digest, p->digest);
	assert_string_equal(again->env[0], "A=1");
	policy_free(again);
	policy_free(p);
	again = p = NULL;

	write_file(s, "profile.json", oci_text);
	write_file(s, "oci.json", "{\"seccomp\": {\"oci\": \"profile.json\"}}");
	assert_true(asprintf(&path, "%s/oci.json", s->path) > 0);
	assert_ok(policy_load(path, &p, &e));
	assert_int_equal(unlinkat(s->dir, "profile.json", 0), 0);
	assert_ok(policy_reload(p->path, &p->texts, &again, &e));
	assert_string_equal(again->digest, p->digest);
	policy_free(again);
	policy_free(p);
}

static void oci_profile_stands_in_place_of_rules(void **state)
{
	struct scratch *s = *state;
	autofree char *path = NULL;
	struct policy *p = NULL;
	struct err e = { 0 };

	write_file(s, "profile.json", oci_text);
	write_file(s, "oci.json", "{\"seccomp\": {\"oci\": \"profile.json\"}}");
	assert_true(asprintf(&path, "%s/oci.json", s->path) > 0);
	assert_ok(policy_load(path, &p, &e));
	assert_int_equal(p->n_rules, 4);
	assert_string_equal(p->rules[0].calls[1], "read");
	assert_int_equal(p->rules[1].args[0].value, 8);
	assert_true(p->rules[1].args[0].mask == UINT64_MAX);
	assert_int_equal(p->rules[2].action, SECCOMP_OTHERWISE);
	assert_int_equal(p->rules[2].error, ENOSYS);
	assert_string_equal(p->rules[3].calls[0], "chown");
	policy_free(p);
}

static void oci_profile_that_allows_by_default_is_refused(void **state)
{
	static const char text[] = "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}";
	struct policy *p = parsed("{}");
	struct err e = { 0 };

	(void)state;
	assert_refused(
		policy_parse_oci(text, strlen(text), "o.json", p, &e), EINVAL,
		"o.json: line 1: 'defaultAction': a profile that allows by default is not taken");
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_policy_has_every_default),
		cmocka_unit_test(values_are_taken),
		cmocka_unit_test(unknown_keys_are_named_with_their_line),
		cmocka_unit_test(wrong_types_and_ranges_are_named),
		cmocka_unit_test(sizes_no_machine_has_are_refused),
		cmocka_unit_test(capabilities_that_reach_out_cannot_be_granted),
		cmocka_unit_test(child_replaces_what_it_names_and_keeps_the_rest),
		cmocka_unit_test(rules_of_a_child_take_the_place_of_its_parents),
		cmocka_unit_test(only_one_level_is_extended),
		cmocka_unit_test(extended_policy_that_is_not_there_is_named),
		cmocka_unit_test(reasons_change_nothing),
		cmocka_unit_test(every_value_changes_the_digest),
		cmocka_unit_test(conditions_compare_the_low_half_unless_told),
		cmocka_unit_test(rules_that_mean_nothing_are_refused),
		cmocka_unit_test(shown_policy_has_every_value_and_is_json),
		cmocka_unit_test(policies_that_ship_are_fine),
		scratch_test(policy_without_rules_cannot_be_used),
		scratch_test(name_is_looked_up_and_path_is_not),
		scratch_test(policy_is_read_again_as_it_was),
		scratch_test(oci_profile_stands_in_place_of_rules),
		cmocka_unit_test(oci_profile_that_allows_by_default_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
