/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/file.h"

#include <sys/stat.h>

#include "sandbox/executor/file_text.h"
#include "unit.h"

static char *path_in(void **state, const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", ((struct scratch *)*state)->path, name);
	return path;
}

static void make(const char *path, const char *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static void reads(const char *path, int64_t start, int64_t end, const char *text)
{
	struct file_request r = { .op = FILE_READ,
				  .given_absolute = true,
				  .start = start,
				  .end = end,
				  .path = path };
	struct buf out = { 0 };

	assert_int_equal(file_do(&r, &out).status, FILE_OK);
	assert_string_equal(buf_str(&out), text);
	buf_clear(&out);
}

static enum file_status reading(const char *path, bool absolute)
{
	struct file_request r = { .op = FILE_READ,
				  .given_absolute = absolute,
				  .end = -1,
				  .path = path };
	struct buf out = { 0 };
	enum file_status status = file_do(&r, &out).status;

	buf_clear(&out);
	return status;
}

static struct file_outcome writes(const char *path, const char *text, int64_t start, int64_t end)
{
	struct file_request r = { .op = FILE_WRITE,
				  .start = start,
				  .end = end,
				  .path = path,
				  .content = text,
				  .content_len = strlen(text) };
	struct buf out = { 0 };
	struct file_outcome outcome = file_do(&r, &out);

	buf_clear(&out);
	return outcome;
}

static void lines_are_selected_as_the_reference_does(void **state)
{
	char *path = path_in(state, "f");

	make(path, "a\nb\nc\nd\n", 8, 0644);
	reads(path, 0, -1, "a\nb\nc\nd\n");
	reads(path, 2, -1, "c\nd\n");
	reads(path, 9, -1, "");
	reads(path, 1, 3, "b\nc\n");
	reads(path, 3, 4, "c\nd\n");
	reads(path, 0, 0, "a\n");
	reads(path, -5, 99, "a\nb\nc\nd\n");
}

static void line_ends_of_other_systems_become_line_feeds(void **state)
{
	char *path = path_in(state, "f");

	make(path, "a\r\nb\rc\n\r", 8, 0644);
	reads(path, 0, -1, "a\nb\nc\n\n");
}

static void what_is_no_text_is_told_apart(void **state)
{
	char *path = path_in(state, "f");

	make(path, "a\0b", 3, 0644);
	assert_int_equal(reading(path, true), FILE_BINARY);
	make(path, "caf\xe9 cr\xe8me", 10, 0644);
	assert_int_equal(reading(path, true), FILE_NOT_TEXT);
	make(path, "caf\xc3\xa9", 5, 0644);
	reads(path, 0, -1, "caf\xc3\xa9");
	make(path, "", 0, 0644);
	reads(path, 0, -1, "");
	assert_int_equal(reading(path_in(state, "none"), true), FILE_MISSING);
	assert_int_equal(reading(path_in(state, ""), true), FILE_IS_DIRECTORY);
}

static void images_come_as_data_urls(void **state)
{
	char *path = path_in(state, "i.PNG");
	struct file_request r = { .op = FILE_READ, .end = -1, .path = path };
	struct buf out = { 0 };

	make(path, "\x89PNG", 4, 0644);
	assert_int_equal(file_do(&r, &out).status, FILE_OK);
	assert_string_equal(buf_str(&out), "data:image/png;base64,iVBORw==");
	buf_clear(&out);
}

static void what_could_block_or_never_end_is_refused(void **state)
{
	char *path = path_in(state, "fifo");

	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(reading(path, true), FILE_SPECIAL);
	assert_int_equal(writes(path, "x", 0, -1).status, FILE_SPECIAL);
	assert_int_equal(reading("/dev/zero", true), FILE_SPECIAL);
	assert_int_equal(writes("/dev/null", "x", 0, -1).status, FILE_SPECIAL);
}

static void a_file_too_large_is_refused(void **state)
{
	char *path = path_in(state, "big");
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	assert_int_equal(ftruncate(fd, (off_t)FILE_BYTES_MAX + 1), 0);
	(void)close(fd);
	assert_int_equal(reading(path, true), FILE_TOO_LARGE);
	assert_int_equal(writes(path, "x", 0, -1).status, FILE_TOO_LARGE);
}

static void a_new_file_gets_parents_a_last_line_feed_and_its_mode(void **state)
{
	char *path = path_in(state, "a/b/c");
	struct stat st;
	mode_t old = umask(022);

	assert_int_equal(writes(path, "one\ntwo", 0, -1).status, FILE_OK);
	(void)umask(old);
	reads(path, 0, -1, "one\ntwo\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0664);
	assert_int_equal(writes(path, "", 0, -1).status, FILE_OK);
	reads(path, 0, -1, "\n");
	assert_int_equal(writes(path, "x\n", 0, -1).status, FILE_OK);
	reads(path, 0, -1, "x\n\n");
}

static void an_existing_file_keeps_its_mode_and_other_lines(void **state)
{
	char *path = path_in(state, "f");
	struct stat st;

	make(path, "a\nb\nc\nd\n", 8, 0640);
	assert_int_equal(writes(path, "X", 1, 3).status, FILE_OK);
	reads(path, 0, -1, "a\nX\nd\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(writes(path, "Y", 0, -1).status, FILE_OK);
	reads(path, 0, -1, "Y\n");
	make(path, "caf\xe9", 4, 0644);
	assert_int_equal(writes(path, "x", 0, -1).status, FILE_NOT_TEXT);
}

static void writing_through_a_link_writes_its_target(void **state)
{
	char target[200];
	char *link_path;

	(void)snprintf(target, sizeof(target), "%s", path_in(state, "target"));
	link_path = path_in(state, "link");
	make(target, "old\n", 4, 0644);
	assert_int_equal(symlink("target", link_path), 0);
	assert_int_equal(writes(link_path, "new", 0, -1).status, FILE_OK);
	reads(target, 0, -1, "new\n");
}

static void errors_of_the_system_keep_their_number(void **state)
{
	char path[300];
	struct file_outcome o;

	make(path_in(state, "f"), "x", 1, 0644);
	(void)snprintf(path, sizeof(path), "%s/below", path_in(state, "f"));
	o = writes(path, "x", 0, -1);
	assert_int_equal(o.status, FILE_OS_ERROR);
	assert_int_equal(o.code, ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lines_are_selected_as_the_reference_does),
		scratch_test(line_ends_of_other_systems_become_line_feeds),
		scratch_test(what_is_no_text_is_told_apart),
		scratch_test(images_come_as_data_urls),
		scratch_test(what_could_block_or_never_end_is_refused),
		scratch_test(a_file_too_large_is_refused),
		scratch_test(a_new_file_gets_parents_a_last_line_feed_and_its_mode),
		scratch_test(an_existing_file_keeps_its_mode_and_other_lines),
		scratch_test(writing_through_a_link_writes_its_target),
		scratch_test(errors_of_the_system_keep_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
