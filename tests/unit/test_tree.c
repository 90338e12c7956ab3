/* SPDX-License-Identifier: MIT */
#include "tree_ask.h"

#include <sys/resource.h>

#include "sandbox/executor/zip.h"

/* --- a file ---------------------------------------------------------------------------------- */

static void store(const struct scratch *s, const char *dir, const char *name, const char *text,
		  const char *error)
{
	assert_string_equal(tree_give(TRANSFER_STORE, below(s, dir), name, text, strlen(text)),
			    error);
}

static void a_file_is_stored_in_a_directory_that_is_made(void **state)
{
	const struct scratch *s = *state;

	store(s, "a/b//c/", "file", "hello", "");
	has(s, "a/b/c/file", "hello");
	assert_int_equal(mode_of(s, "a/b/c/file"), S_IFREG | 0644);
	assert_int_equal(mode_of(s, "a/b"), S_IFDIR | 0755);
	assert_int_equal(count(s, "a/b/c"), 1);
	store(s, "a", "empty", "", "");
	has(s, "a/empty", "");
}

static void a_file_that_is_replaced_keeps_its_mode(void **state)
{
	const struct scratch *s = *state;

	make(s, "file", "old and longer");
	assert_int_equal(fchmodat(s->dir, "file", 0750, 0), 0);
	store(s, "", "file", "new", "");
	has(s, "file", "new");
	assert_int_equal(mode_of(s, "file"), S_IFREG | 0750);
	assert_int_equal(count(s, "."), 1);
}

static void what_is_no_file_is_replaced_and_not_opened(void **state)
{
	const struct scratch *s = *state;

	make(s, "target", "untouched");
	assert_int_equal(symlinkat("target", s->dir, "link"), 0);
	assert_int_equal(mkfifoat(s->dir, "fifo", 0644), 0);
	store(s, "", "link", "new", "");
	store(s, "", "fifo", "new", "");
	has(s, "target", "untouched");
	has(s, "link", "new");
	has(s, "fifo", "new");
	assert_int_equal(mode_of(s, "link"), S_IFREG | 0644);
	assert_int_equal(mode_of(s, "fifo"), S_IFREG | 0644);
}

static void errors_are_told_as_clients_know_them(void **state)
{
	const struct scratch *s = *state;
	char expected[300];

	make(s, "file", "x");
	assert_int_equal(mkdirat(s->dir, "dir", 0755), 0);
	(void)snprintf(expected, sizeof(expected), "[Errno 21] Is a directory: '%s/dir'", s->path);
	assert_string_equal(tree_give(TRANSFER_STORE, s->path, "dir", "x", 1), expected);
	(void)snprintf(expected, sizeof(expected), "[Errno 20] Not a directory: '%s/file/x'",
		       s->path);
	store(s, "file", "x", "x", expected);
	(void)snprintf(expected, sizeof(expected), "[Errno 20] Not a directory: '%s/file/b'",
		       s->path);
	store(s, "file/b", "x", "x", expected);
	(void)snprintf(expected, sizeof(expected),
		       "[Errno 2] No such file or directory: '/proc/none/x'");
	assert_string_equal(tree_give(TRANSFER_STORE, "/proc/none/x", "a", "", 0), expected);
}

static void an_upload_that_ends_early_leaves_nothing(void **state)
{
	const struct scratch *s = *state;
	uint32_t piece = 100;
	struct err e = { 0 };
	struct asked a;

	make(s, "file", "old");
	tree_begin(&a, TRANSFER_STORE, s->path, "file");
	tree_upload(&a, "some", 4);
	tree_end(&a);
	tree_begin(&a, TRANSFER_STORE, s->path, "file");
	assert_ok(io_write_all(a.socket, &piece, sizeof(piece), &e));
	assert_ok(io_write_all(a.socket, "less", 4, &e));
	tree_end(&a);
	has(s, "file", "old");
	assert_int_equal(count(s, "."), 1);
}

