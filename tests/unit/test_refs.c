/* SPDX-License-Identifier: MIT */
/* test_refs.c - references are found in plain files, loose and packed, and nowhere else. */
#include "unit.h"

#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "session/head.h"
#include "session/refs.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define OTHER "fedcba9876543210fedcba9876543210fedcba98"
#define HEADER "# pack-refs with: peeled fully-peeled sorted \n"

static void put(int dir, const char *path, const char *text)
{
	struct err e = { 0 };
	char parent[256];

	(void)snprintf(parent, sizeof(parent), "%s", path);
	for (char *p = parent; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdirat(dir, parent, 0755);
	}
	assert_ok(io_replace_file(dir, path, text, strlen(text), 0644, &e));
}

static void loose_reference_wins_over_the_packed_one(void **state)
{
	int dir = ((struct scratch *)*state)->dir;
	char id[GIT_ID_MAX + 1];

	put(dir, "packed-refs", HEADER OTHER " refs/heads/main\n" OTHER " refs/heads/other\n");
	put(dir, "refs/heads/main", ID "\n");
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/main", id), 1);
	assert_string_equal(id, ID);
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/other", id), 1);
	assert_string_equal(id, OTHER);
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/othe", id), 0);
	assert_int_equal(git_ref_find(dir, dir, "refs/heads", id), 0);
}

static void symbolic_references_are_followed_but_not_round_and_round(void **state)
{
	int dir = ((struct scratch *)*state)->dir;
	char id[GIT_ID_MAX + 1];

	put(dir, "refs/heads/a", "ref: refs/heads/b\n");
	put(dir, "refs/heads/b", ID "\n");
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/a", id), 1);
	assert_string_equal(id, ID);
	put(dir, "refs/heads/b", "ref: refs/heads/a\n");
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/a", id), -ELOOP);
	put(dir, "refs/heads/b", "ref: ../../outside\n");
	assert_int_equal(git_ref_find(dir, dir, "refs/heads/a", id), -EINVAL);
}

static void every_name_is_found_among_many_packed_ones(void **state)
{
	int dir = ((struct scratch *)*state)->dir;
	autobuf struct buf text = { 0 };
	char name[64], want[41], id[GIT_ID_MAX + 1];

	buf_puts(&text, HEADER);
	for (int i = 0; i < 5000; i++) {
		buf_printf(&text, "%040x refs/heads/b%05d\n", i, i * 2);
		if (i % 3 == 0)
			buf_puts(&text, "^" OTHER "\n");
	}
	put(dir, "packed-refs", buf_str(&text));
	for (int i = 0; i < 5000; i += 7) {
		(void)snprintf(name, sizeof(name), "refs/heads/b%05d", i * 2);
		(void)snprintf(want, sizeof(want), "%040x", i);
		assert_int_equal(git_packed_find(dir, name, id), 1);
		assert_string_equal(id, want);
		(void)snprintf(name, sizeof(name), "refs/heads/b%05d", i * 2 + 1);
		assert_int_equal(git_packed_find(dir, name, id), 0);
	}
	assert_int_equal(git_packed_find(dir, "refs/heads/a", id), 0);
	assert_int_equal(git_packed_find(dir, "refs/heads/z", id), 0);
	/* The same without the promise that it is sorted. */
	put(dir, "packed-refs", buf_str(&text) + strlen(HEADER));
	assert_int_equal(git_packed_find(dir, "refs/heads/b09996", id), 1);
	assert_int_equal(git_packed_find(dir, "refs/heads/b09997", id), 0);
}

static void packed_references_of_odd_form_give_no_wrong_answer(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     HEADER,
					     ID,
					     ID " ",
					     ID " refs/heads/main",
					     "x" ID " refs/heads/main\n",
					     "0 refs/heads/main\n",
					     " refs/heads/main\n",
					     "^" ID " refs/heads/main\n" };
	int dir = ((struct scratch *)*state)->dir;
	char id[GIT_ID_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put(dir, "packed-refs", texts[i]);
		assert_int_equal(git_packed_find(dir, "refs/heads/main", id), 0);
	}
}

