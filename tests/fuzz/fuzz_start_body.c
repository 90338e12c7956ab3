/* SPDX-License-Identifier: MIT */
/* fuzz_start_body.c - any bytes as the body of a start: an error that says something, or a body that
 * can be acted on. */
#include <string.h>

#include "api/start_body.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct start_body b;
	struct err e = { 0 };

	if (start_body_parse((const char *)data, size, &b, &e) < 0) {
		check(e.code && e.text[0]);
	} else {
		check(b.image && b.image[0] && strlen(b.image) <= START_IMAGE_MAX);
		check(!b.session_id || request_name_ok(b.session_id));
		check(!b.working_dir || b.working_dir[0] == '/');
		check(b.factor >= 1 && b.factor <= START_FACTOR_MAX);
		check(b.user >= -1 && b.group >= -1);
		for (char *const *pair = b.environment; pair && *pair; pair++)
			check(strchr(*pair, '=') > *pair);
	}
	start_body_clear(&b);
	return 0;
}
