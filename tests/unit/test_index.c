/* SPDX-License-Identifier: MIT */
/* test_index.c - git's index: written, read again, and taken over in parts. */
#include "unit.h"

#include "base/io.h"
#include "git/cached.h"
#include "git/index.h"
#include "git/tree.h"
#include "session/sha1.h"

static void check_digests(bool by_processor)
{
	static const uint8_t abc[] = { 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
				       0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d };
	static const uint8_t million[] = { 0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda,
					   0xa4, 0xf6, 0x1e, 0xeb, 0x2b, 0xdb, 0xad,
					   0x27, 0x31, 0x65, 0x34, 0x01, 0x6f };
	uint8_t digest[SHA1_BYTES];
	char as[1000];
	struct sha1 s;

	sha1_init(&s);
	s.by_processor &= by_processor;
	sha1_add(&s, "abc", 3);
	sha1_end(&s, digest);
	assert_memory_equal(digest, abc, sizeof(abc));
	/* In pieces of every length. */
	memset(as, 'a', sizeof(as));
	sha1_init(&s);
	s.by_processor &= by_processor;
	for (size_t done = 0, n = 1; done < 1000000; n = n % 997 + 1) {
		size_t len = n < 1000000 - done ? n : 1000000 - done;

		sha1_add(&s, as, len);
		done += len;
	}
	sha1_end(&s, digest);
	assert_memory_equal(digest, million, sizeof(million));
}

static void digest_is_that_of_the_standard_by_c_and_by_the_processor(void **state)
{
	(void)state;
	check_digests(false);
	check_digests(true);
}

static void add_file(struct index_out *x, const char *path, unsigned char id)
{
	struct index_entry entry = { .path = path,
				     .mode = TREE_MODE_FILE,
				     .id.bytes = { id },
				     .mtime = 5,
				     .size = 7 };

	index_add(x, &entry);
}

/* a, d/x, d/y, e/f/z with the cached trees of all directories. */
static int write_sample(struct index_out *x, struct scratch *s)
{
	autobuf struct buf children = { 0 }, deeper = { 0 };
	struct object_id id = { .bytes = { 9 } };
	struct buf none = { 0 };
	struct err e = { 0 };
	int fd;

	index_out_init(x, 20);
	add_file(x, "a", 1);
	add_file(x, "d/x", 2);
	add_file(x, "d/y", 3);
	add_file(x, "e/f/z", 4);
	index_tree(&children, x, "d", 2, 0, &id, &none);
	index_tree(&deeper, x, "f", 1, 0, &id, &none);
	index_tree(&children, x, "e", 1, 1, &id, &deeper);
	index_tree(&x->trees, x, "", 4, 2, &id, &children);
	fd = openat(s->dir, "index", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_ok(index_write(x, fd, &e));
	return fd;
}

static void what_is_kept_of_one_index_is_the_same_in_the_next(void **state)
{
	struct index_out first, second;
	autobuf struct buf trees = { 0 };
	struct index_in *in = NULL;
	struct err e = { 0 };
	autoclose int fd = write_sample(&first, *state);

	index_out_init(&second, 20);
	assert_ok(index_read(fd, 20, &in, &e));
	assert_int_equal(index_in_count(in), 4);
	assert_ok(index_keep_file(in, "a", &second, &e));
	assert_int_equal(index_keep_dir(in, "d", "d", &second, &trees, &e), 2);
	assert_int_equal(index_keep_dir(in, "e/f", "f", &second, &trees, &e), 1);
	assert_int_equal(second.entries.len, first.entries.len);
	assert_memory_equal(second.entries.data, first.entries.data, first.entries.len);
	assert_int_equal(trees.len, 2 * (strlen("d") + 1 + strlen("2 0\n") + 20));
	assert_memory_equal(trees.data,
			    "d\0"
			    "2 0\n",
			    6);
	index_in_free(in);
	index_out_clear(&first);
	index_out_clear(&second);
}

static void what_is_not_there_cannot_be_kept(void **state)
{
	struct index_out first, second;
	struct index_in *in = NULL;
	struct err e = { 0 };
	autoclose int fd = write_sample(&first, *state);

	index_out_init(&second, 20);
	assert_ok(index_read(fd, 20, &in, &e));
	assert_refused(index_keep_file(in, "b", &second, &e), ENOENT,
		       "the index of the base below lacks 'b'");
	index_in_free(in);
	index_out_clear(&first);
	index_out_clear(&second);
}

static void index_cut_short_anywhere_is_refused(void **state)
{
	struct index_out first;
	struct index_in *in = NULL;
	struct err e = { 0 };
	autoclose int fd = write_sample(&first, *state);
	off_t len = lseek(fd, 0, SEEK_END), entries_end = 12 + (off_t)first.entries.len;

	for (off_t cut = len - 1; cut >= 0; cut--) {
		assert_int_equal(ftruncate(fd, cut), 0);
		if (cut >= entries_end + 20) {
			assert_ok(index_read(fd, 20, &in, &e));
			index_in_free(in);
		} else if (cut < entries_end) {
			assert_true(index_read(fd, 20, &in, &e) < 0);
		}
	}
	index_out_clear(&first);
}

static void damaged_cached_trees_are_as_good_as_none(void **state)
{
	static const char *const texts[] = { "",
					     "x",
					     "\0"
					     "1 1\n",
					     "\0"
					     "x 0\n",
					     "\0"
					     "1 -1\n",
					     "\0"
					     "99999999999 0\n" };
	static const size_t lens[] = { 0, 1, 5, 5, 6, 15 };
	struct cached c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cached_parse(texts[i], lens[i], 20, &c);
		assert_null(cached_find(&c, ""));
		cached_clear(&c);
	}
}

static void names_no_work_tree_may_have_are_known(void **state)
{
	static const char *const bad[] = { "",
					   ".",
					   "..",
					   ".git",
					   ".GIT",
					   ".Git",
					   "git~1",
					   "GIT~1",
					   ".git ",
					   ".git.",
					   ".git. .",
					   ".git::$DATA",
					   ".git:x",
					   "a/b",
					   "/",
					   ".g\xe2\x80\x8cit",
					   "\xef\xbb\xbf.git" };
	static const char *const good[] = { ".gitignore", ".gitmodules", "git",	 ".github",
					    "...",	  "a b",	 "\xff", "git~2",
					    ".gi",	  "a:b",	 "-",	 "CON" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(tree_name_ok(bad[i], strlen(bad[i])));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(tree_name_ok(good[i], strlen(good[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_is_that_of_the_standard_by_c_and_by_the_processor),
		scratch_test(what_is_kept_of_one_index_is_the_same_in_the_next),
		scratch_test(what_is_not_there_cannot_be_kept),
		scratch_test(index_cut_short_anywhere_is_refused),
		cmocka_unit_test(damaged_cached_trees_are_as_good_as_none),
		cmocka_unit_test(names_no_work_tree_may_have_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
