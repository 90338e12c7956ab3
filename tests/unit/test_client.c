/* SPDX-License-Identifier: MIT */
#include "launch/client.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "unit.h"

static int head(const char *text, struct client_head *h, struct err *e)
{
	return client_parse_head(text, strlen(text), h, e);
}

static void a_head_is_read_when_it_is_whole(void **state)
{
	const char *text =
		"HTTP/1.1 200 OK\r\nContent-Type: a\r\ncontent-LENGTH:  12 \r\nConnection: close\r\n\r\n{";
	struct client_head h = { 0 };
	struct err e = { 0 };

	(void)state;
	for (size_t n = 0; n < strlen(text) - 1; n++)
		assert_int_equal(client_parse_head(text, n, &h, &e), 0);
	assert_int_equal(head(text, &h, &e), 1);
	assert_int_equal(h.status, 200);
	assert_int_equal(h.length, 12);
	assert_true(h.has_length && h.close && !h.chunked);
	assert_int_equal(h.head_bytes, strlen(text) - 1);
}

static void odd_heads_are_refused(void **state)
{
	static const char *const odd[] = {
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 2000\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
		"\r\n\r\n",
	};
	struct client_head h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		struct err e = { 0 };

		assert_true(head(odd[i], &h, &e) < 0);
		assert_true(e.text[0] != '\0');
	}
}

static void an_endless_head_is_refused(void **state)
{
	static char text[CLIENT_HEAD_MAX + 1];
	struct client_head h;
	struct err e = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_refused(client_parse_head(text, sizeof(text), &h, &e), EFBIG,
		       "the reply's head is larger than 16384 bytes");
}

static void chunks_are_taken_one_by_one(void **state)
{
	const char *text = "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
	const char *data;
	size_t n, used, at = 0;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(client_parse_chunk(text, 7, &data, &n, &used, &e), 0);
	assert_int_equal(client_parse_chunk(text, strlen(text), &data, &n, &used, &e), 1);
	assert_memory_equal(data, "abc", 3);
	at += used;
	assert_int_equal(client_parse_chunk(text + at, strlen(text) - at, &data, &n, &used, &e), 1);
	assert_int_equal(n, 10);
	at += used;
	assert_int_equal(client_parse_chunk(text + at, strlen(text) - at, &data, &n, &used, &e), 2);
	assert_int_equal(at + used, strlen(text));
	assert_true(client_parse_chunk("3\r\nabcd\r\n", 9, &data, &n, &used, &e) < 0);
	assert_true(client_parse_chunk("zz\r\n", 4, &data, &n, &used, &e) < 0);
	assert_true(client_parse_chunk("fffffffff\r\n", 11, &data, &n, &used, &e) < 0);
	assert_true(client_parse_chunk("\r\n", 2, &data, &n, &used, &e) < 0);
}

/* What the other side has to say is there before we ask. */
static int exchange(const char *reply, struct buf *body, bool *again, struct err *e)
{
	const struct client_request r = { .method = "POST",
					  .path = "/x",
					  .key = "k",
					  .body = "{}",
					  .body_len = 2,
					  .timeout_ms = 2000 };
	char asked[200] = "";
	int ends[2], status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(io_write_all(ends[1], reply, strlen(reply), e), 0);
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	status = client_exchange(ends[0], &r, body, again, e);
	assert_true(read(ends[1], asked, sizeof(asked) - 1) > 0);
	assert_string_equal(asked, "POST /x HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: k\r\n"
				   "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
	(void)close(ends[0]);
	(void)close(ends[1]);
	return status;
}

static void a_reply_comes_whole_or_not_at_all(void **state)
{
	autobuf struct buf body = { 0 };
	struct err e = { 0 };
	bool again;

	(void)state;
	assert_int_equal(
		exchange("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &body, &again, &e),
		200);
	assert_string_equal(buf_str(&body), "hello");
	assert_true(again);
	buf_reset(&body);
	assert_int_equal(
		exchange(
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n"
			"Connection: close\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
			&body, &again, &e),
		403);
	assert_string_equal(buf_str(&body), "abc");
	assert_false(again);
	buf_reset(&body);
	assert_true(exchange("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", &body, &again,
			     &e) < 0);
	assert_string_equal(e.text,
			    "the executor closed the connection in the middle of its answer");
	assert_true(exchange("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", &body, &again,
			     &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_read_when_it_is_whole),
		cmocka_unit_test(odd_heads_are_refused),
		cmocka_unit_test(an_endless_head_is_refused),
		cmocka_unit_test(chunks_are_taken_one_by_one),
		cmocka_unit_test(a_reply_comes_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
