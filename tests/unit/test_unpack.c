/* SPDX-License-Identifier: MIT */
#include "tree_ask.h"

#include <sys/syscall.h>

#include "sandbox/executor/zip.h"

/* An archive, put together from what is written well, and then spoilt. */
struct archive {
	struct buf all, directory;
	uint64_t entries;
};

static struct zip_member member_of(const struct archive *a, const char *name, const char *bytes)
{
	size_t len = strlen(bytes);

	return (struct zip_member) { .name = name,
				     .name_len = (uint16_t)strlen(name),
				     .mode = S_IFREG | 0644,
				     .size = len,
				     .at = a->all.len,
				     .crc = zip_crc(0, bytes, len) };
}

static void add_member(struct archive *a, const struct zip_member *m, const char *bytes)
{
	zip_put_local(&a->all, m);
	buf_puts(&a->all, bytes);
	zip_put_entry(&a->directory, m);
	a->entries++;
}

static void add_mode(struct archive *a, const char *name, const char *bytes, unsigned mode)
{
	struct zip_member m = member_of(a, name, bytes);

	m.mode = mode;
	add_member(a, &m, bytes);
}

static void add(struct archive *a, const char *name, const char *bytes)
{
	add_mode(a, name, bytes, S_IFREG | 0644);
}

/* 1,000 times "x", deflated; said to be `size` bytes. */
static void add_deflated(struct archive *a, const char *name, uint32_t size)
{
	static const char packed[] = "\xab\xa8\x18\x05\xa3\x60\x14\x0c\x77\x00\x00";
	struct zip_member m = { .name = name,
				.name_len = (uint16_t)strlen(name),
				.mode = S_IFREG | 0644,
				.size = 11,
				.at = a->all.len,
				.crc = 0x3b41c9e6 };
	size_t at = a->directory.len;

	zip_put_local(&a->all, &m);
	buf_add(&a->all, packed, 11);
	zip_put_entry(&a->directory, &m);
	a->entries++;
	a->directory.data[at + 10] = ZIP_DEFLATED;
	memcpy(a->directory.data + at + 24, &size,
	       sizeof(size)); /* of a machine that counts so, too */
}

static void finish(struct archive *a)
{
	uint64_t at = a->all.len;

	buf_add(&a->all, buf_str(&a->directory), a->directory.len);
	zip_put_end(&a->all, a->entries, at, a->directory.len);
	buf_clear(&a->directory);
}

/* Unpack it into `dir`; "" or the error. Takes the archive. */
static const char *unpack_as_is(const struct scratch *s, const char *dir, struct archive *a)
{
	const char *error =
		tree_give(TRANSFER_UNPACK, below(s, dir), "a.zip", buf_str(&a->all), a->all.len);

	buf_clear(&a->all);
	buf_clear(&a->directory);
	*a = (struct archive) { .entries = 0 };
	return error;
}

static void unpacks(const struct scratch *s, struct archive *a)
{
	finish(a);
	assert_string_equal(unpack_as_is(s, "d", a), "");
}

/* The error begins with the archive's name, or with "[Errno". */
static void refused(const struct scratch *s, struct archive *a, const char *fmt)
{
	char expected[600];

	finish(a);
	(void)snprintf(expected, sizeof(expected), fmt, s->path);
	assert_string_equal(unpack_as_is(s, "d", a), expected);
}

static void members_become_files(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add(&a, "top/file", "hello");
	add(&a, "top/sub/./b//c", "deep");
	add_mode(&a, "top/empty/", "", S_IFDIR | 0700);
	add(&a, "other", "");
	add_deflated(&a, "x", 1000);
	unpacks(s, &a);
	has(s, "d/top/file", "hello");
	has(s, "d/top/sub/b/c", "deep");
	has(s, "d/other", "");
	assert_int_equal(mode_of(s, "d/top/empty"), S_IFDIR | 0755);
	assert_int_equal(mode_of(s, "d/top/file"), S_IFREG | 0644);
	assert_int_equal(count(s, "d"), 3);
	assert_int_equal(count(s, "d/top"), 3);
	finish(&a);
	assert_string_equal(unpack_as_is(s, "nothing", &a), "");
	assert_int_equal(count(s, "nothing"), 0);
}

static void modes_come_without_their_powers(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add_mode(&a, "setuid", "x", S_IFREG | 06755);
	add_mode(&a, "sticky", "x", S_IFREG | 01444);
	add_mode(&a, "private", "x", S_IFREG | 0600);
	add_mode(&a, "none", "x", 0);
	unpacks(s, &a);
	assert_int_equal(mode_of(s, "d/setuid"), S_IFREG | 0755);
	assert_int_equal(mode_of(s, "d/sticky"), S_IFREG | 0444);
	assert_int_equal(mode_of(s, "d/private"), S_IFREG | 0600);
	assert_int_equal(mode_of(s, "d/none"), S_IFREG | 0644);
}

