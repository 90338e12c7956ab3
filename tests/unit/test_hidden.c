/* SPDX-License-Identifier: MIT */
/* test_hidden.c - the layer that hides what not everybody may read. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "session/hidden.h"

struct place {
	char state_path[40], host_path[60];
	int state;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->state_path, "/tmp/test-hidden-XXXXXX");
	assert_non_null(mkdtemp(p->state_path));
	snprintf(p->host_path, sizeof(p->host_path), "%s/host", p->state_path);
	assert_int_equal(mkdir(p->host_path, 0755), 0);
	p->state = open(p->state_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->state >= 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };

	assert_int_equal(fs_remove_tree(AT_FDCWD, p->state_path, &e), 0);
	close(p->state);
	free(p);
	return 0;
}

static void put(const struct place *p, const char *name, mode_t mode)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->host_path, name);
	if (S_ISDIR(mode)) {
		assert_int_equal(mkdir(path, 0700), 0);
	} else {
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(chmod(path, mode & 07777), 0);
}

static char *layer_of(const struct place *p)
{
	struct err e = { 0 };
	char *layer = NULL;

	if (hidden_up(p->state, p->host_path, "host", &layer, &e) < 0)
		fail_msg("%s", e.text);
	return layer;
}

static bool is_whiteout(const struct place *p, const char *layer, const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", layer, name);
	return fstatat(p->state, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == 0;
}

static bool is_there(const struct place *p, const char *layer, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", layer, name);
	return faccessat(p->state, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void nothing_to_hide_needs_no_layer(void **state)
{
	put(*state, "open", S_IFDIR | 0755);
	put(*state, "open/file", 0644);
	assert_null(layer_of(*state));
}

static void files_and_directories_of_root_alone_become_whiteouts(void **state)
{
	autofree char *layer = NULL;

	put(*state, "open", S_IFDIR | 0755);
	put(*state, "open/secret", 0600);
	put(*state, "open/group", 0640);
	put(*state, "open/public", 0644);
	put(*state, "shut", S_IFDIR | 0700);
	put(*state, "shut/inner", 0644);
	layer = layer_of(*state);
	assert_non_null(layer);
	assert_true(is_whiteout(*state, layer, "open/secret"));
	assert_true(is_whiteout(*state, layer, "open/group"));
	assert_true(is_whiteout(*state, layer, "shut"));
	assert_false(is_there(*state, layer, "open/public"));
}

static void directories_above_keep_their_mode(void **state)
{
	struct place *p = *state;
	autofree char *layer = NULL;
	char path[300];
	struct stat st;

	put(p, "above", S_IFDIR | 01775);
	put(p, "above/secret", 0600);
	layer = layer_of(p);
	assert_non_null(layer);
	snprintf(path, sizeof(path), "%s/above", layer);
	assert_int_equal(fstatat(p->state, path, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 01775);
}

static void a_new_secret_at_the_top_is_seen_at_the_next_start(void **state)
{
	autofree char *before = NULL, *after = NULL;

	put(*state, "first", 0600);
	before = layer_of(*state);
	put(*state, "second", 0600);
	after = layer_of(*state);
	assert_non_null(before);
	assert_non_null(after);
	assert_string_not_equal(before, after);
	assert_true(is_whiteout(*state, after, "second"));
}

static void an_unchanged_directory_gets_the_same_layer(void **state)
{
	autofree char *first = NULL, *second = NULL;

	put(*state, "secret", 0600);
	first = layer_of(*state);
	second = layer_of(*state);
	assert_string_equal(first, second);
}

static void a_torn_index_is_made_anew(void **state)
{
	struct place *p = *state;
	autofree char *layer = NULL;
	autofree char *again = NULL;
	int fd;

	put(p, "secret", 0600);
	layer = layer_of(p);
	fd = openat(p->state, "cache/hidden-host.index", O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	again = layer_of(p);
	assert_string_equal(layer, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_to_hide_needs_no_layer, setup, teardown),
		cmocka_unit_test_setup_teardown(
			files_and_directories_of_root_alone_become_whiteouts, setup, teardown),
		cmocka_unit_test_setup_teardown(directories_above_keep_their_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_secret_at_the_top_is_seen_at_the_next_start,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_unchanged_directory_gets_the_same_layer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_torn_index_is_made_anew, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
