/* SPDX-License-Identifier: MIT */
/* The editor on real files; what is pure of it is in test_edit_text.c and test_udiff.c. */
#include "sandbox/executor/file_edit.h"

#include <sys/stat.h>

#include "unit.h"

#define NUMBERED "Here's the result of running `cat -n` on "

/* A request that is built up, and what came of it. */
struct talk {
	struct file_request r;
	struct file_reply got;
};

static char *path_in(void **state, const char *name)
{
	static char paths[4][200];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", ((struct scratch *)*state)->path, name);
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

static void holds(const char *path, const char *bytes, size_t len)
{
	char there[4096];
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, there, sizeof(there)), (ssize_t)len);
	assert_memory_equal(there, bytes, len);
	(void)close(fd);
}

static struct talk asking(const char *command, const char *path)
{
	return (struct talk) { .r = { .op = FILE_EDIT,
				      .part = { [FILE_PATH] = text_of(path),
						[FILE_NAME] = text_of(path),
						[FILE_BASE] = text_of("/"),
						[FILE_COMMAND] = text_of(command) } } };
}

static const char *content(const struct talk *t)
{
	return buf_str(&t->got.gives[FILE_GIVES_CONTENT]);
}

static void says(struct talk *t, const char *fmt, ...) printf_like(2, 3);

static void says(struct talk *t, const char *fmt, ...)
{
	struct buf want = { 0 };
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_puts(&want, text);
	file_do(&t->r, &t->got);
	assert_int_equal(t->got.status, FILE_OK);
	assert_string_equal(content(t), buf_str(&want));
	buf_clear(&want);
}

static void diff_is(struct talk *t, const char *path, const char *hunks)
{
	char want[1024];

	(void)snprintf(want, sizeof(want), "--- %s\n+++ %s\n%s", path, path, hunks);
	assert_string_equal(buf_str(&t->got.gives[FILE_GIVES_DIFF]), *hunks ? want : "");
}

static void end(struct talk *t)
{
	file_reply_clear(&t->got);
}

static void refused(const char *command, const char *path, const char *words)
{
	struct talk t = asking(command, path);

	says(&t, "ERROR:\n%s", words);
	diff_is(&t, path, "");
	assert_int_equal(t.got.past, FILE_UNTOUCHED);
	end(&t);
}

static char *words(const char *fmt, ...) printf_like(1, 2);

static char *words(const char *fmt, ...)
{
	static char text[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return text;
}

/* Root may read and write everything: be somebody else for a while. */
static void as_nobody(void **state)
{
	const struct scratch *s = *state;

	if (getuid() != 0)
		return;
	assert_int_equal(chown(s->path, 65534, 65534), 0);
	assert_int_equal(setegid(65534), 0);
	assert_int_equal(seteuid(65534), 0);
}

static void as_before(void)
{
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(setegid(getgid()), 0);
}

/* --- checks ---------------------------------------------------------------------------------- */

static void a_relative_path_is_refused_with_what_may_have_been_meant(void **state)
{
	struct talk t = asking("view", "passwd");

	(void)state;
	t.r.part[FILE_BASE] = text_of("/etc");
	says(&t, "ERROR:\nInvalid `path` parameter: passwd. The path should be an absolute path, "
		 "starting with `/`. Maybe you meant /etc/passwd?");
	end(&t);
	refused("create", "no/such",
		"Invalid `path` parameter: no/such. The path should be an absolute path, starting "
		"with `/`.");
}

static void a_line_that_is_no_number_comes_before_all_else(void **state)
{
	struct talk t = asking("insert", "relative");

	(void)state;
	t.r.part[FILE_BAD_LINE] = text_of("two");
	says(&t, "ERROR:\nInvalid insert_line value: 'two'. Expected an integer.");
	end(&t);
}

static void what_is_there_or_not_decides_before_what_is_asked(void **state)
{
	const char *file = path_in(state, "f"), *none = path_in(state, "none"),
		   *dir = path_in(state, "d");

	make(file, "a\n", 2, 0644);
	assert_int_equal(mkdir(dir, 0755), 0);
	refused("create", file,
		words("Invalid `path` parameter: %s. File already exists at: %s. Cannot overwrite "
		      "files using command `create`.",
		      file, file));
	refused("create", dir,
		words("Invalid `path` parameter: %s. File already exists at: %s. Cannot overwrite "
		      "files using command `create`.",
		      dir, dir));
	refused("fly", none,
		words("Invalid `path` parameter: %s. The path %s does not exist. Please provide a "
		      "valid path.",
		      none, none));
	refused("fly", dir,
		words("Invalid `path` parameter: %s. The path %s is a directory and only the `view` "
		      "command can be used on directories.",
		      dir, dir));
	refused("fly", file,
		"Unrecognized command fly. The allowed commands for the oh_editor tool are: view, "
		"create, str_replace, insert, undo_edit");
	refused("", file,
		"Unrecognized command . The allowed commands for the oh_editor tool are: view, "
		"create, str_replace, insert, undo_edit");
	/* A link that leads nowhere is not there. */
	assert_int_equal(symlink("nowhere", path_in(state, "link")), 0);
	refused("view", path_in(state, "link"),
		words("Invalid `path` parameter: %s. The path %s does not exist. Please provide a "
		      "valid path.",
		      path_in(state, "link"), path_in(state, "link")));
}

static void missing_parameters_are_named(void **state)
{
	const char *file = path_in(state, "f"), *none = path_in(state, "none");
	struct talk t;

	make(file, "a\n", 2, 0644);
	refused("create", none, "Parameter `file_text` is required for command: create.");
	refused("str_replace", file, "Parameter `old_str` is required for command: str_replace.");
	refused("insert", file, "Parameter `insert_line` is required for command: insert.");
	t = asking("insert", file);
	t.r.flags = FILE_LINE_GIVEN;
	says(&t, "ERROR:\nParameter `new_str` is required for command: insert.");
	end(&t);
}

static void documents_can_only_be_viewed_and_not_that_either(void **state)
{
	static const char *const extensions[] = { ".docx", ".xlsx", ".pptx", ".PDF",
						  ".mp3",  ".wav",  ".m4a",  ".flac" };

	for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
		char name[20];
		const char *path;

		(void)snprintf(name, sizeof(name), "a%s", extensions[i]);
		path = path_in(state, name);
		refused("create", path,
			words("Invalid `path` parameter: %s. The path %s points to a binary file (%s) "
			      "and only the `view` command can be used on supported binary files.",
			      path, path, extensions[i]));
		make(path, "x", 1, 0644);
		refused("view", path,
			words("Error in converting file to Markdown: there is no converter for %s "
			      "files. Please use Python code to read %s",
			      extensions[i], path));
	}
}