static void names_that_lead_elsewhere_are_no_references(void **state)
{
	static const char *const bad[] = { "",	 "/etc/passwd", "../x",	   "refs/../x", "refs//x",
					   "-x", "a b",		"a~1",	   "a^",	"a:b",
					   "a?", "a*",		"a[",	   "a\\b",	"x.lock",
					   "x.", ".x",		"refs/.x", "a@{0}",	"x/" };
	static const char *const good[] = { "refs/heads/main", "HEAD", "v1.0", "feature/x-y_z",
					    "a@b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(git_ref_ok(bad[i]));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(git_ref_ok(good[i]));
}

static void fifo_or_directory_in_place_of_a_file_holds_nobody_up(void **state)
{
	int dir = ((struct scratch *)*state)->dir;
	char text[64];

	assert_int_equal(mkfifoat(dir, "fifo", 0644), 0);
	assert_int_equal(git_read_small(dir, "fifo", text, sizeof(text)), -EINVAL);
	assert_int_equal(mkdirat(dir, "dir", 0755), 0);
	assert_int_equal(git_read_small(dir, "dir", text, sizeof(text)), -EINVAL);
	assert_int_equal(symlinkat("/etc/passwd", dir, "link"), 0);
	assert_int_equal(git_read_small(dir, "link", text, sizeof(text)), -ELOOP);
	put(dir, "large", "0123456789012345678901234567890123456789012345678901234567890123");
	assert_int_equal(git_read_small(dir, "large", text, sizeof(text)), -EFBIG);
}

/* A repository by its files alone: no git is needed to read one. */
static void make_repository(int dir)
{
	put(dir, "repo/.git/HEAD", "ref: refs/heads/main\n");
	put(dir, "repo/.git/objects/info/x", "");
	put(dir, "repo/.git/refs/heads/x", ID "\n");
	put(dir, "repo/.git/refs/heads/main", ID "\n");
	put(dir, "repo/.git/config", "[core]\n");
}

static void open_repository(void **state, struct repo *r)
{
	struct err e = { 0 };
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/repo", ((struct scratch *)*state)->path);
	assert_ok(repo_open(path, false, r, &e));
}

static void head_is_a_branch_a_commit_or_nothing_yet(void **state)
{
	int dir = ((struct scratch *)*state)->dir;
	autorepo struct repo r = REPO_CLOSED;
	struct err e = { 0 };
	struct head h;

	make_repository(dir);
	open_repository(state, &r);
	assert_int_equal(head_read(&r, NULL, &h, &e), 1);
	assert_string_equal(h.commit, ID);
	assert_string_equal(h.ref, "refs/heads/main");
	put(dir, "repo/.git/HEAD", OTHER "\n");
	assert_int_equal(head_read(&r, "HEAD", &h, &e), 1);
	assert_string_equal(h.commit, OTHER);
	assert_string_equal(h.ref, "");
	put(dir, "repo/.git/HEAD", "ref: refs/heads/none\n");
	assert_int_equal(head_read(&r, NULL, &h, &e), 1);
	assert_string_equal(h.commit, GIT_UNBORN);
	put(dir, "repo/.git/HEAD", "ref: refs/heads/.invalid\n");
	assert_int_equal(head_read(&r, NULL, &h, &e), 0);
}

static void only_plain_revisions_are_found_without_help(void **state)
{
	static const char *const asked[] = { "HEAD~1", "main^", "v1",	      "0123456", "@{u}",
					     ":/x",    "-x",	"FETCH_HEAD", "tag" };
	int dir = ((struct scratch *)*state)->dir;
	autorepo struct repo r = REPO_CLOSED;
	struct err e = { 0 };
	struct head h;

	make_repository(dir);
	put(dir, "repo/.git/refs/tags/tag", OTHER "\n");
	put(dir, "repo/.git/refs/heads/tag", ID "\n");
	open_repository(state, &r);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		assert_int_equal(head_read(&r, asked[i], &h, &e), 0);
	assert_int_equal(head_read(&r, "x", &h, &e), 1);
	assert_int_equal(head_read(&r, OTHER, &h, &e), 1);
	assert_string_equal(h.commit, OTHER);
	assert_string_equal(h.ref, "");
}

/* Times of files are those of a coarse clock: wait until it has moved. */
static void next_tick(void)
{
	struct timespec start, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &start);
	do {
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (now.tv_nsec == start.tv_nsec && now.tv_sec == start.tv_sec);
}

static void any_change_of_a_reference_changes_the_fingerprint(void **state)
{
	static const char *const paths[] = {
		"refs/heads/new", "refs/heads/main", "refs/heads/deep/er/x",	"packed-refs",
		"config",	  "shallow",	     "objects/info/alternates", "info/exclude"
	};
	int dir = ((struct scratch *)*state)->dir;
	char before[HEAD_FINGERPRINT_BYTES], after[HEAD_FINGERPRINT_BYTES], path[64];
	autorepo struct repo r = REPO_CLOSED;
	struct err e = { 0 };

	make_repository(dir);
	open_repository(state, &r);
	assert_ok(head_fingerprint(&r, before, &e));
	assert_ok(head_fingerprint(&r, after, &e));
	assert_string_equal(before, after);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		next_tick();
		(void)snprintf(path, sizeof(path), "repo/.git/%s", paths[i]);
		put(dir, path, OTHER "\n");
		assert_ok(head_fingerprint(&r, after, &e));
		assert_string_not_equal(before, after);
		memcpy(before, after, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(loose_reference_wins_over_the_packed_one),
		scratch_test(symbolic_references_are_followed_but_not_round_and_round),
		scratch_test(every_name_is_found_among_many_packed_ones),
		scratch_test(packed_references_of_odd_form_give_no_wrong_answer),
		cmocka_unit_test(names_that_lead_elsewhere_are_no_references),
		scratch_test(fifo_or_directory_in_place_of_a_file_holds_nobody_up),
		scratch_test(head_is_a_branch_a_commit_or_nothing_yet),
		scratch_test(only_plain_revisions_are_found_without_help),
		scratch_test(any_change_of_a_reference_changes_the_fingerprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