static void names_that_lead_out_refuse_the_whole(void **state)
{
	static const char *const names[] = { "../out", "/etc/out", "a/../../out", "..", "a/.." };
	const struct scratch *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct archive a = { .entries = 0 };
		char why[200];

		add(&a, "first", "x");
		add(&a, names[i], "x");
		(void)snprintf(why, sizeof(why), "%%s/d/a.zip: '%s' leads out of the archive",
			       names[i]);
		refused(s, &a, why);
		assert_int_equal(count(s, "d"), 0);
		has_not(s, "out");
	}
}

static void links_and_devices_are_files_of_their_bytes(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	make(s, "target", "untouched");
	add_mode(&a, "link", "../target", S_IFLNK | 0777);
	add_mode(&a, "null", "", S_IFCHR | 0666);
	add_mode(&a, "pipe", "", S_IFIFO | 0666);
	unpacks(s, &a);
	has(s, "d/link", "../target");
	assert_int_equal(mode_of(s, "d/link"), S_IFREG | 0777);
	assert_int_equal(mode_of(s, "d/null"), S_IFREG | 0666);
	assert_int_equal(mode_of(s, "d/pipe"), S_IFREG | 0666);
	has(s, "target", "untouched");
}

static void planted_links_are_not_followed(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	assert_int_equal(mkdirat(s->dir, "d", 0755), 0);
	assert_int_equal(mkdirat(s->dir, "out", 0755), 0);
	make(s, "out/file", "untouched");
	assert_int_equal(symlinkat("../out", s->dir, "d/dir"), 0);
	assert_int_equal(symlinkat("../out/file", s->dir, "d/file"), 0);
	assert_int_equal(mkfifoat(s->dir, "d/pipe", 0644), 0);
	add(&a, "file", "new");
	add(&a, "pipe", "new");
	unpacks(s, &a);
	has(s, "d/file", "new");
	has(s, "d/pipe", "new");
	add(&a, "dir/file", "new");
	refused(s, &a, "[Errno 20] Not a directory: '%s/d/dir/'");
	has(s, "out/file", "untouched");
	assert_int_equal(count(s, "out"), 1);
}

/* What the archive itself laid in the way, as what was there before. */
static void a_link_of_the_archive_is_no_way_either(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	assert_int_equal(mkdirat(s->dir, "out", 0755), 0);
	add_mode(&a, "dir", "../out", S_IFLNK | 0777);
	add(&a, "dir/file", "x");
	refused(s, &a, "[Errno 20] Not a directory: '%s/d/dir/'");
	assert_int_equal(count(s, "out"), 0);
}

static void the_last_of_one_name_stays(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add(&a, "file", "first");
	add(&a, "./file", "last");
	unpacks(s, &a);
	has(s, "d/file", "last");
}

static void a_file_and_a_directory_of_one_name_are_an_error(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add(&a, "name/file", "x");
	add(&a, "name", "x");
	refused(s, &a, "[Errno 21] Is a directory: '%s/d/name'");
	has(s, "d/name/file", "x");
	add(&a, "other", "x");
	add(&a, "other/file", "x");
	refused(s, &a, "[Errno 20] Not a directory: '%s/d/other/'");
	add(&a, "dir/.", "x");
	refused(s, &a, "[Errno 21] Is a directory: '%s/d/dir/.'");
}

static void a_member_larger_than_it_says_is_not_kept(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add_deflated(&a, "bomb", 999);
	refused(s, &a, "%s/d/a.zip: 'bomb' is larger than it says");
	add_deflated(&a, "less", 1001);
	refused(s, &a, "%s/d/a.zip: 'less' has other bytes than it says");
	assert_int_equal(count(s, "d"), 0);
}

static void what_the_disk_does_not_have_is_refused_before_the_first_file(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add(&a, "first", "x");
	for (int i = 0; i < 40; i++)
		add_deflated(&a, "bomb", 0xfffffffe);
	refused(s, &a, "[Errno 27] File too large: '%s/d/a.zip'");
	assert_int_equal(count(s, "d"), 0);
}

static void members_within_each_other_are_refused(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	struct zip_member m = member_of(&a, "one", "some bytes");

	add_member(&a, &m, "some bytes");
	m.name = "two";
	zip_put_entry(&a.directory, &m);
	a.entries++;
	refused(s, &a, "%s/d/a.zip: the archive has entries that overlap");
	assert_int_equal(count(s, "d"), 0);
}

static void bytes_that_are_not_the_members_are_refused(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };

	add(&a, "good", "1");
	add(&a, "bad", "12345");
	a.all.data[a.all.len - 1] = '6';
	refused(s, &a, "%s/d/a.zip: 'bad' has other bytes than it says");
	has(s, "d/good", "1");
	has_not(s, "d/bad");
	add_deflated(&a, "x", 1000);
	memset(a.all.data + a.all.len - 11, 0xff, 11);
	refused(s, &a, "%s/d/a.zip: 'x' has malformed bytes");
	add_deflated(&a, "x", 1000);
	a.directory.data[20] = 5; /* its end is missing */
	refused(s, &a, "%s/d/a.zip: 'x' has malformed bytes");
	has_not(s, "d/x");
}