static void large_and_binary_files_are_refused(void **state)
{
	const char *file = path_in(state, "f");
	int fd = open(file, O_WRONLY | O_CREAT, 0644);

	assert_int_equal(ftruncate(fd, (FILE_EDIT_BYTES_MAX / 4) * 5), 0);
	refused("view", file,
		words("File validation failed for %s: File is too large (12.5MB). Maximum allowed "
		      "size is 10MB.",
		      file));
	refused("undo_edit", file,
		words("File validation failed for %s: File is too large (12.5MB). Maximum allowed "
		      "size is 10MB.",
		      file));
	(void)close(fd);
	make(file, "a\0b", 3, 0644);
	refused("view", file,
		words("File validation failed for %s: File appears to be binary and this file type "
		      "cannot be read or edited by this tool.",
		      file));
}

static void what_is_no_file_is_refused_without_being_opened(void **state)
{
	static const char *const commands[] = { "view", "undo_edit" };
	const char *fifo = path_in(state, "fifo");

	assert_int_equal(mkfifo(fifo, 0666), 0);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		refused(commands[i], fifo,
			words("File validation failed for %s: It is a device, a pipe or a socket and "
			      "cannot be read or edited by this tool.",
			      fifo));
		refused(commands[i], "/dev/zero",
			"File validation failed for /dev/zero: It is a device, a pipe or a socket and "
			"cannot be read or edited by this tool.");
	}
}

static void files_about_ourselves_are_kept_from_the_client(void **state)
{
	char path[64], want[200];

	(void)state;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)getpid());
	(void)snprintf(want, sizeof(want),
		       "Ran into [Errno 13] Permission denied: '%s' while trying to read %s", path,
		       path);
	refused("view", path, want);
	refused("view", "/proc/self/maps",
		"Ran into [Errno 13] Permission denied: '/proc/self/maps' while trying to read "
		"/proc/self/maps");
	refused("view", "/proc/thread-self",
		"Ran into [Errno 13] Permission denied: '/proc/thread-self' while trying to read "
		"/proc/thread-self");
}

static void a_client_that_reads_is_told_of_binary_files_in_its_own_way(void **state)
{
	static const char *const names[] = { "f", "none.pyc" };
	struct talk t;

	make(path_in(state, "f"), "a\0b", 3, 0644);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		t = asking("view", path_in(state, names[i]));
		t.r.flags = FILE_TEXT_ONLY;
		file_do(&t.r, &t.got);
		assert_int_equal(t.got.status, FILE_BINARY);
		end(&t);
	}
}

