/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <sys/stat.h>

#include "unit.h"

static void a_file_comes_back_as_it_was_written(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf b = { 0 };
	struct err e = { 0 };
	struct stat st;

	assert_ok(io_replace_file(s->dir, "f", "a\0b", 3, 0600, &e));
	assert_ok(io_replace_file(s->dir, "f", "longer", 6, 0600, &e));
	assert_ok(io_read_file(s->dir, "f", 6, &b, &e));
	assert_string_equal(buf_str(&b), "longer");
	assert_int_equal(fstatat(s->dir, "f.new", &st, 0), -1);
	assert_int_equal(fstatat(s->dir, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_file_beyond_the_limit_is_refused(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	assert_ok(io_replace_file(s->dir, "f", "1234567", 7, 0600, &e));
	assert_refused(io_read_file(s->dir, "f", 6, &b, &e), EFBIG, "'f': larger than 6 bytes");
}

static void what_is_no_regular_file_is_not_read(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	assert_int_equal(mkfifoat(s->dir, "pipe", 0600), 0);
	assert_refused(io_read_file(s->dir, "pipe", 10, &b, &e), EINVAL,
		       "'pipe' is not a regular file");
	assert_refused(io_read_file(s->dir, ".", 10, &b, &e), EINVAL, "'.' is not a regular file");
	assert_int_equal(symlinkat("/etc/passwd", s->dir, "link"), 0);
	assert_int_equal(io_read_file(s->dir, "link", 10, &b, &e), -ELOOP);
	assert_int_equal(io_read_file(s->dir, "none", 10, &b, &e), -ENOENT);
}

static void a_failed_replacement_leaves_the_old_file_and_nothing_else(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(mkdirat(s->dir, "d", 0700), 0);
	assert_int_equal(io_replace_file(s->dir, "d", "x", 1, 0600, &e), -EISDIR);
	assert_int_equal(fstatat(s->dir, "d.new", &st, 0), -1);
	assert_int_equal(fstatat(s->dir, "d", &st, 0), 0);
}

static void a_full_disk_is_told_and_leaves_nothing(void **state)
{
	autoclose int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err e = { 0 };

	(void)state;
	if (full < 0)
		skip();
	assert_refused(io_write_all(full, "x", 1, &e), ENOSPC, "write: No space left on device");
}

static void control_files_are_written_and_never_made(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf b = { 0 };
	struct err e = { 0 };

	assert_refused(io_write_text(s->dir, "limit", "5", &e), ENOENT,
		       "open 'limit': No such file or directory");
	assert_ok(io_replace_file(s->dir, "limit", "99", 2, 0600, &e));
	assert_ok(io_write_text(s->dir, "limit", "5", &e));
	assert_ok(io_read_file(s->dir, "limit", 10, &b, &e));
	assert_string_equal(buf_str(&b), "59");
}

static void a_pipe_is_read_to_its_end_in_pieces(void **state)
{
	autobuf struct buf b = { 0 };
	struct err e = { 0 };
	char half[3];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_ok(io_write_all(ends[1], "abcdef", 6, &e));
	assert_int_equal(io_read_full(ends[0], half, 3, &e), 3);
	assert_memory_equal(half, "abc", 3);
	(void)close(ends[1]);
	assert_ok(io_read_all(ends[0], 100, &b, &e));
	assert_string_equal(buf_str(&b), "def");
	assert_int_equal(io_read_full(ends[0], half, 3, &e), 0);
	(void)close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_file_comes_back_as_it_was_written),
		scratch_test(a_file_beyond_the_limit_is_refused),
		scratch_test(what_is_no_regular_file_is_not_read),
		scratch_test(a_failed_replacement_leaves_the_old_file_and_nothing_else),
		cmocka_unit_test(a_full_disk_is_told_and_leaves_nothing),
		scratch_test(control_files_are_written_and_never_made),
		cmocka_unit_test(a_pipe_is_read_to_its_end_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