/* A limit on the size of files stands for a disk that is full: it needs no file system. */
static void a_limit_of_the_disk_is_told(void **state)
{
	static char bytes[20000];
	const struct scratch *s = *state;
	struct rlimit was, low;
	char expected[300];
	const char *error;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = (struct rlimit) { .rlim_cur = 10000, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	error = tree_give(TRANSFER_STORE, s->path, "x", bytes, sizeof(bytes));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	(void)snprintf(expected, sizeof(expected), "[Errno 27] File too large: '%s/x'", s->path);
	assert_string_equal(error, expected);
	assert_int_equal(count(s, "."), 0);
}

/* --- names ----------------------------------------------------------------------------------- */

static void lists(const struct scratch *s, const char *dir, const char *expected)
{
	autobuf struct buf out = { 0 };

	assert_true(tree_take(TRANSFER_LIST, below(s, dir), &out));
	assert_string_equal(buf_str(&out), expected);
}

static void names_come_as_clients_show_them(void **state)
{
	const struct scratch *s = *state;

	for (const char *const *name = (const char *const[]) { "b", "A", ".hidden", "a b",
							       "\xc3\xa4", "\xff", "c\"d", NULL };
	     *name; name++)
		make(s, *name, "");
	assert_int_equal(mkdirat(s->dir, "Zoo", 0755), 0);
	assert_int_equal(mkdirat(s->dir, "zap", 0755), 0);
	assert_int_equal(symlinkat("Zoo", s->dir, "link"), 0);
	assert_int_equal(symlinkat("b", s->dir, "filelink"), 0);
	assert_int_equal(symlinkat("nowhere", s->dir, "broken"), 0);
	assert_int_equal(mkfifoat(s->dir, "pipe", 0644), 0);
	lists(s, "",
	      "[\"link/\",\"zap/\",\"Zoo/\",\".hidden\",\"A\",\"a b\",\"b\",\"c\\\"d\",\"filelink\","
	      "\"pipe\",\"\xc3\xa4\",\"\xef\xbf\xbd\"]");
}

static void what_is_no_directory_has_no_names(void **state)
{
	const struct scratch *s = *state;

	make(s, "file", "");
	lists(s, "file", "[]");
	lists(s, "none", "[]");
	assert_int_equal(mkdirat(s->dir, "empty", 0755), 0);
	lists(s, "empty", "[]");
}

/* --- a tree ---------------------------------------------------------------------------------- */

/* Names in an archive, a line each with size and mode. */
static void contents(const struct buf *zip, struct buf *out)
{
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };
	size_t at;

	assert_ok(zip_find_end(zip->data, zip->len, zip->len, &end, &e));
	assert_int_equal(end.shift, 0);
	at = end.directory_at;
	for (uint64_t i = 0; i < end.entries; i++) {
		long n = zip_next(zip->data + at, zip->len - at, &end, &entry, &e), offset;

		assert_ok(n);
		offset = zip_data_offset(zip->data + entry.at, &entry, &e);
		assert_ok(offset);
		assert_int_equal(zip_crc(0, zip->data + entry.at + offset, entry.size), entry.crc);
		buf_printf(out, "%.*s %llu %o\n", (int)entry.name_len, entry.name,
			   (unsigned long long)entry.size, entry.mode);
		at += (size_t)n;
	}
	assert_int_equal(at, end.directory_at + end.directory_len);
}

static void packs(const char *path, const char *expected)
{
	autobuf struct buf zip = { 0 }, out = { 0 };

	assert_true(tree_take(TRANSFER_PACK, path, &zip));
	contents(&zip, &out);
	assert_string_equal(buf_str(&out), expected);
}

static void refuses(const char *path, const char *error)
{
	autobuf struct buf out = { 0 };

	assert_false(tree_take(TRANSFER_PACK, path, &out));
	assert_string_equal(buf_str(&out), error);
}