static void an_error_of_the_system_is_told_with_its_number(void **state)
{
	const char *file = path_in(state, "f"), *other = path_in(state, "g"),
		   *deep = path_in(state, "no/such/dir");
	struct talk t;

	as_nobody(state);
	make(file, "a\n", 2, 0);
	refused("view", file,
		words("Ran into [Errno 13] Permission denied: '%s' while trying to read %s", file,
		      file));
	make(other, "a\n", 2, 0444);
	t = asking("str_replace", other);
	t.r.part[FILE_OLD] = text_of("a");
	t.r.part[FILE_NEW] = text_of("b");
	says(&t, "ERROR:\nRan into [Errno 13] Permission denied: '%s' while trying to write to %s",
	     other, other);
	end(&t);
	as_before();
	t = asking("create", deep);
	t.r.part[FILE_CONTENT] = text_of("x");
	says(&t,
	     "ERROR:\nRan into [Errno 2] No such file or directory: '%s' while trying to write to %s",
	     deep, deep);
	assert_int_equal(t.got.past, FILE_UNTOUCHED);
	end(&t);
}

/* --- commands -------------------------------------------------------------------------------- */

static void a_file_is_viewed_whole_or_by_lines(void **state)
{
	const char *file = path_in(state, "f");
	struct talk t;

	make(file, "a\r\nb\n", 5, 0644);
	t = asking("view", file);
	says(&t, NUMBERED "%s:\n     1\ta\n     2\tb\n     3\t\n", file);
	assert_int_equal(t.got.past, FILE_UNTOUCHED);
	diff_is(&t, file, "");
	end(&t);
	t = asking("view", file);
	t.r.part[FILE_RANGE] = text_of("[2, -1]");
	t.r.flags = FILE_RANGE_GOOD;
	t.r.start = 2;
	t.r.end = -1;
	says(&t, NUMBERED "%s:\n     2\tb\n", file);
	end(&t);
	t = asking("view", file);
	t.r.part[FILE_RANGE] = text_of("['a']");
	says(&t,
	     "ERROR:\nInvalid `view_range` parameter: ['a']. It should be a list of two integers.");
	end(&t);
}

static void a_directory_is_listed_two_levels_deep(void **state)
{
	const char *dir = path_in(state, "a dir; with $blanks");
	struct talk t;
	char below[300];

	assert_int_equal(mkdir(dir, 0755), 0);
	for (int i = 0; i < 6; i++) {
		static const char *const names[] = { "sub",	"sub/deep", "sub.txt",
						     ".hidden", "sub/.too", "sub/deep/deeper" };

		(void)snprintf(below, sizeof(below), "%s/%s", dir, names[i]);
		if (i == 2)
			make(below, "", 0, 0644);
		else
			assert_int_equal(mkdir(below, 0755), 0);
	}
	(void)snprintf(below, sizeof(below), "%s/loop", dir);
	assert_int_equal(symlink(".", below), 0);
	(void)snprintf(below, sizeof(below), "%s/none", dir);
	assert_int_equal(symlink("nowhere", below), 0);
	(void)snprintf(below, sizeof(below), "%s/with\nlf", dir);
	make(below, "", 0, 0644);
	t = asking("view", dir);
	says(&t,
	     "Here's the files and directories up to 2 levels deep in %s, excluding hidden items:\n"
	     "%s/\n%s/loop/\n%s/none\n%s/sub/\n%s/sub.txt\n%s/sub/deep/\n%s/with?lf\n\n"
	     "1 hidden files/directories in this directory are excluded. You can use 'ls -la %s' to "
	     "see them.",
	     dir, dir, dir, dir, dir, dir, dir, dir, dir);
	end(&t);
	t = asking("view", dir);
	t.r.part[FILE_RANGE] = text_of("[1, 2]");
	says(&t,
	     "ERROR:\nInvalid `view_range` parameter: [1, 2]. The `view_range` parameter is not "
	     "allowed when `path` points to a directory.");
	end(&t);
	t = asking("view", path_in(state, "a dir; with $blanks/sub/deep/deeper"));
	says(&t,
	     "Here's the files and directories up to 2 levels deep in %s/sub/deep/deeper, excluding "
	     "hidden items:\n%s/sub/deep/deeper/",
	     dir, dir);
	end(&t);
}

