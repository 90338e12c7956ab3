/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/file.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

static void holds(const char *path, const char *bytes)
{
	char there[4096];
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, there, sizeof(there)), (ssize_t)strlen(bytes));
	assert_memory_equal(there, bytes, strlen(bytes));
	(void)close(fd);
}

static struct file_request asks(enum file_op op, const char *path, int64_t start, int64_t end)
{
	return (struct file_request) { .op = op,
				       .flags = FILE_GIVEN_ABSOLUTE,
				       .start = start,
				       .end = end,
				       .part = { [FILE_PATH] = text_of(path) } };
}

static void reads(const char *path, int64_t start, int64_t end, const char *text)
{
	struct file_request r = asks(FILE_READ, path, start, end);
	struct file_reply got = { .status = FILE_OK };

	file_do(&r, &got);
	assert_int_equal(got.status, FILE_OK);
	assert_string_equal(buf_str(&got.gives[FILE_GIVES_CONTENT]), text);
	file_reply_clear(&got);
}

static enum file_status reading(const char *path, bool absolute)
{
	struct file_request r = asks(FILE_READ, path, 0, -1);
	struct file_reply got = { .status = FILE_OK };
	enum file_status status;

	if (!absolute)
		r.flags = 0;
	file_do(&r, &got);
	status = got.status;
	file_reply_clear(&got);
	return status;
}

static struct file_reply writes(const char *path, const char *text, int64_t start, int64_t end)
{
	struct file_request r = asks(FILE_WRITE, path, start, end);
	struct file_reply got = { .status = FILE_OK };

	r.part[FILE_CONTENT] = text_of(text);
	file_do(&r, &got);
	assert_int_equal(got.gives[FILE_GIVES_CONTENT].len, 0);
	return got;
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

static void binary_is_guessed_from_the_first_kilobyte(void **state)
{
	char bytes[1100];

	(void)state;
	/* Whatever the bytes say: marks, and UTF-8 that ends within a character. */
	assert_false(file_is_binary("f", "", 0));
	assert_false(file_is_binary("f",
				    "\xff\xfe"
				    "a\0",
				    4));
	assert_false(file_is_binary("f", "\xfe\xff\0a", 4));
	assert_false(file_is_binary("f", "\0\0\xfe\xff\0\0\0a", 8));
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes + 1022, "\xe2\x82\xac", 3);
	assert_false(file_is_binary("f", bytes, sizeof(bytes)));
	/* A zero or 0xff among the first 1024, and no other. */
	bytes[1023] = '\0';
	assert_true(file_is_binary("f", bytes, sizeof(bytes)));
	bytes[1022] = bytes[1023] = 'a';
	bytes[1024] = '\0';
	assert_false(file_is_binary("f", bytes, sizeof(bytes)));
	assert_true(file_is_binary("f", "abc\xff", 4));
	/* Legacy text, and what has almost no ASCII in it. */
	assert_false(file_is_binary("f", "caf\xe9 cr\xe8me", 10));
	memset(bytes, 0x80, 100);
	assert_true(file_is_binary("f", bytes, 100));
	memset(bytes, 'a', 10);
	assert_false(file_is_binary("f", bytes, 100));
	assert_true(file_is_binary("f.PYC", "text", 4));
}

static void images_come_as_data_urls(void **state)
{
	char *path = path_in(state, "i.PNG");

	make(path, "\x89PNG", 4, 0644);
	reads(path, 0, -1, "data:image/png;base64,iVBORw==");
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

/* Whoever has a lease on a file is asked for it by whoever opens it, and may take 45 seconds. */
static void a_leased_file_is_not_waited_for(void **state)
{
	char *path = path_in(state, "f");
	int told[2], fd;
	pid_t holder;
	char byte;

	make(path, "a\n", 2, 0644);
	assert_int_equal(pipe(told), 0);
	holder = fork();
	if (holder == 0) {
		(void)signal(SIGIO, SIG_IGN);
		fd = open(path, O_RDWR);
		byte = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
		if (write(told[1], &byte, 1) == 1)
			(void)pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &byte, 1), 1);
	if (byte)
		assert_int_equal(reading(path, true), FILE_OS_ERROR);
	(void)kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
	(void)close(told[0]);
	(void)close(told[1]);
	if (!byte) {
		print_message("skip: no leases here\n");
		skip();
	}
	reads(path, 0, -1, "a\n");
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
	struct file_reply o;

	make(path_in(state, "f"), "x", 1, 0644);
	(void)snprintf(path, sizeof(path), "%s/below", path_in(state, "f"));
	o = writes(path, "x", 0, -1);
	assert_int_equal(o.status, FILE_OS_ERROR);
	assert_int_equal(o.code, ENOTDIR);
}

