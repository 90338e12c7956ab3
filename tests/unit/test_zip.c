/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/zip.h"

#include "unit.h"

/* An archive as it is written: members of the bytes "x" to the wanted size, told up to `told`. */
struct archive {
	struct buf all;
	struct buf directory;
	uint64_t at; /* where the next member would be, were all bytes written */
	uint64_t entries;
};

static struct zip_member member(const char *name, uint64_t size)
{
	return (struct zip_member) { .name = name,
				     .name_len = (uint16_t)strlen(name),
				     .mode = 0100640,
				     .mtime = 1700000001,
				     .size = size,
				     .crc = 0x12345678 };
}

static void add(struct archive *a, struct zip_member m)
{
	m.at = a->at;
	zip_put_local(&a->all, &m);
	for (uint64_t i = 0; i < m.size && m.size < 1000; i++)
		buf_putc(&a->all, 'x');
	zip_put_descriptor(&a->all, &m);
	zip_put_entry(&a->directory, &m);
	a->at += zip_local_len(&m) + m.size + zip_descriptor_len(&m);
	a->entries++;
}

static void finish(struct archive *a)
{
	buf_add(&a->all, buf_str(&a->directory), a->directory.len);
	zip_put_end(&a->all, a->entries, a->at, a->directory.len);
}

static void clear(struct archive *a)
{
	buf_clear(&a->all);
	buf_clear(&a->directory);
}

static int find(const struct archive *a, uint64_t size, struct zip_end *end, struct err *e)
{
	return zip_find_end(buf_str(&a->all), a->all.len, size, end, e);
}

static void what_is_written_is_read(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_member second = member("d/\xc3\xbc", 5);
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };
	long n;

	(void)state;
	second.crc_follows = true;
	add(&a, member("a.txt", 3));
	add(&a, second);
	finish(&a);
	assert_int_equal(a.all.len, a.at + a.directory.len + 22);
	assert_ok(find(&a, a.all.len, &end, &e));
	assert_int_equal(end.entries, 2);
	assert_int_equal(end.directory_at, a.at);
	assert_int_equal(end.shift, 0);
	n = zip_next(a.directory.data, a.directory.len, &end, &entry, &e);
	assert_int_equal(n, 46 + 5);
	assert_memory_equal(entry.name, "a.txt", 5);
	assert_int_equal(entry.size, 3);
	assert_int_equal(entry.packed, 3);
	assert_int_equal(entry.mode, 0100640);
	assert_int_equal(entry.crc, 0x12345678);
	assert_int_equal(zip_data_offset(a.all.data, &entry, &e), 35);
	assert_ok(zip_next(a.directory.data + n, a.directory.len - (size_t)n, &end, &entry, &e));
	assert_int_equal(entry.name_len, 4);
	assert_int_equal(entry.flags, 1 << 11 | 1 << 3);
	assert_int_equal(entry.at, 30 + 5 + 3);
	clear(&a);
}

static void an_archive_of_nothing_is_22_bytes(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_end end;
	struct err e = { 0 };

	(void)state;
	finish(&a);
	assert_int_equal(a.all.len, 22);
	assert_int_equal(zip_end_len(0, 0, 0), 22);
	assert_ok(find(&a, 22, &end, &e));
	assert_int_equal(end.entries, 0);
	clear(&a);
}

static void sizes_beyond_32_bits_are_kept(void **state)
{
	static const uint64_t sizes[] = { 0xfffffffe, 0xffffffff, UINT64_C(1) << 40 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct archive a = { .at = 0 };
		struct zip_member m = member("big", sizes[i]);
		struct zip_entry entry;
		struct zip_end end;
		struct err e = { 0 };
		uint64_t size;
		long n;

		m.crc_follows = true;
		add(&a, m);
		add(&a, member("behind", 1));
		finish(&a);
		/* The bytes of the first are not there, so the file is told to be longer. */
		size = a.at + a.directory.len + zip_end_len(2, a.at, a.directory.len);
		assert_int_equal(a.all.len -
					 (a.directory.len + zip_end_len(2, a.at, a.directory.len)),
				 a.at - sizes[i]);
		assert_ok(find(&a, size, &end, &e));
		assert_int_equal(end.directory_at, a.at);
		n = zip_next(a.directory.data, a.directory.len, &end, &entry, &e);
		assert_ok(n);
		assert_int_equal(entry.size, sizes[i]);
		assert_int_equal(entry.at, 0);
		assert_ok(zip_next(a.directory.data + n, a.directory.len - (size_t)n, &end, &entry,
				   &e));
		assert_int_equal(entry.at, a.at - 1 - 36);
		assert_int_equal(entry.size, 1);
		clear(&a);
	}
}

static void more_entries_than_16_bits_count_are_kept(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_end end;
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 65536; i++)
		add(&a, member("n", 0));
	finish(&a);
	assert_ok(find(&a, a.all.len, &end, &e));
	assert_int_equal(end.entries, 65536);
	clear(&a);
}