static void a_tree_is_packed_without_what_is_no_file(void **state)
{
	const struct scratch *s = *state;

	assert_int_equal(mkdirat(s->dir, "d", 0755), 0);
	assert_int_equal(mkdirat(s->dir, "d/e", 0755), 0);
	assert_int_equal(mkdirat(s->dir, "d/empty", 0755), 0);
	make(s, "d/e/file", "hello");
	assert_int_equal(fchmodat(s->dir, "d/e/file", 04755, 0), 0);
	assert_int_equal(symlinkat("e", s->dir, "d/dirlink"), 0);
	assert_int_equal(mkfifoat(s->dir, "d/fifo", 0644), 0);
	packs(below(s, "d"), "e/file 5 104755\n");
	packs(below(s, "d/empty"), "");
	packs(below(s, "d/e/file"), "");
}

static void links_to_files_are_followed_and_broken_ones_named(void **state)
{
	const struct scratch *s = *state;
	char expected[300];

	assert_int_equal(mkdirat(s->dir, "d", 0755), 0);
	make(s, "file", "hello");
	assert_int_equal(symlinkat("../file", s->dir, "d/link"), 0);
	packs(below(s, "d"), "link 5 100644\n");
	assert_int_equal(symlinkat("nowhere", s->dir, "d/broken"), 0);
	(void)snprintf(expected, sizeof(expected),
		       "[Errno 2] No such file or directory: '%s/d/broken'", s->path);
	refuses(below(s, "d"), expected);
	refuses(below(s, "none"), "404: File not found");
}

static void what_may_not_be_read_is_told_before_the_first_byte(void **state)
{
	const struct scratch *s = *state;
	char expected[300];

	assert_int_equal(fchmod(s->dir, 0755), 0);
	assert_int_equal(mkdirat(s->dir, "d", 0755), 0);
	make(s, "d/secret", "x");
	assert_int_equal(fchmodat(s->dir, "d/secret", 0, 0), 0);
	(void)snprintf(expected, sizeof(expected), "[Errno 13] Permission denied: '%s/d/secret'",
		       s->path);
	tree_as = geteuid() == 0 ? 65534 : 0;
	refuses(below(s, "d"), expected);
	tree_as = 0;
}

/* A file of this many bytes. */
static void make_large(const struct scratch *s, const char *name, size_t size)
{
	autobuf struct buf bytes = { 0 };

	while (bytes.len < size)
		buf_printf(&bytes, "%zu ", bytes.len);
	bytes.data[size] = '\0';
	make(s, name, bytes.data);
}

static void files_of_all_sizes_come_whole(void **state)
{
	static const size_t sizes[] = { 262143, 262144, 262145, 1000000 };
	const struct scratch *s = *state;
	autobuf struct buf zip = { 0 }, out = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char name[20];

		(void)snprintf(name, sizeof(name), "%zu", sizes[i]);
		make_large(s, name, sizes[i]);
	}
	assert_true(tree_take(TRANSFER_PACK, s->path, &zip));
	contents(&zip, &out);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char line[60];

		(void)snprintf(line, sizeof(line), "%zu %zu 100644\n", sizes[i], sizes[i]);
		assert_non_null(strstr(buf_str(&out), line));
	}
}

/* More than the socket holds comes first, so the second file is opened after it was cut. */
static void a_tree_that_changes_gives_no_whole_archive(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf out = { 0 };
	struct err e = { 0 };
	struct asked a;
	int64_t len;

	for (char name[] = "a"; name[0] <= 'd'; name[0]++)
		make_large(s, name, 2000000);
	tree_begin(&a, TRANSFER_PACK, s->path, "");
	len = tree_hear(&a);
	assert_true(len > 8000000);
	for (char name[] = "a"; name[0] <= 'd'; name[0]++)
		make(s, name, "cut");
	assert_ok(io_read_all(a.socket, 64 << 20, &out, &e));
	assert_true(out.len < (size_t)len);
	tree_end(&a);
}

