/* SPDX-License-Identifier: MIT */
/* test_fresh.c - a digest of what a session would be made of: equal as long as nothing has changed. */
#include "api/fresh.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/io.h"
#include "base/str.h"

#define A_POLICY(pids) \
	"{\"limits\":{\"pids\":" pids "},\"seccomp\":{\"rules\":[{\"allow\":[\"execve\"]}]}}"
#define COMMIT_1 "1111111111111111111111111111111111111111\n"
#define COMMIT_2 "2222222222222222222222222222222222222222\n"

/* Under another name first, as every program that changes a reference does. */
static void put(const struct scratch *s, const char *name, const char *text)
{
	struct err e = { 0 };
	autoclose int fd = openat(s->dir, "next", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, text, strlen(text), &e));
	assert_int_equal(renameat(s->dir, "next", s->dir, name), 0);
}

/* A repository, a root file system and a policy. */
static int places_setup(void **state)
{
	static const char *const dirs[] = {
		"repo", "repo/.git", "repo/.git/objects", "repo/.git/refs", "repo/.git/refs/heads",
		"root", "root/usr",  "root/usr/bin"
	};
	const struct scratch *s;

	if (scratch_setup(state) < 0)
		return -1;
	s = *state;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (mkdirat(s->dir, dirs[i], 0755) < 0)
			return -1;
	put(s, "repo/.git/HEAD", "ref: refs/heads/main\n");
	put(s, "repo/.git/refs/heads/main", COMMIT_1);
	put(s, "policy.json", A_POLICY("100"));
	return 0;
}

struct places {
	struct request request;
	struct config config;
	char *policy;
};

static void places_of(const struct scratch *s, struct places *p)
{
	struct err e = { 0 };

	*p = (struct places) { 0 };
	p->request.kind = WORKSPACE_REPO;
	p->request.path = str_fmt(&e, "%s/repo", s->path);
	p->request.rootfs = str_fmt(&e, "%s/root", s->path);
	p->policy = str_fmt(&e, "%s/policy.json", s->path);
	assert_non_null(p->request.path);
	assert_non_null(p->request.rootfs);
	assert_non_null(p->policy);
}

static void places_clear(struct places *p)
{
	free(p->request.path);
	free(p->request.rootfs);
	free(p->policy);
}

static void digest(const struct places *p, char out[SHA256_HEX_BYTES])
{
	struct err e = { 0 };

	if (fresh_digest(&p->config, &p->request, p->policy, out, &e) < 0)
		fail_msg("%s", e.text);
}

/* It is another one than `before`, stays so, and is the new `before`. */
static void has_changed(const struct places *p, char before[SHA256_HEX_BYTES], const char *what)
{
	char now[SHA256_HEX_BYTES], again[SHA256_HEX_BYTES];

	digest(p, now);
	digest(p, again);
	assert_string_equal(now, again);
	if (str_eq(now, before))
		fail_msg("not noticed: %s", what);
	memcpy(before, now, SHA256_HEX_BYTES);
}

static void each_thing_it_is_made_of_counts(void **state)
{
	const struct scratch *s = *state;
	char before[SHA256_HEX_BYTES] = "";
	struct places p;

	places_of(s, &p);
	has_changed(&p, before, "the first");
	put(s, "repo/.git/refs/heads/main", COMMIT_2);
	has_changed(&p, before, "a commit");
	put(s, "repo/.git/refs/heads/other", COMMIT_1);
	has_changed(&p, before, "another branch, which is seen inside");
	put(s, "repo/.git/HEAD", "ref: refs/heads/other\n");
	has_changed(&p, before, "another branch checked out");
	put(s, "repo/.git/config", "[core]\n");
	has_changed(&p, before, "the repository's configuration");
	put(s, "policy.json", A_POLICY("101"));
	has_changed(&p, before, "the policy");
	put(s, "root/usr/bin/tool", "x");
	has_changed(&p, before, "a program in the root file system");
	memcpy(p.config.digest, "ab", 3);
	has_changed(&p, before, "the configuration");
	places_clear(&p);
}

static void what_a_start_could_not_find_is_an_error(void **state)
{
	const struct scratch *s = *state;
	char out[SHA256_HEX_BYTES];
	struct places p;
	struct err e = { 0 };

	places_of(s, &p);
	assert_int_equal(unlinkat(s->dir, "policy.json", 0), 0);
	assert_true(fresh_digest(&p.config, &p.request, p.policy, out, &e) < 0);
	put(s, "policy.json", A_POLICY("100"));
	assert_int_equal(renameat(s->dir, "repo/.git", s->dir, "away"), 0);
	assert_true(fresh_digest(&p.config, &p.request, p.policy, out, &e) < 0);
	places_clear(&p);
}

#define places_test(f) cmocka_unit_test_setup_teardown(f, places_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		places_test(each_thing_it_is_made_of_counts),
		places_test(what_a_start_could_not_find_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
