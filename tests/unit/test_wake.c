/* SPDX-License-Identifier: MIT */
/* test_wake.c - what is sent on of a request that has woken a session. */
#include "api/wake.h"

#include "unit.h"

#include <string.h>

static void the_connection_ends_and_a_wiped_key_is_a_blank_one(void **state)
{
	static char bytes[] = "POST /x HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: k\r\n"
			      "X-API-Key: theirs\r\nConnection: keep-alive\r\n\r\n";
	struct http_request r;
	autobuf struct buf out = { 0 };
	long n;

	(void)state;
	n = http_head(bytes, sizeof(bytes) - 1, HTTP_KEY_SESSION, &r);
	assert_int_equal(n, sizeof(bytes) - 1);
	assert_true(r.keep_alive);
	wake_head((struct http_text) { bytes, (size_t)n }, &out);
	assert_int_equal(strlen(buf_str(&out)), out.len);
	assert_null(strstr(buf_str(&out), "theirs"));
	n = http_head(out.data, out.len, HTTP_KEY_SESSION, &r);
	assert_int_equal(n, out.len);
	assert_false(r.keep_alive);
	assert_true(http_text_is(r.method, "POST") && http_text_is(r.path, "/x"));
	assert_true(http_text_is(r.key, "k"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_connection_ends_and_a_wiped_key_is_a_blank_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
