/* SPDX-License-Identifier: MIT */
#include "http/http.h"

#include "unit.h"

/* Parse a text as if it had just come in. */
static long head(const char *text, struct http_request *r)
{
	static char bytes[4 * HTTP_HEAD_MAX];
	size_t len = strlen(text);

	assert_true(len < sizeof(bytes));
	memcpy(bytes, text, len);
	return http_head(bytes, len, HTTP_KEY_SESSION, r);
}

static void a_plain_request_is_understood(void **state)
{
	static const char text[] =
		"POST /execute_action?a=b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		"X-Session-API-Key:  key \t\r\nContent-Length: 12\r\n\r\nbody";
	struct http_request r;

	(void)state;
	assert_int_equal(head(text, &r), (long)strlen(text) - 4);
	assert_true(http_text_is(r.method, "POST"));
	assert_true(http_text_is(r.path, "/execute_action"));
	assert_true(http_text_is(r.query, "a=b"));
	assert_true(http_text_is(r.key, "key"));
	assert_true(http_text_is(r.content_type, "application/json"));
	assert_int_equal(r.length, 12);
	assert_true(r.keep_alive);
	assert_false(r.chunked);
}

static void names_of_headers_and_options_have_no_case(void **state)
{
	struct http_request r;

	(void)state;
	assert_true(head("GET / HTTP/1.1\r\nhOST: x\r\ncONNECTION: foo, CLOSE\r\n\r\n", &r) > 0);
	assert_false(r.keep_alive);
	assert_true(head("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n", &r) >
		    0);
	assert_true(r.chunked);
}

static void version_1_0_closes_unless_it_says_otherwise(void **state)
{
	struct http_request r;

	(void)state;
	assert_true(head("GET / HTTP/1.0\r\n\r\n", &r) > 0);
	assert_false(r.keep_alive);
	assert_true(head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &r) > 0);
	assert_true(r.keep_alive);
}

static void a_head_that_has_not_ended_is_waited_for(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	struct http_request r;
	char part[sizeof(text)];

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		memcpy(part, text, n);
		assert_int_equal(http_head(part, n, HTTP_KEY_SESSION, &r), 0);
	}
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} bad[] = {
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4, 4\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +4\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", 501 },
		{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nFoo: a\r\n b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nFoo\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\nFoo: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\nHost: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nFoo: a\rb\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nFoo: x\r\n\r\n", 400 },
		{ "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /\t HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET /#a HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400 },
		{ "GET / http/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505 },
		{ "GET /\r\nHost: x\r\n\r\n", 400 },
		{ "G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n", 417 },
	};
	struct http_request r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (head(bad[i].text, &r) != -bad[i].status)
			fail_msg("%ld instead of -%d: %s", head(bad[i].text, &r), bad[i].status,
				 bad[i].text);
}

static void a_nul_is_refused_wherever_it_stands(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: x\r\nFoo: bar\r\n\r\n";
	struct http_request r;
	char bytes[sizeof(text)];

	(void)state;
	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		memcpy(bytes, text, sizeof(text));
		bytes[at] = '\0';
		assert_true(http_head(bytes, sizeof(text) - 1, HTTP_KEY_SESSION, &r) <= 0);
	}
}

static void the_control_planes_key_is_wiped_where_it_stands(void **state)
{
	char bytes[] = "GET / HTTP/1.1\r\nHost: x\r\nX-API-Key: secret\r\nFoo: y\r\n\r\n";
	struct http_request r;

	(void)state;
	assert_true(http_head(bytes, sizeof(bytes) - 1, HTTP_KEY_SESSION, &r) > 0);
	assert_null(memmem(bytes, sizeof(bytes), "secret", 6));
	assert_null(r.key.at);
}

static void the_control_plane_wipes_a_sessions_key_and_reads_its_own(void **state)
{
	char bytes[] = "GET / HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: secret\r\n"
		       "X-API-Key: mine\r\nOrigin: http://x\r\nUpgrade: websocket\r\n\r\n";
	struct http_request r;

	(void)state;
	assert_true(http_head(bytes, sizeof(bytes) - 1, HTTP_KEY_CONTROL, &r) > 0);
	assert_null(memmem(bytes, sizeof(bytes), "secret", 6));
	assert_true(http_text_is(r.key, "mine"));
	assert_true(r.has_origin && r.has_upgrade);
}

static void two_session_keys_are_no_key(void **state)
{
	struct http_request r;

	(void)state;
	assert_true(
		head("GET / HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: a\r\nX-Session-API-Key: a\r\n\r\n",
		     &r) > 0);
	assert_int_equal(r.key.len, 0);
}

static void a_head_beyond_its_limits_is_refused(void **state)
{
	char *big = malloc(2 * HTTP_HEAD_MAX);
	struct http_request r;
	size_t n;

	(void)state;
	memset(big, 'a', 2 * HTTP_HEAD_MAX);
	memcpy(big, "GET /", 5);
	assert_int_equal(http_head(big, HTTP_HEAD_MAX - 1, HTTP_KEY_SESSION, &r), 0);
	assert_int_equal(http_head(big, HTTP_HEAD_MAX, HTTP_KEY_SESSION, &r), -431);
	n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < HTTP_HEADERS_MAX; i++)
		n += (size_t)sprintf(big + n, "a: b\r\n");
	n += (size_t)sprintf(big + n, "\r\n");
	assert_int_equal(http_head(big, n, HTTP_KEY_SESSION, &r), -431);
	free(big);
}

