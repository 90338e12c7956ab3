/* SPDX-License-Identifier: MIT */
/* test_request_json.c - a request and its policy as JSON and back, and hostile ones. */
#include "plan/request_json.h"

#include <string.h>

#include "unit.h"

#define HEAD "{\"version\":1,\"kind\":\"empty\",\"policy_path\":\"p\",\"policy\":\"{}\""

static void refused(const char *text, const char *because)
{
	struct request_policy p = { 0 };
	struct request r;
	struct err e = { 0 };

	request_init(&r);
	if (request_parse(text, strlen(text), &r, &p, &e) >= 0)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, because))
		fail_msg("'%s' does not say '%s'", e.text, because);
	assert_null(r.path);
	assert_null(p.path);
}

/* Every member, none of them as request_init() leaves it. */
static void fill(struct request *r)
{
	static char *argv[] = { "sh", "-c", "printf '\xff\x01%s'", "", NULL },
		    *env[] = { "A=1", "B=two\nlines=%", NULL }, *path[] = { "/opt/x/bin", NULL },
		    *host_env[] = { "TZ=Asia/Tokyo", NULL };
	static struct policy_mount mounts[] = {
		{ "/srv/d\xe9p", "/data", MOUNT_MODE_RO, true, false, true },
		{ "/srv/b", "/b", MOUNT_MODE_COW, false, true, false },
	};
	static struct publish publish[] = { { "::1", 8080, 80 } };

	request_init(r);
	*r = (struct request) {
		.kind = WORKSPACE_DIR,
		.path = "/home/\xe9t\xe9",
		.subdir = "src",
		.rev = "v1~2",
		.dirty = true,
		.trust_repo = true,
		.workdir = "/workspace/x",
		.argv = argv,
		.env = env,
		.limits = r->limits,
		.net = NET_NAT,
		.user = "root",
		.hostname = "box",
		.mounts = mounts,
		.n_mounts = 2,
		.toolchains = true,
		.rootfs = "/srv/root",
		.rootfs_mapped = true,
		.rootfs_fixed = true,
		.rootfs_shell = "/bin/ash",
		.publish = publish,
		.n_publish = 1,
		.tty = true,
		.keep = true,
		.ends_with_us = true,
		.term = "vt100",
		.name = "a.b-c_d",
		.label = "{\"of\":\"the daemon\"}",
		.persists = true,
		.resolved = true,
		.toolchain_path = path,
		.host_env = host_env,
	};
	r->limits.memory_bytes = 1 << 30;
	r->limit_named[0] = true;
	r->limits.timeout_ms = 1500;
	r->limit_named[4] = true;
	r->limit_named[3] = true; /* named: none */
}

static void assert_lists_equal(char *const *a, char *const *b)
{
	for (; *a; a++, b++) {
		assert_non_null(*b);
		assert_string_equal(*a, *b);
	}
	assert_null(*b);
}

static void assert_texts_come_back(const struct request *r, const struct request *b)
{
	assert_string_equal(b->path, r->path);
	assert_string_equal(b->subdir, r->subdir);
	assert_string_equal(b->rev, r->rev);
	assert_string_equal(b->workdir, r->workdir);
	assert_string_equal(b->user, r->user);
	assert_string_equal(b->hostname, r->hostname);
	assert_string_equal(b->rootfs, r->rootfs);
	assert_string_equal(b->rootfs_shell, r->rootfs_shell);
	assert_string_equal(b->term, r->term);
	assert_string_equal(b->name, r->name);
	assert_string_equal(b->label, r->label);
	assert_lists_equal(r->argv, b->argv);
	assert_lists_equal(r->env, b->env);
	assert_lists_equal(r->toolchain_path, b->toolchain_path);
	assert_lists_equal(r->host_env, b->host_env);
}

static void assert_rest_comes_back(const struct request *r, const struct request *b)
{
	assert_int_equal(b->kind, r->kind);
	assert_int_equal(b->net, r->net);
	assert_memory_equal(&b->limits, &r->limits, sizeof(r->limits));
	assert_memory_equal(b->limit_named, r->limit_named, sizeof(r->limit_named));
	assert_true(b->dirty && b->trust_repo && b->toolchains && b->tty && b->keep);
	assert_true(b->ends_with_us && b->persists && b->resolved);
	assert_true(b->rootfs_mapped && b->rootfs_fixed);
	assert_int_equal(b->n_mounts, 2);
	assert_string_equal(b->mounts[0].host, r->mounts[0].host);
	assert_int_equal(b->mounts[0].mode, MOUNT_MODE_RO);
	assert_true(b->mounts[0].is_file && !b->mounts[0].owner_ids && b->mounts[0].plain_ids);
	assert_string_equal(b->mounts[1].inside, "/b");
	assert_true(!b->mounts[1].is_file && b->mounts[1].owner_ids && !b->mounts[1].plain_ids);
	assert_int_equal(b->n_publish, 1);
	assert_string_equal(b->publish[0].address, "::1");
	assert_int_equal(b->publish[0].port, 8080);
	assert_int_equal(b->publish[0].inside, 80);
}