static void other_lines_keep_their_ends(void **state)
{
	char *path = path_in(state, "f");

	make(path, "a\r\nb\r\nc\r\n", 9, 0644);
	assert_int_equal(writes(path, "X\nY", 1, 2).status, FILE_OK);
	holds(path, "a\r\nX\r\nY\r\nc\r\n");
	/* What is written whole is written as it was given. */
	assert_int_equal(writes(path, "X", 0, -1).status, FILE_OK);
	holds(path, "X\n");
	/* Lines that stand on both sides of what is written are there twice: clients know it so. */
	make(path, "a\nb\nc\n", 6, 0644);
	assert_int_equal(writes(path, "X", 2, 1).status, FILE_OK);
	holds(path, "a\nb\nX\nb\nc\n");
	/* A last line without an end gets one before others follow it. */
	make(path, "a", 1, 0644);
	assert_int_equal(writes(path, "b", 1, -1).status, FILE_OK);
	holds(path, "a\nb\n");
}

static void compiled_python_is_binary_by_its_name_wherever_it_is(void **state)
{
	char *path = path_in(state, "f.pyc");

	make(path, "text", 4, 0644);
	assert_int_equal(reading(path, true), FILE_BINARY);
	assert_int_equal(reading(path, false), FILE_BINARY);
}

static void files_about_ourselves_are_neither_read_nor_written(void **state)
{
	struct file_reply o = writes("/proc/self/comm", "x", 0, -1);

	(void)state;
	assert_int_equal(reading("/proc/self/maps", true), FILE_OS_ERROR);
	assert_int_equal(o.status, FILE_OS_ERROR);
	assert_int_equal(o.code, EACCES);
	assert_int_equal(reading("/proc/meminfo", true), FILE_OK);
}

/* A full file system, seen by a child alone. */
static bool fill(const char *dir)
{
	static char zeros[4096];
	char path[200];
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=64k") < 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/f", dir);
	make(path, "a\nb\n", 4, 0644);
	(void)snprintf(path, sizeof(path), "%s/rest", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	(void)close(fd);
	return true;
}

static void write_on_full(const char *dir)
{
	static char much[20000];
	char path[200];
	struct file_reply o;

	memset(much, 'x', sizeof(much) - 1);
	(void)snprintf(path, sizeof(path), "%s/f", dir);
	o = writes(path, much, 0, -1);
	assert_int_equal(o.status, FILE_OS_ERROR);
	assert_int_equal(o.code, ENOSPC);
	holds(path, "a\nb\n");
	(void)snprintf(path, sizeof(path), "%s/new", dir);
	o = writes(path, much, 0, -1);
	assert_int_equal(o.code, ENOSPC);
	assert_int_equal(reading(path, true), FILE_MISSING);
	(void)snprintf(path, sizeof(path), "%s/f", dir);
	assert_int_equal(writes(path, "short", 0, -1).status, FILE_OK);
	holds(path, "short\n");
}

static void on_a_full_disk_the_old_content_stays(void **state)
{
	const char *dir = ((struct scratch *)*state)->path;
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (!fill(dir))
			_exit(77);
		write_on_full(dir);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skip: needs root\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void a_limit_on_the_size_of_files_leaves_the_old_content(void **state)
{
	char *path = path_in(state, "f");
	struct rlimit was, less = { 4096, 0 };
	char much[10000];
	struct file_reply o;

	make(path, "a\n", 2, 0644);
	memset(much, 'x', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	(void)signal(SIGXFSZ, SIG_IGN); /* as the helper does */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	less.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	o = writes(path, much, 0, -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(o.status, FILE_TOO_LARGE);
	holds(path, "a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(lines_are_selected_as_the_reference_does),
		scratch_test(line_ends_of_other_systems_become_line_feeds),
		scratch_test(what_is_no_text_is_told_apart),
		cmocka_unit_test(binary_is_guessed_from_the_first_kilobyte),
		scratch_test(images_come_as_data_urls),
		scratch_test(what_could_block_or_never_end_is_refused),
		scratch_test(a_leased_file_is_not_waited_for),
		scratch_test(a_file_too_large_is_refused),
		scratch_test(a_new_file_gets_parents_a_last_line_feed_and_its_mode),
		scratch_test(an_existing_file_keeps_its_mode_and_other_lines),
		scratch_test(writing_through_a_link_writes_its_target),
		scratch_test(errors_of_the_system_keep_their_number),
		scratch_test(other_lines_keep_their_ends),
		scratch_test(compiled_python_is_binary_by_its_name_wherever_it_is),
		scratch_test(files_about_ourselves_are_neither_read_nor_written),
		scratch_test(on_a_full_disk_the_old_content_stays),
		scratch_test(a_limit_on_the_size_of_files_leaves_the_old_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
