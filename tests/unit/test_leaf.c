/* SPDX-License-Identifier: MIT */
/* test_leaf.c - in which group of commands a process is found. */
#include "sandbox/executor/leaf.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/io.h"
#include "unit.h"

/* Groups as the kernel shows them: directories with a list. */
static void boot_with(const struct scratch *s, const char *const *lists, struct ctl_boot *b)
{
	struct err e = { 0 };

	*b = (struct ctl_boot) { .n_leaves = 0 };
	for (; lists[b->n_leaves]; b->n_leaves++) {
		struct ctl_leaf *l = &b->leaves[b->n_leaves];
		char name[] = { (char)('0' + b->n_leaves), '\0' };
		const char *text = lists[b->n_leaves];

		ctl_leaf_init(l);
		assert_int_equal(mkdirat(s->dir, name, 0755), 0);
		l->list = openat(s->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(l->list >= 0);
		assert_ok(io_replace_file(l->list, "cgroup.procs", text, strlen(text), 0644, &e));
	}
}

static void boot_clear(struct ctl_boot *b)
{
	for (unsigned i = 0; i < b->n_leaves; i++)
		ctl_leaf_clear(&b->leaves[i]);
}

static void a_process_is_found_by_its_whole_number(void **state)
{
	static const char *const lists[] = { "4\n", "", "12\n57\n5\n", NULL };
	struct ctl_boot b;
	unsigned leaf = 9;

	boot_with(*state, lists, &b);
	assert_int_equal(leaf_of(&b, 5, &leaf), 0);
	assert_int_equal(leaf, 2);
	assert_int_equal(leaf_of(&b, 4, &leaf), 0);
	assert_int_equal(leaf, 0);
	boot_clear(&b);
}

/* The first is the executor's own: nobody is put there for not having been seen. */
static void a_process_in_no_group_is_not_taken_for_one_of_the_first(void **state)
{
	static const char *const lists[] = { "4\n", "12\n", NULL };
	struct ctl_boot b;
	unsigned leaf = 0;

	boot_with(*state, lists, &b);
	assert_int_equal(leaf_of(&b, 1, &leaf), -EAGAIN);
	boot_clear(&b);
}

static void without_groups_all_are_in_the_first(void **state)
{
	const struct ctl_boot b = { .n_leaves = 0 };
	unsigned leaf = 9;

	(void)state;
	assert_int_equal(leaf_of(&b, 1, &leaf), 0);
	assert_int_equal(leaf, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_process_is_found_by_its_whole_number),
		scratch_test(a_process_in_no_group_is_not_taken_for_one_of_the_first),
		cmocka_unit_test(without_groups_all_are_in_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
