/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/edit_history.h"

#include "unit.h"

static void last_is(const struct edit_history *h, const char *path, const char *bytes)
{
	struct text t = history_last(h, text_of(path));

	if (!bytes) {
		assert_null(t.at);
		return;
	}
	assert_non_null(t.at);
	assert_int_equal(t.len, strlen(bytes));
	assert_memory_equal(t.at, bytes, t.len);
}

static void versions_come_back_newest_first(void **state)
{
	static const char *const versions[] = { "",	    "one\n",  "one\ntwo\n",
						"one\n2\n", "xone\n", "completely",
						"",	    "aaa",    "aa" };
	struct edit_history h = { 0 };

	(void)state;
	last_is(&h, "/a", NULL);
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		history_push(&h, text_of("/a"), text_of(versions[i]));
		last_is(&h, "/a", versions[i]);
	}
	last_is(&h, "/b", NULL);
	for (size_t i = ARRAY_LEN(versions); i > 0; i--) {
		last_is(&h, "/a", versions[i - 1]);
		history_pop(&h, text_of("/a"));
	}
	last_is(&h, "/a", NULL);
	history_pop(&h, text_of("/a"));
	assert_int_equal(h.bytes, 0);
	assert_int_equal(h.n, 0);
}

static void ten_versions_of_a_file_are_kept(void **state)
{
	struct edit_history h = { 0 };
	char text[20];

	(void)state;
	for (int i = 0; i < HISTORY_DEPTH + 3; i++) {
		(void)snprintf(text, sizeof(text), "version %d", i);
		history_push(&h, text_of("/a"), text_of(text));
	}
	for (int i = HISTORY_DEPTH + 2; i > 2; i--) {
		(void)snprintf(text, sizeof(text), "version %d", i);
		last_is(&h, "/a", text);
		history_pop(&h, text_of("/a"));
	}
	last_is(&h, "/a", NULL);
	history_clear(&h);
}

static void versions_of_a_large_file_cost_what_they_differ_in(void **state)
{
	size_t len = HISTORY_BYTES_MAX / 2;
	char *text = malloc(len);
	struct edit_history h = { 0 };

	(void)state;
	memset(text, 'x', len);
	for (int i = 0; i < HISTORY_DEPTH; i++) {
		text[i * 1000] = (char)('0' + i);
		history_push(&h, text_of("/a"), (struct text) { text, len });
	}
	assert_true(h.bytes < len + 20000);
	for (int i = HISTORY_DEPTH - 1; i >= 0; i--) {
		struct text last = history_last(&h, text_of("/a"));

		assert_int_equal(last.len, len);
		assert_memory_equal(last.at, text, len);
		text[i * 1000] = 'x';
		history_pop(&h, text_of("/a"));
	}
	free(text);
	history_clear(&h);
}

static void all_of_it_together_is_bounded(void **state)
{
	size_t len = HISTORY_BYTES_MAX / 4;
	char *text = malloc(len), path[20];
	struct edit_history h = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		memset(text, 'a' + i, len);
		(void)snprintf(path, sizeof(path), "/%d", i);
		history_push(&h, text_of(path), (struct text) { text, len });
		assert_true(h.bytes <= HISTORY_BYTES_MAX);
	}
	assert_null(history_last(&h, text_of("/0")).at);
	assert_int_equal(history_last(&h, text_of("/9")).len, len);
	/* Versions that have nothing in common: the oldest go. */
	for (int i = 0; i < 10; i++) {
		memset(text, 'a' + i, len);
		history_push(&h, text_of("/9"), (struct text) { text, len });
		assert_true(h.bytes <= HISTORY_BYTES_MAX);
	}
	assert_int_equal(history_last(&h, text_of("/9")).at[0], 'j');
	history_pop(&h, text_of("/9"));
	assert_int_equal(history_last(&h, text_of("/9")).at[0], 'i');
	free(text);
	history_clear(&h);
	assert_int_equal(h.bytes, 0);
}

static void very_many_files_are_bounded_too(void **state)
{
	struct edit_history h = { 0 };
	char path[20];

	(void)state;
	for (int i = 0; i < HISTORY_FILES_MAX + 5; i++) {
		(void)snprintf(path, sizeof(path), "/%d", i);
		history_push(&h, text_of(path), text_of("x"));
	}
	assert_int_equal(h.n, HISTORY_FILES_MAX);
	last_is(&h, "/4", NULL);
	last_is(&h, "/5", "x");
	history_clear(&h);
}

static void a_version_that_is_too_large_takes_the_older_ones_with_it(void **state)
{
	char *text = calloc(1, HISTORY_BYTES_MAX);
	struct edit_history h = { 0 };

	(void)state;
	history_push(&h, text_of("/a"), text_of("old"));
	history_push(&h, text_of("/b"), text_of("other"));
	history_push(&h, text_of("/a"), (struct text) { text, HISTORY_BYTES_MAX });
	last_is(&h, "/a", NULL);
	last_is(&h, "/b", "other");
	history_push(&h, text_of("/a"), (struct text) { text, HISTORY_BYTES_MAX - 8 });
	last_is(&h, "/a", NULL);
	last_is(&h, "/b", "other");
	free(text);
	history_clear(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_come_back_newest_first),
		cmocka_unit_test(ten_versions_of_a_file_are_kept),
		cmocka_unit_test(versions_of_a_large_file_cost_what_they_differ_in),
		cmocka_unit_test(all_of_it_together_is_bounded),
		cmocka_unit_test(very_many_files_are_bounded_too),
		cmocka_unit_test(a_version_that_is_too_large_takes_the_older_ones_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
