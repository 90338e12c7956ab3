/* SPDX-License-Identifier: MIT */
/* unit.h - what every unit test includes: cmocka with what it wants before it, and a scratch
 * directory.
 *
 *	cmocka_unit_test_setup_teardown(some_behaviour, scratch_setup, scratch_teardown)
 *	int dir = ((struct scratch *)*state)->dir;
 */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/fs.h"

struct scratch {
	char path[64]; /* absolute, short enough for what is made below it */
	int dir;
};

/* Call that must succeed; a failure shows the error's text. */
#define assert_ok(call)                                                          \
	do {                                                                     \
		long long ok_result_ = (long long)(call);                        \
                                                                                 \
		if (ok_result_ < 0)                                              \
			fail_msg("%s: %lld: '%s'", #call, ok_result_, (e).text); \
	} while (0)

/* Call that must fail with this errno and exactly this text. */
#define assert_refused(call, errnum, words)                     \
	do {                                                    \
		assert_int_equal((long long)(call), -(errnum)); \
		assert_string_equal((e).text, words);           \
		assert_int_equal((e).code, (errnum));           \
	} while (0)

static inline int scratch_setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	*state = s;
	(void)snprintf(s->path, sizeof(s->path), "/tmp/ohs-unit-XXXXXX");
	if (!mkdtemp(s->path))
		return -1;
	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir < 0 ? -1 : 0;
}

static inline int scratch_teardown(void **state)
{
	struct scratch *s = *state;
	struct err e = { 0 };
	int r = fs_remove_tree(AT_FDCWD, s->path, &e);

	if (r < 0)
		print_error("%s\n", e.text);
	(void)close(s->dir);
	free(s);
	return r;
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