static void what_cannot_be_read_does_not_hide_the_rest(void **state)
{
	const char *dir = path_in(state, "d"), *closed = path_in(state, "d/closed");
	struct talk t;

	as_nobody(state);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(mkdir(closed, 0), 0);
	t = asking("view", dir);
	says(&t,
	     "Here's the files and directories up to 2 levels deep in %s, excluding hidden items:\n"
	     "%s/\n%s/\n\n1 of the directories could not be read, first '%s': Permission denied.",
	     dir, dir, closed, closed);
	end(&t);
	refused("view", closed,
		words("Ran into [Errno 13] Permission denied: '%s' while trying to read %s", closed,
		      closed));
	as_before();
}

static void a_large_directory_shows_its_first_names_in_order(void **state)
{
	const char *dir = path_in(state, "d");
	struct buf want = { 0 };
	struct talk t;
	char path[300];
	size_t chars;

	assert_int_equal(mkdir(dir, 0755), 0);
	buf_printf(&want, "%s\n", dir);
	/* From behind, and far more than are shown. */
	for (int i = 8000; i > 0; i--) {
		(void)snprintf(path, sizeof(path), "%s/name-%05d", dir, i);
		make(path, "", 0, 0644);
	}
	for (int i = 1; want.len <= 16000; i++)
		buf_printf(&want, "%s/name-%05d\n", dir, i);
	chars = 16000 - strlen(dir) - 1;
	t = asking("view", dir);
	file_do(&t.r, &t.got);
	assert_non_null(strstr(content(&t), ":\n"));
	assert_memory_equal(strchr(content(&t), '\n') + 1 + strlen(dir) + 2,
			    want.data + strlen(dir) + 1, chars);
	assert_string_equal(
		strstr(content(&t), "<response"),
		"<response clipped><NOTE>Due to the max output limit, only part of this directory has "
		"been shown to you. You should use `ls -la` instead to view large directories "
		"incrementally.</NOTE>");
	end(&t);
	buf_clear(&want);
}

static void a_file_is_created_with_exactly_the_text(void **state)
{
	const char *file = path_in(state, "f");
	mode_t was = umask(022);
	struct talk t = asking("create", file);
	struct stat st;

	t.r.part[FILE_CONTENT] = text_of("a\nb");
	says(&t, "File created successfully at: %s", file);
	(void)umask(was);
	assert_int_equal(t.got.past, FILE_MADE);
	diff_is(&t, file, "@@ -1 +1,2 @@\n-\n+a\n+b");
	holds(file, "a\nb", 3);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	end(&t);
	t = asking("create", path_in(state, "empty"));
	t.r.part[FILE_CONTENT] = text_of("");
	says(&t, "File created successfully at: %s", path_in(state, "empty"));
	diff_is(&t, "", "");
	end(&t);
}

static void a_link_to_nothing_is_filled(void **state)
{
	const char *link_path = path_in(state, "link");
	struct talk t = asking("create", link_path);

	assert_int_equal(symlink("target", link_path), 0);
	t.r.part[FILE_CONTENT] = text_of("x");
	says(&t, "File created successfully at: %s", link_path);
	holds(path_in(state, "target"), "x", 1);
	end(&t);
}

static struct talk replacing(const char *path, const char *old, const char *new)
{
	struct talk t = asking("str_replace", path);

	t.r.part[FILE_OLD] = text_of(old);
	if (new)
		t.r.part[FILE_NEW] = text_of(new);
	return t;
}

static void a_change_keeps_what_the_file_is(void **state)
{
	const char *file = path_in(state, "f"), *other = path_in(state, "hard"),
		   *soft = path_in(state, "soft");
	struct stat before, after;
	struct talk t;

	make(file, "a\r\nb\r\n", 6, 0750);
	assert_int_equal(link(file, other), 0);
	assert_int_equal(symlink("f", soft), 0);
	assert_int_equal(stat(file, &before), 0);
	t = replacing(soft, "b", "c\nd");
	says(&t,
	     "The file %s has been edited. " NUMBERED
	     "a snippet of %s:\n     1\ta\n     2\tc\n     3\td\n     4\t\nReview the changes and make "
	     "sure they are as expected. Edit the file again if necessary.",
	     soft, soft);
	diff_is(&t, soft, "@@ -2 +2,2 @@\n-b\n+c\n+d");
	assert_int_equal(t.got.past, FILE_EDITED);
	assert_string_equal(buf_str(&t.got.gives[FILE_GIVES_OLD]), "a\r\nb\r\n");
	end(&t);
	holds(other, "a\r\nc\r\nd\r\n", 9);
	t = asking("insert", soft);
	t.r.flags = FILE_LINE_GIVEN;
	t.r.start = 1;
	t.r.part[FILE_NEW] = text_of("new");
	file_do(&t.r, &t.got);
	diff_is(&t, soft, "@@ -1,0 +2 @@\n+new");
	assert_string_equal(buf_str(&t.got.gives[FILE_GIVES_OLD]), "a\r\nc\r\nd\r\n");
	end(&t);
	holds(other, "a\r\nnew\r\nc\r\nd\r\n", 14);
	assert_int_equal(lstat(soft, &after), 0);
	assert_true(S_ISLNK(after.st_mode));
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_uid, before.st_uid);
}