static void bytes_before_the_archive_are_passed_over(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };

	(void)state;
	buf_puts(&a.all, "#!/bin/sh\n");
	add(&a, member("a", 1));
	finish(&a);
	assert_ok(find(&a, a.all.len, &end, &e));
	assert_int_equal(end.shift, 10);
	assert_ok(zip_next(a.directory.data, a.directory.len, &end, &entry, &e));
	assert_int_equal(entry.at, 10);
	clear(&a);
}

static void a_comment_may_stand_at_the_end(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_end end;
	struct err e = { 0 };

	(void)state;
	add(&a, member("a", 1));
	finish(&a);
	a.all.data[a.all.len - 2] = 3;
	buf_puts(&a.all, "PK\5");
	assert_ok(find(&a, a.all.len, &end, &e));
	buf_puts(&a.all, "x");
	assert_refused(find(&a, a.all.len, &end, &e), EINVAL, "the archive has no end");
	clear(&a);
}

static void years_that_the_format_lacks_become_its_first_and_last(void **state)
{
	static const struct {
		int64_t mtime;
		const char *bytes;
	} times[] = {
		{ 0, "\x00\x00\x21\x00" },
		{ -5, "\x00\x00\x21\x00" },
		{ INT64_MAX, "\x7d\xbf\x9f\xff" },
		{ 1700000001, "\xaa\xb1\x6e\x57" }, /* 2023-11-14 22:13:20 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct zip_member m = member("a", 0);
		struct buf out = { 0 };

		m.mtime = times[i].mtime;
		zip_put_local(&out, &m);
		assert_memory_equal(out.data + 10, times[i].bytes, 4);
		buf_clear(&out);
	}
}

/* One entry "abc" of three bytes, of which a byte was changed. */
static void changed(size_t at, char byte, const char *why)
{
	struct archive a = { .at = 0 };
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };
	size_t directory = 30 + 3 + 3, last = directory + 46 + 3;
	int ret;

	add(&a, member("abc", 3));
	finish(&a);
	a.all.data[at] = byte;
	ret = find(&a, a.all.len, &end, &e);
	if (ret == 0)
		ret = (int)zip_next(a.all.data + directory, last - directory, &end, &entry, &e);
	if (ret > 0)
		ret = (int)zip_data_offset(a.all.data + entry.at, &entry, &e);
	assert_int_equal(ret, -EINVAL);
	assert_string_equal(e.text, why);
	clear(&a);
}

static void archives_that_contradict_themselves_are_refused(void **state)
{
	enum { DIRECTORY = 36, END = DIRECTORY + 49 };

	(void)state;
	changed(0, 'X', "the archive has no bytes for 'abc'");
	changed(DIRECTORY, 'X', "the archive has a malformed directory");
	changed(DIRECTORY + 8, 1, "the archive is encrypted");
	changed(DIRECTORY + 10, 12, "the archive is compressed by method 12, which is not known");
	changed(DIRECTORY + 20, 7, "the archive has an entry larger than itself");
	changed(DIRECTORY + 20, 2, "the archive has a stored entry of two sizes");
	changed(DIRECTORY + 42, 40, "the archive has an entry behind its end");
	changed(DIRECTORY + 42, 20, "the archive has an entry larger than itself");
	changed(DIRECTORY + 47, 0, "the archive has an entry without a name");
	changed(END, 'X', "the archive has no end");
	changed(END + 4, 1, "the archive is in several parts");
	changed(END + 8, 2, "the archive is in several parts");
	changed(END + 12, 100, "the archive has a directory larger than itself");
	changed(END + 16, 60, "the archive has a directory behind its end");
}

static void an_entry_that_goes_on_is_asked_for_again(void **state)
{
	struct archive a = { .at = 0 };
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };

	(void)state;
	add(&a, member("abc", 3));
	finish(&a);
	assert_ok(find(&a, a.all.len, &end, &e));
	for (size_t n = 0; n < a.directory.len; n++)
		assert_int_equal(zip_next(a.directory.data, n, &end, &entry, &e), 0);
	clear(&a);
}

static void names_that_lead_elsewhere_are_not_safe(void **state)
{
	static const char *const safe[] = { "a",   "a/b", "a/",	   "..a",   "a..", "a/...",
					    "a//", ".",	  "./a/.", "a/..b", " " };
	static const char *const unsafe[] = { "",     "/",	"/a",	 "..",	  "../a",
					      "a/..", "a/../b", "a//..", "./../a" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(safe); i++)
		assert_true(zip_name_is_safe(safe[i], strlen(safe[i])));
	for (size_t i = 0; i < ARRAY_LEN(unsafe); i++)
		assert_false(zip_name_is_safe(unsafe[i], strlen(unsafe[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(an_archive_of_nothing_is_22_bytes),
		cmocka_unit_test(sizes_beyond_32_bits_are_kept),
		cmocka_unit_test(more_entries_than_16_bits_count_are_kept),
		cmocka_unit_test(bytes_before_the_archive_are_passed_over),
		cmocka_unit_test(a_comment_may_stand_at_the_end),
		cmocka_unit_test(years_that_the_format_lacks_become_its_first_and_last),
		cmocka_unit_test(archives_that_contradict_themselves_are_refused),
		cmocka_unit_test(an_entry_that_goes_on_is_asked_for_again),
		cmocka_unit_test(names_that_lead_elsewhere_are_not_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