static void what_is_no_archive_is_said_as_clients_know_it(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	char expected[200];

	(void)snprintf(expected, sizeof(expected), "%s/d/a.zip is not a zip file", s->path);
	buf_puts(&a.all, "hello");
	assert_string_equal(unpack_as_is(s, "d", &a), expected);
	assert_string_equal(unpack_as_is(s, "d", &a), expected);
	add(&a, "file", "x");
	finish(&a);
	a.all.len--;
	assert_string_equal(unpack_as_is(s, "d", &a), expected);
	assert_int_equal(count(s, "d"), 0);
}

static void too_long_a_name_is_an_error(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	char name[300], why[400];

	memset(name, 'n', 256);
	name[256] = '\0';
	add(&a, name, "x");
	(void)snprintf(why, sizeof(why), "[Errno 36] File name too long: '%%s/d/%s'", name);
	refused(s, &a, why);
}

static void an_archive_that_ends_early_leaves_nothing(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	struct asked asked;

	add(&a, "file", "x");
	finish(&a);
	tree_begin(&asked, TRANSFER_UNPACK, below(s, "d"), "a.zip");
	tree_upload(&asked, a.all.data, a.all.len);
	tree_end(&asked);
	assert_int_equal(count(s, "d"), 0);
	buf_clear(&a.all);
}

static void many_members_are_unpacked(void **state)
{
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	char names[3000][32];

	for (int i = 0; i < 3000; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "d%d/file%d", i / 100, i);
		add(&a, names[i], names[i]);
	}
	finish(&a);
	assert_string_equal(
		tree_give(TRANSFER_UNPACK, below(s, "d"), "a.zip", a.all.data, a.all.len), "");
	buf_clear(&a.all);
	has(s, "d/d29/file2999", "d29/file2999");
	assert_int_equal(count(s, "d"), 30);
	assert_int_equal(count(s, "d/d7"), 100);
}

/* --- an archive that somebody writes into -------------------------------------------------------- */

/* Called, in the process that unpacks, when a file is complete. */
static void (*when_a_file_is_made)(void);

int fchmod(int fd, mode_t mode)
{
	if (when_a_file_is_made)
		when_a_file_is_made();
	return (int)syscall(SYS_fchmod, fd, mode);
}

/* Entries of the same length, more of them than are looked at together; `SPOILT` is not at hand yet
 * when the first file is made. */
enum { LONG_NAME = 4000, LONG_ENTRY = 46 + LONG_NAME, LONG_ENTRIES = 120, SPOILT = 100 };

static struct {
	off_t size, directory_at;
} spoilt;

/* Any name that the records have room for is a name: the one of SPOILT takes in what follows. */
static void spoil(void)
{
	static const uint16_t len = 60000;
	static char name[60000];
	off_t at = spoilt.directory_at + (off_t)SPOILT * LONG_ENTRY;
	struct stat st;

	memset(name, 'n', sizeof(name));
	for (int fd = 3; fd < 100; fd++)
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == spoilt.size &&
		    (pwrite(fd, &len, sizeof(len), at + 28) != sizeof(len) ||
		     pwrite(fd, name, sizeof(name), at + 46) != sizeof(name)))
			_exit(8);
}

static void a_name_that_grew_after_it_was_looked_at_is_refused(void **state)
{
	static const char error[] = "[Errno 36] File name too long: '";
	const struct scratch *s = *state;
	struct archive a = { .entries = 0 };
	char name[LONG_NAME + 1];

	for (int i = 0; i < LONG_NAME; i += 2)
		memcpy(name + i, "./", 2);
	for (int i = 0; i < LONG_ENTRIES; i++) {
		char number[12];

		(void)snprintf(number, sizeof(number), "%03d", i);
		memcpy(name + LONG_NAME - 3, number, 4);
		add(&a, name, "x");
	}
	spoilt.directory_at = (off_t)a.all.len;
	assert_int_equal(a.directory.len, LONG_ENTRIES * LONG_ENTRY);
	finish(&a);
	spoilt.size = (off_t)a.all.len;
	when_a_file_is_made = spoil;
	assert_memory_equal(unpack_as_is(s, "d", &a), error, strlen(error));
	when_a_file_is_made = NULL;
	assert_int_equal(count(s, "d"), SPOILT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(members_become_files),
		scratch_test(modes_come_without_their_powers),
		scratch_test(names_that_lead_out_refuse_the_whole),
		scratch_test(links_and_devices_are_files_of_their_bytes),
		scratch_test(planted_links_are_not_followed),
		scratch_test(a_link_of_the_archive_is_no_way_either),
		scratch_test(the_last_of_one_name_stays),
		scratch_test(a_file_and_a_directory_of_one_name_are_an_error),
		scratch_test(a_member_larger_than_it_says_is_not_kept),
		scratch_test(what_the_disk_does_not_have_is_refused_before_the_first_file),
		scratch_test(members_within_each_other_are_refused),
		scratch_test(bytes_that_are_not_the_members_are_refused),
		scratch_test(what_is_no_archive_is_said_as_clients_know_it),
		scratch_test(too_long_a_name_is_an_error),
		scratch_test(an_archive_that_ends_early_leaves_nothing),
		scratch_test(many_members_are_unpacked),
		scratch_test(a_name_that_grew_after_it_was_looked_at_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