static void whole_request_comes_back_as_it_was(void **state)
{
	struct policy policy = { .path = "/etc/\xe9.json",
				 .texts = { "{\"extends\":\"a\"}\n", "{ }", "oci\t%" } };
	struct request_policy p = { 0 };
	autobuf struct buf one = { 0 };
	struct request r, back;
	struct err e = { 0 };

	(void)state;
	fill(&r);
	request_write(&r, &policy, &one);
	assert_ok(buf_check(&one, &e));
	assert_ok(request_parse(one.data, one.len, &back, &p, &e));
	assert_texts_come_back(&r, &back);
	assert_rest_comes_back(&r, &back);
	assert_string_equal(p.path, policy.path);
	assert_string_equal(p.texts.own, policy.texts.own);
	assert_string_equal(p.texts.extended, policy.texts.extended);
	assert_string_equal(p.texts.oci, policy.texts.oci);
	request_clear(&back);
	request_policy_clear(&p);
}

static void what_was_not_said_is_not_said_again(void **state)
{
	struct policy policy = { .path = "p", .texts = { .own = "{}" } };
	struct request_policy p = { 0 };
	autobuf struct buf one = { 0 };
	struct request r, back;
	struct err e = { 0 };

	(void)state;
	request_init(&r);
	r.kind = WORKSPACE_EMPTY;
	request_write(&r, &policy, &one);
	assert_ok(request_parse(one.data, one.len, &back, &p, &e));
	assert_null(back.argv);
	assert_null(back.env);
	assert_null(back.user);
	assert_null(back.rootfs);
	assert_int_equal(back.net, -1);
	assert_true(back.limits.pids == LIMIT_NONE);
	assert_false(back.limit_named[3]);
	assert_null(p.texts.extended);
	request_clear(&back);
	request_policy_clear(&p);
}

static void hostile_request_is_refused_by_name(void **state)
{
	(void)state;
	refused("", "request.json");
	refused("[]", "object");
	refused("{}", "version");
	refused("{\"version\":2}", "version");
	refused("{\"version\":1,\"policy_path\":\"\",\"policy\":\"\"}", "kind");
	refused("{\"version\":1,\"kind\":\"god\",\"policy_path\":\"\",\"policy\":\"\"}", "god");
	refused("{\"version\":1,\"kind\":\"repo\",\"policy_path\":\"\",\"policy\":\"\"}", "path");
	refused("{\"version\":1,\"kind\":\"empty\",\"policy_path\":\"\"}", "policy");
	refused(HEAD ",\"kind\":\"empty\"}", "kind");
	refused(HEAD ",\"memroy\":1}", "memroy");
	refused(HEAD ",\"net\":\"all\"}", "all");
	refused(HEAD ",\"path\":\"%zz\"}", "%zz");
	refused(HEAD ",\"env\":[\"%00\"]}", "%00");
	refused(HEAD ",\"env\":[1]}", "env");
	refused(HEAD ",\"name\":\"..\"}", "name");
	refused(HEAD ",\"name\":\"0123456789ab\"}", "name");
	refused(HEAD ",\"limits\":[]}", "limits");
	refused(HEAD ",\"limits\":{\"memory\":1}}", "no limit");
	refused(HEAD ",\"limits\":{\"pids\":-1}}", "pids");
	refused(HEAD ",\"limits\":{\"pids\":1.5}}", "pids");
	refused(HEAD ",\"mounts\":[{\"host\":\"/a\"}]}", "inside");
	refused(HEAD ",\"mounts\":[{\"host\":\"/a\",\"inside\":\"/b\",\"mode\":\"rw\"}]}", "mode");
	refused(HEAD ",\"mounts\":[{\"host\":\"%g\",\"inside\":\"/b\"}]}", "escaped");
	refused(HEAD ",\"publish\":[{\"address\":\"::1\",\"port\":65536,\"inside\":1}]}", "port");
	refused(HEAD ",\"publish\":[{\"address\":\"::1\",\"port\":1,\"inside\":0}]}", "inside");
	refused(HEAD ",\"publish\":[{\"address\":\"%g\",\"port\":1,\"inside\":1}]}", "escaped");
	refused(HEAD ",\"publish\":{}}", "publish");
}

static void list_without_end_is_refused(void **state)
{
	autobuf struct buf text = { 0 };

	(void)state;
	buf_puts(&text, HEAD ",\"mounts\":[");
	for (int i = 0; i < 200; i++)
		buf_printf(&text, "%s{\"host\":\"/a\",\"inside\":\"/b%d\"}", i ? "," : "", i);
	buf_puts(&text, "]}");
	refused(buf_str(&text), "mounts");
}

static void names_are_plain(void **state)
{
	static const char *const good[] = { "a", "A.b_c-9", "0123456789a", "0123456789abc", ".x" };
	static const char *const bad[] = { "",	  ".",	 "..",	     "-a",
					   "a b", "a/b", "\xc3\xa9", "0123456789ab" };
	char longest[66];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(request_name_ok(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(request_name_ok(bad[i]));
	memset(longest, 'x', 65);
	longest[65] = '\0';
	assert_false(request_name_ok(longest));
	longest[64] = '\0';
	assert_true(request_name_ok(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_request_comes_back_as_it_was),
		cmocka_unit_test(what_was_not_said_is_not_said_again),
		cmocka_unit_test(hostile_request_is_refused_by_name),
		cmocka_unit_test(list_without_end_is_refused),
		cmocka_unit_test(names_are_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