/* Feed a text in pieces of `step` bytes; returns what http_chunks() says last. */
static int chunks(const char *text, size_t step, char *body)
{
	struct http_chunks c = { 0 };
	size_t len = strlen(text);
	int ret = 0;

	*body = '\0';
	for (size_t at = 0; at < len && ret == 0;) {
		struct http_text data;
		size_t used, n = len - at < step ? len - at : step;

		ret = http_chunks(&c, text + at, n, &used, &data);
		if (ret < 0)
			return ret;
		strncat(body, data.at, data.len);
		at += used;
	}
	return ret;
}

static void chunks_come_whole_whatever_the_pieces(void **state)
{
	char body[64];

	(void)state;
	for (size_t step = 1; step < 40; step++) {
		assert_int_equal(chunks("4\r\nWiki\r\n6\r\npedia \r\nA\r\nin chunks.\r\n0\r\n\r\n",
					step, body),
				 1);
		assert_string_equal(body, "Wikipedia in chunks.");
	}
}

static void chunks_that_are_not_plain_are_refused(void **state)
{
	static const char *const bad[] = {
		"4;a=b\r\nWiki\r\n0\r\n\r\n",
		" 4\r\nWiki\r\n0\r\n\r\n",
		"4 \r\nWiki\r\n0\r\n\r\n",
		"4\nWiki\r\n0\r\n\r\n",
		"\r\n",
		"0\r\nFoo: bar\r\n\r\n",
		"4\r\nWikipedia\r\n",
		"g\r\n",
		"100000000\r\n",
		"-1\r\n",
		"0x4\r\nWiki\r\n",
	};
	char body[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(chunks(bad[i], 3, body), -400);
}

/* The parameter "path" of a query; "(none)" where there is none. */
static void path_of(const char *query, const char *expected)
{
	struct http_text text = { .at = query, .len = strlen(query) };
	autobuf struct buf out = { 0 };

	assert_string_equal(http_query(text, "path", &out) ? buf_str(&out) : "(none)", expected);
}

static void parameters_of_a_query_are_decoded(void **state)
{
	(void)state;
	path_of("path=/a%20b%2Fc+d", "/a b/c d");
	path_of("x=1&path=y&z", "y");
	path_of("path=a&path=b", "b");
	path_of("path=a%", "a%");
	path_of("path=%4", "%4");
	path_of("path=%zz%C3%bc", "%zz\xc3\xbc");
	path_of("path=", "");
	path_of("path", "(none)");
	path_of("apath=1&pathb=2", "(none)");
	path_of("", "(none)");
	path_of("&&=&path=1", "1");
}

static void a_parameter_may_hold_any_byte(void **state)
{
	struct http_text text = { .at = "a=%00b", .len = 6 };
	autobuf struct buf out = { 0 };

	(void)state;
	assert_true(http_query(text, "a", &out));
	assert_int_equal(out.len, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_of_a_query_are_decoded),
		cmocka_unit_test(a_parameter_may_hold_any_byte),
		cmocka_unit_test(a_plain_request_is_understood),
		cmocka_unit_test(names_of_headers_and_options_have_no_case),
		cmocka_unit_test(version_1_0_closes_unless_it_says_otherwise),
		cmocka_unit_test(a_head_that_has_not_ended_is_waited_for),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_nul_is_refused_wherever_it_stands),
		cmocka_unit_test(the_control_planes_key_is_wiped_where_it_stands),
		cmocka_unit_test(the_control_plane_wipes_a_sessions_key_and_reads_its_own),
		cmocka_unit_test(two_session_keys_are_no_key),
		cmocka_unit_test(a_head_beyond_its_limits_is_refused),
		cmocka_unit_test(chunks_come_whole_whatever_the_pieces),
		cmocka_unit_test(chunks_that_are_not_plain_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
