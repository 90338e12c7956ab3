/* SPDX-License-Identifier: MIT */
#include "base/fs.h"

#include <grp.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"

static void no_path_leads_out_from_beneath(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };

	assert_int_equal(mkdirat(s->dir, "in", 0700), 0);
	assert_int_equal(symlinkat("/etc", s->dir, "in/absolute"), 0);
	assert_int_equal(symlinkat("../..", s->dir, "in/up"), 0);
	assert_int_equal(symlinkat("in", s->dir, "fine"), 0);
	assert_refused(fs_open_beneath(s->dir, "in/absolute/passwd", O_RDONLY, 0, 0, &e), EXDEV,
		       "open 'in/absolute/passwd': Invalid cross-device link");
	assert_int_equal(fs_open_beneath(s->dir, "in/up", O_RDONLY, 0, 0, &e), -EXDEV);
	assert_int_equal(fs_open_beneath(s->dir, "../x", O_RDONLY, 0, 0, &e), -EXDEV);
	assert_int_equal(fs_open_beneath(s->dir, "fine", O_RDONLY, 0, RESOLVE_NO_SYMLINKS, &e),
			 -ELOOP);
}

static void beneath_opens_and_makes_what_is_there(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	autoclose int fd = fs_open_beneath(s->dir, "file", O_WRONLY | O_CREAT, 0640, 0, &e);

	assert_ok(fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void in_root_keeps_links_inside(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	int fd;

	assert_int_equal(mkdirat(s->dir, "etc", 0700), 0);
	assert_int_equal(symlinkat("/etc", s->dir, "link"), 0);
	fd = fs_open_in_root(s->dir, "link/../../../etc", O_RDONLY | O_DIRECTORY, 0, &e);
	assert_ok(fd);
	(void)close(fd);
	assert_int_equal(fs_open_in_root(s->dir, "link/passwd", O_RDONLY, 0, &e), -ENOENT);
}

static void missing_parents_are_made_but_never_through_a_link(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	struct stat st;
	int fd = fs_mkdir_path(s->dir, "a/./b//c", 0750, &e);

	assert_ok(fd);
	(void)close(fd);
	assert_int_equal(fstatat(s->dir, "a/b/c", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(symlinkat("/tmp", s->dir, "a/out"), 0);
	assert_int_equal(fs_mkdir_path(s->dir, "a/out/x", 0750, &e), -ENOTDIR);
	assert_refused(fs_mkdir_path(s->dir, "a/../x", 0750, &e), EINVAL,
		       "'..' is not allowed in a path to create");
}

static void a_directory_is_made_once_and_opened_each_time(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };

	for (int i = 0; i < 2; i++) {
		int fd = fs_mkdir_open(s->dir, "d", 0700, &e);

		assert_ok(fd);
		(void)close(fd);
	}
	assert_int_equal(symlinkat("d", s->dir, "l"), 0);
	assert_int_equal(fs_mkdir_open(s->dir, "l", 0700, &e), -ENOTDIR);
}

static void beneath_compares_whole_names(void **state)
{
	(void)state;
	assert_true(fs_is_beneath("/a", "/a"));
	assert_true(fs_is_beneath("/a", "/a/b"));
	assert_true(fs_is_beneath("/", "/a"));
	assert_false(fs_is_beneath("/a", "/ab"));
	assert_false(fs_is_beneath("/a/b", "/a"));
}

static void a_descriptor_knows_its_path(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	char *path = fs_path_of(s->dir, &e);

	assert_string_equal(path, s->path);
	free(path);
	assert_null(fs_path_of(999, &e));
	assert_int_equal(e.code, ENOENT);
}

static void random_digits_differ(void **state)
{
	struct err e = { 0 };
	char a[33], b[33];

	(void)state;
	assert_ok(fs_random_hex(a, 16, &e));
	assert_ok(fs_random_hex(b, 16, &e));
	assert_int_equal(strlen(a), 32);
	assert_int_equal(strspn(a, "0123456789abcdef"), 32);
	assert_string_not_equal(a, b);
	assert_int_equal(fs_random_hex(a, 65, &e), -EINVAL);
}

/* ---- fs_remove_tree ---------------------------------------------------------------------- */

#define DEEP 5000

/* A chain of directories that no path can name; each holds a file and a sibling to come back to. */
static void make_deep(int dir, const char *top, mode_t mode)
{
	int at = dup(dir);
	const char *name = top;

	for (int i = 0; i < DEEP; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0700), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		assert_int_equal(fchmod(at, i == 0 ? 0700 : mode), 0);
		(void)close(at);
		at = next;
		name = "deeper";
		if (i % 50 == 0) {
			assert_int_equal(mkdirat(at, "side", 0700), 0);
			assert_int_equal(mkdirat(at, "side/full", mode), 0);
			(void)close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, mode));
		}
	}
	assert_int_equal(fchmod(at, mode), 0);
	(void)close(at);
}