static void a_change_keeps_the_encoding(void **state)
{
	static const char utf16[] = "\xff\xfe"
				    "a\0\r\0\n\0\xe9\0",
			  after[] = "\xff\xfe"
				    "a\0\r\0\n\0\xac\x20\r\0\n\0z\0";
	const char *file = path_in(state, "f");
	struct talk t = replacing(file, "\xc3\xa9", "\xe2\x82\xac\nz");

	make(file, utf16, sizeof(utf16) - 1, 0644);
	file_do(&t.r, &t.got);
	diff_is(&t, file, "@@ -2 +2,2 @@\n-\xc3\xa9\n+\xe2\x82\xac\n+z");
	holds(file, after, sizeof(after) - 1);
	end(&t);
	make(file,
	     "\xef\xbb\xbf"
	     "ab",
	     5, 0644);
	t = replacing(file, "a", "");
	file_do(&t.r, &t.got);
	holds(file,
	      "\xef\xbb\xbf"
	      "b",
	      4);
	end(&t);
	make(file, "caf\xe9 cr\xe8me", 10, 0644);
	refused("view", file,
		words("Ran into 'utf-8' codec can't decode byte 0xe9 in position 3: invalid "
		      "continuation byte while trying to read %s",
		      file));
}

static void nothing_is_replaced_by_the_same(void **state)
{
	const char *file = path_in(state, "f");
	struct talk t = replacing(file, "b", "b");

	make(file, "a\nb\n", 4, 0644);
	says(&t,
	     "ERROR:\nInvalid `new_str` parameter: b. No replacement was performed. `new_str` and "
	     "`old_str` must be different.");
	end(&t);
	t = replacing(file, "c", "d");
	says(&t, "ERROR:\nNo replacement was performed, old_str `c` did not appear verbatim in %s.",
	     file);
	assert_int_equal(t.got.past, FILE_UNTOUCHED);
	end(&t);
	/* Without a new text the old one goes. */
	t = replacing(file, "b\n", NULL);
	file_do(&t.r, &t.got);
	holds(file, "a\n", 2);
	end(&t);
}

static void undoing_writes_the_very_bytes(void **state)
{
	static const char bytes[] = "\xfe\xff\0a\0\r";
	const char *file = path_in(state, "f");
	struct talk t;

	make(file, "now\n", 4, 0644);
	refused("undo_edit", file, words("No edit history found for %s.", file));
	t = asking("undo_edit", file);
	t.r.part[FILE_CONTENT] = (struct text) { bytes, sizeof(bytes) - 1 };
	says(&t, "Last edit to %s undone successfully. " NUMBERED "%s:\n     1\ta\n     2\t\n",
	     file, file);
	diff_is(&t, file, "@@ -1 +1 @@\n-now\n+a");
	assert_int_equal(t.got.past, FILE_UNDONE);
	holds(file, bytes, sizeof(bytes) - 1);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_is_refused_with_what_may_have_been_meant),
		cmocka_unit_test(a_line_that_is_no_number_comes_before_all_else),
		scratch_test(what_is_there_or_not_decides_before_what_is_asked),
		scratch_test(missing_parameters_are_named),
		scratch_test(documents_can_only_be_viewed_and_not_that_either),
		scratch_test(large_and_binary_files_are_refused),
		scratch_test(what_is_no_file_is_refused_without_being_opened),
		cmocka_unit_test(files_about_ourselves_are_kept_from_the_client),
		scratch_test(a_client_that_reads_is_told_of_binary_files_in_its_own_way),
		scratch_test(an_error_of_the_system_is_told_with_its_number),
		scratch_test(a_file_is_viewed_whole_or_by_lines),
		scratch_test(a_directory_is_listed_two_levels_deep),
		scratch_test(what_cannot_be_read_does_not_hide_the_rest),
		scratch_test(a_large_directory_shows_its_first_names_in_order),
		scratch_test(a_file_is_created_with_exactly_the_text),
		scratch_test(a_link_to_nothing_is_filled),
		scratch_test(a_change_keeps_what_the_file_is),
		scratch_test(a_change_keeps_the_encoding),
		scratch_test(nothing_is_replaced_by_the_same),
		scratch_test(undoing_writes_the_very_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