static void a_file_that_grows_is_given_as_long_as_it_was(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf zip = { 0 }, out = { 0 };
	struct err e = { 0 };
	struct asked a;
	int64_t len;

	make_large(s, "log", 2000000);
	tree_begin(&a, TRANSFER_PACK, s->path, "");
	len = tree_hear(&a);
	make_large(s, "log", 2500000);
	assert_ok(io_read_all(a.socket, 64 << 20, &zip, &e));
	assert_int_equal(zip.len, len);
	contents(&zip, &out);
	assert_string_equal(buf_str(&out), "log 2000000 100644\n");
	tree_end(&a);
}

static void names_that_are_no_text_are_kept(void **state)
{
	const struct scratch *s = *state;

	make(s, "\xff\n", "x");
	packs(s->path, "\xff\n 1 100644\n");
}

static void a_tree_too_deep_for_a_name_is_refused(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf out = { 0 };
	char name[201];
	int at = dup(s->dir);

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 25; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_false(tree_take(TRANSFER_PACK, s->path, &out));
	assert_non_null(strstr(buf_str(&out), "[Errno 36] File name too long: '"));
}

/* --- a page ---------------------------------------------------------------------------------- */

/* The status that is told, and the page. */
static unsigned viewed(const char *path, struct buf *out)
{
	struct asked a;
	struct err e = { 0 };

	tree_begin(&a, TRANSFER_VIEW, path, "");
	if (tree_hear(&a) < 0)
		buf_puts(out, a.text);
	else
		assert_ok(io_read_all(a.socket, 64 << 20, out, &e));
	tree_end(&a);
	return a.answer.failed;
}

static void a_picture_is_shown_in_a_page(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf page = { 0 };

	make(s, "<b>&\xff.PNG", "abc");
	assert_int_equal(viewed(below(s, "<b>&\xff.PNG"), &page), 0);
	assert_non_null(strstr(buf_str(&page), "<title>File Viewer - &lt;b&gt;&amp;?.PNG</title>"));
	assert_non_null(strstr(buf_str(&page), "<img src=\"data:image/png;base64,YWJj\">"));
	assert_null(strstr(buf_str(&page), "<b>"));
}

static void what_is_no_picture_is_not_shown(void **state)
{
	const struct scratch *s = *state;
	const struct {
		const char *path;
		unsigned status;
	} wrong[] = {
		{ "a.png", 400 },
		{ "", 400 },
		{ s->path, 400 },
		{ "/none.png", 404 },
		{ below(s, "text.txt"), 500 },
		{ below(s, "fifo.png"), 500 },
		{ below(s, "self.png"), 500 },
	};

	make(s, "text.txt", "x");
	assert_int_equal(mkfifoat(s->dir, "fifo.png", 0644), 0);
	assert_int_equal(symlinkat("/proc/self/maps", s->dir, "self.png"), 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		autobuf struct buf page = { 0 };

		assert_int_equal(viewed(wrong[i].path, &page), wrong[i].status);
		assert_non_null(strstr(buf_str(&page), wrong[i].path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_file_is_stored_in_a_directory_that_is_made),
		scratch_test(a_file_that_is_replaced_keeps_its_mode),
		scratch_test(what_is_no_file_is_replaced_and_not_opened),
		scratch_test(errors_are_told_as_clients_know_them),
		scratch_test(an_upload_that_ends_early_leaves_nothing),
		scratch_test(a_limit_of_the_disk_is_told),
		scratch_test(names_come_as_clients_show_them),
		scratch_test(what_is_no_directory_has_no_names),
		scratch_test(a_tree_is_packed_without_what_is_no_file),
		scratch_test(links_to_files_are_followed_and_broken_ones_named),
		scratch_test(what_may_not_be_read_is_told_before_the_first_byte),
		scratch_test(files_of_all_sizes_come_whole),
		scratch_test(a_tree_that_changes_gives_no_whole_archive),
		scratch_test(a_file_that_grows_is_given_as_long_as_it_was),
		scratch_test(names_that_are_no_text_are_kept),
		scratch_test(a_tree_too_deep_for_a_name_is_refused),
		scratch_test(a_picture_is_shown_in_a_page),
		scratch_test(what_is_no_picture_is_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