static void assert_gone(int dir, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

static void assert_all_descriptors_closed(int before)
{
	int now = dup(STDIN_FILENO);

	(void)close(now);
	assert_int_equal(now, before);
}

static void remove_deep(int dir)
{
	struct err e = { 0 };
	int lowest = dup(STDIN_FILENO);

	(void)close(lowest);
	make_deep(dir, "locked", 0000);
	assert_ok(fs_remove_tree(dir, "locked", &e));
	assert_gone(dir, "locked");
	assert_all_descriptors_closed(lowest);
}

static void a_tree_of_5000_levels_goes_even_without_permissions(void **state)
{
	const struct scratch *s = *state;

	remove_deep(s->dir);
}

/* The same without root's power over permissions. A child, so that the ids can be given up. */
static void the_same_as_an_ordinary_user(void **state)
{
	const struct scratch *s = *state;
	int status;
	pid_t pid;

	if (getuid() != 0)
		skip();
	assert_int_equal(fchown(s->dir, 23456, 23456), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(23456) < 0 || setuid(23456) < 0)
			_exit(99);
		remove_deep(s->dir);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void links_and_special_files_go_and_their_targets_stay(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(mkdirat(s->dir, "keep", 0700), 0);
	(void)close(openat(s->dir, "keep/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(mkdirat(s->dir, "tree", 0700), 0);
	assert_int_equal(symlinkat("../keep", s->dir, "tree/link"), 0);
	assert_int_equal(symlinkat("../keep/file", s->dir, "tree/filelink"), 0);
	assert_int_equal(linkat(s->dir, "keep/file", s->dir, "tree/hard", 0), 0);
	assert_int_equal(mkfifoat(s->dir, "tree/fifo", 0), 0);
	assert_ok(fs_remove_tree(s->dir, "tree", &e));
	assert_gone(s->dir, "tree");
	assert_int_equal(fstatat(s->dir, "keep/file", &st, 0), 0);
	assert_int_equal(symlinkat("keep", s->dir, "link"), 0);
	assert_ok(fs_remove_tree(s->dir, "link", &e));
	assert_int_equal(fstatat(s->dir, "keep/file", &st, 0), 0);
}

static void files_and_what_is_missing_are_no_error(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };

	assert_ok(fs_remove_tree(s->dir, "missing", &e));
	(void)close(openat(s->dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0));
	assert_ok(fs_remove_tree(s->dir, "file", &e));
	assert_int_equal(mkdirat(s->dir, "empty", 0), 0);
	assert_ok(fs_remove_tree(s->dir, "empty", &e));
	assert_gone(s->dir, "empty");
}

static void a_wide_tree_goes(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	char name[40];

	assert_int_equal(mkdirat(s->dir, "wide", 0700), 0);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "wide/%d", i);
		assert_int_equal(mkdirat(s->dir, name, 0700), 0);
		(void)snprintf(name, sizeof(name), "wide/%d/f", i);
		(void)close(openat(s->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	assert_ok(fs_remove_tree(s->dir, "wide", &e));
	assert_gone(s->dir, "wide");
}

/* A directory of another user's, not writable for us, in the middle: the rest must still go. */
static void what_cannot_go_is_named_and_the_rest_goes(void **state)
{
	const struct scratch *s = *state;
	struct stat st;
	int status;
	pid_t pid;

	if (getuid() != 0)
		skip();
	assert_int_equal(mkdirat(s->dir, "t", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "t/a", 0700), 0);
	assert_int_equal(mkdirat(s->dir, "t/a/foreign", 0755), 0);
	assert_int_equal(mkdirat(s->dir, "t/a/foreign/x", 0755), 0);
	for (int i = 0; i < 40; i++) {
		char name[40];

		(void)snprintf(name, sizeof(name), "t/%d", i);
		assert_int_equal(mkdirat(s->dir, name, 0700), 0);
		assert_int_equal(fchownat(s->dir, name, 23456, 23456, 0), 0);
	}
	assert_int_equal(fchown(s->dir, 23456, 23456), 0);
	assert_int_equal(fchownat(s->dir, "t", 23456, 23456, 0), 0);
	assert_int_equal(fchownat(s->dir, "t/a", 23456, 23456, 0), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err e = { 0 };

		if (setgroups(0, NULL) < 0 || setgid(23456) < 0 || setuid(23456) < 0)
			_exit(99);
		assert_refused(fs_remove_tree(s->dir, "t", &e), EACCES,
			       "remove 't': remove 'x': Permission denied");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fstatat(s->dir, "t/a/foreign/x", &st, 0), 0);
	assert_gone(s->dir, "t/0");
	assert_gone(s->dir, "t/39");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(no_path_leads_out_from_beneath),
		scratch_test(beneath_opens_and_makes_what_is_there),
		scratch_test(in_root_keeps_links_inside),
		scratch_test(missing_parents_are_made_but_never_through_a_link),
		scratch_test(a_directory_is_made_once_and_opened_each_time),
		cmocka_unit_test(beneath_compares_whole_names),
		scratch_test(a_descriptor_knows_its_path),
		cmocka_unit_test(random_digits_differ),
		scratch_test(a_tree_of_5000_levels_goes_even_without_permissions),
		scratch_test(the_same_as_an_ordinary_user),
		scratch_test(links_and_special_files_go_and_their_targets_stay),
		scratch_test(files_and_what_is_missing_are_no_error),
		scratch_test(a_wide_tree_goes),
		scratch_test(what_cannot_go_is_named_and_the_rest_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
