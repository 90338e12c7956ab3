/* SPDX-License-Identifier: MIT */
#include "http/conn.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "unit.h"

#define KEY "0123456789abcdef"
#define PLACES 3 /* for connections over the one listener */

/* A server of three routes, and a client's end of one connection. */
struct server {
	struct loop loop;
	struct conns conns;
	struct conn *held;
	int listener, client;
	char body[64];
	struct conn_stream stream;
	struct conn_mind mind;
	unsigned lefts;
	struct conn_body taker;
	struct conn *taking;
	char taken[64]; /* what was taken of a body, at most `appetite` bytes at once */
	size_t appetite, left;
	unsigned rooms, gones, wholes;
};

static void get_open(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, "text/plain", "open", 4);
}

static void post_body(struct server *s, struct conn *c, const char *body, size_t len)
{
	assert_true(len < sizeof(s->body));
	memcpy(s->body, body, len);
	s->body[len] = '\0';
	conn_reply(c, 200, NULL, body, len);
}

static void get_later(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	conn_hold(c, &s->held);
}

static void mind_left(struct conn_mind *m)
{
	container_of(m, struct server, mind)->lefts++;
}

static void get_minded(struct server *s, struct conn *c, const char *body, size_t len)
{
	get_later(s, c, body, len);
	s->mind.left = mind_left;
	conn_mind(c, &s->mind);
}

static void stream_room(struct conn_stream *stream)
{
	container_of(stream, struct server, stream)->rooms++;
}

static void stream_gone(struct conn_stream *stream)
{
	container_of(stream, struct server, stream)->gones++;
}

static void begin_stream(struct server *s, struct conn *c, uint64_t length)
{
	struct conn_head head = { .status = 200,
				  .type = "text/plain",
				  .lines = "etag: x\r\n",
				  .length = length };

	s->stream = (struct conn_stream) { .room = stream_room, .gone = stream_gone };
	conn_stream(c, &s->stream, &head);
}

static void get_chunks(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	begin_stream(s, c, CONN_LENGTH_UNKNOWN);
}

static void get_ten(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	begin_stream(s, c, 10);
}

static void get_large(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)body;
	(void)len;
	begin_stream(s, c, UINT64_C(1) << 30);
}

static void get_segment(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct http_text id = conn_segment(c), key = conn_request(c)->idempotency_key;

	(void)len;
	(void)body;
	memcpy(s->body, id.at, id.len);
	memcpy(s->body + id.len, key.at ? key.at : "", key.len);
	conn_reply(c, 200, "text/plain", s->body, id.len + key.len);
}

/* Words end with a blank: the rest of one stays until it has come whole. */
static size_t take_words(struct conn_body *b, const char *bytes, size_t len)
{
	struct server *s = container_of(b, struct server, taker);
	const char *end = memrchr(bytes, ' ', len);
	size_t n = end ? (size_t)(end - bytes) + 1 : 0;

	if (n && bytes[0] == '!') {
		conn_reply_invalid(s->taking, "'!'");
		return n;
	}
	if (n > s->appetite) {
		n = s->appetite;
		conn_pause(s->taking);
	}
	strncat(s->taken, bytes, n);
	s->appetite -= n;
	return n;
}

static void whole(struct conn_body *b, size_t left)
{
	struct server *s = container_of(b, struct server, taker);

	s->wholes++;
	s->left = left;
	conn_reply(s->taking, 200, "text/plain", "whole", 5);
}

static void body_gone(struct conn_body *b)
{
	container_of(b, struct server, taker)->gones++;
}

static void post_pieces(struct server *s, struct conn *c)
{
	s->taker = (struct conn_body) { .piece = take_words, .whole = whole, .gone = body_gone };
	s->taken[0] = '\0';
	s->appetite = SIZE_MAX;
	conn_hold(c, &s->taking);
	conn_take_body(c, &s->taker);
}

static void post_refused(struct server *s, struct conn *c)
{
	(void)s;
	conn_reply_detail(c, 500, "no");
}

static const struct route routes[] = {
	{ "GET", "/open", true, 0, .handle = get_open },
	{ "POST", "/body", false, 32, .handle = post_body },
	{ "GET", "/later", false, 0, .handle = get_later },
	{ "GET", "/minded", true, 0, .handle = get_minded },
	{ "GET", "/chunks", true, 0, .handle = get_chunks },
	{ "GET", "/ten", true, 0, .handle = get_ten },
	{ "GET", "/large", true, 0, .handle = get_large },
	{ "GET", "/things/*", true, 0, .handle = get_open },
	{ "GET", "/things/*/name", true, 0, .handle = get_segment },
	{ "POST", "/pieces", true, 0, .begin = post_pieces },
	{ "POST", "/refused", true, 0, .begin = post_refused },
};

static int setup(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = calloc(1, sizeof(*s));
	socklen_t len = sizeof(a);
	struct err e = { 0 };

	*state = s;
	if (!s || loop_init(&s->loop, &e) < 0)
		return -1;
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	s->client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->listener, 8) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) < 0 ||
	    connect(s->client, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	s->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .key = KEY,
				    .routes = routes,
				    .n_routes = ARRAY_LEN(routes) };
	return conns_listen(&s->conns, s->listener, PLACES, &e);
}

/* A timer that is due keeps the loop from waiting. */
static void nothing(struct timer *timer)
{
	(void)timer;
}

/* Let the server do all it has to do with what has come. */
static void settle(struct server *s)
{
	struct err e = { 0 };

	for (int i = 0; i < 40; i++) {
		struct timer t = { .fire = nothing };

		loop_arm(&s->loop, &t, loop_now());
		assert_ok(loop_turn(&s->loop, &e));
		loop_disarm(&s->loop, &t);
	}
}

static int teardown(void **state)
{
	struct server *s = *state;

	(void)close(s->client);
	settle(s);
	assert_null(s->conns.first);
	(void)close(s->listener);
	(void)close(s->loop.epoll);
	for (unsigned i = 0; i < s->conns.n_listeners; i++)
		free(s->conns.listeners[i]); /* begins what the listener is part of */
	free(s);
	return 0;
}

static void says(struct server *s, const char *bytes)
{
	assert_int_equal(send(s->client, bytes, strlen(bytes), 0), (ssize_t)strlen(bytes));
	settle(s);
}

/* What has come back; "" for nothing, "(end)" where the server closed. */
static const char *hears(struct server *s)
{
	static char got[8192];
	ssize_t n = recv(s->client, got, sizeof(got) - 1, MSG_DONTWAIT);

	if (n == 0)
		return "(end)";
	got[n > 0 ? n : 0] = '\0';
	return got;
}

static void a_request_that_comes_byte_by_byte_is_answered(void **state)
{
	static const char text[] = "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
				   "\r\nContent-Length: 5\r\n\r\nhello";
	struct server *s = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		assert_string_equal(hears(s), "");
		says(s, (char[]) { text[i], '\0' });
	}
	assert_string_equal(s->body, "hello");
	assert_string_equal(hears(s), "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
				      "content-length: 5\r\n\r\nhello");
}

static void requests_that_come_together_are_answered_in_order(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n"
		"GET /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	got = hears(s);
	assert_non_null(strstr(got, "open"
				    "HTTP/1.1 403 Forbidden\r\n"));
	assert_non_null(strstr(got, "{\"detail\":\"Invalid API Key\"}HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(got, "connection: close\r\n\r\nopen"));
	assert_string_equal(hears(s), "(end)");
}

static void a_chunked_body_comes_whole(void **state)
{
	struct server *s = *state;

	says(s, "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nl");
	says(s, "lo\r\n0\r\n\r\n");
	assert_string_equal(s->body, "hello");
	assert_non_null(strstr(hears(s), "hello"));
}

static void a_wrong_key_is_wrong_whatever_its_form(void **state)
{
	static const char *const keys[] = { "",	     "0",     "0123456789abcdeX",
					    KEY "0", KEY KEY, "0123456789ABCDEF" };
	struct server *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text),
			       "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\n\r\n",
			       keys[i]);
		says(s, text);
		assert_non_null(strstr(hears(s), "403 Forbidden"));
	}
	assert_null(s->held);
}

static void a_body_beyond_the_routes_limit_is_413(void **state)
{
	struct server *s = *state;

	says(s, "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\nContent-Length: 33\r\n\r\n0123");
	assert_non_null(strstr(hears(s), "413 Content Too Large"));
	assert_string_equal(hears(s), "(end)");
	assert_string_equal(s->body, "");
}

static void a_chunked_body_beyond_the_limit_is_413_too(void **state)
{
	struct server *s = *state;

	says(s,
	     "POST /body HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
	     "\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n01234567890123456789012345678901\r\n1\r\n2\r\n");
	assert_non_null(strstr(hears(s), "413 Content Too Large"));
	assert_string_equal(s->body, "");
}

static void a_reply_may_come_later_and_the_next_request_waits(void **state)
{
	struct server *s = *state;

	says(s, "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY
		"\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_string_equal(hears(s), "");
	assert_non_null(s->held);
	conn_reply(s->held, 200, NULL, "1", 1);
	assert_null(s->held);
	settle(s);
	assert_non_null(strstr(hears(s), "\r\n\r\n1HTTP/1.1 200 OK\r\n"));
}

static void a_client_that_goes_away_is_forgotten(void **state)
{
	struct server *s = *state;
	struct linger now = { .l_onoff = 1 };

	says(s, "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY "\r\n\r\n");
	assert_non_null(s->held);
	(void)setsockopt(s->client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(s->client);
	settle(s);
	assert_null(s->held);
	s->client = -1;
}

static void who_waits_for_a_clients_sake_hears_that_it_left(void **state)
{
	struct server *s = *state;

	/* Also with its next request unread. */
	says(s, "GET /minded HTTP/1.1\r\nHost: x\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(s->held);
	assert_int_equal(s->lefts, 0);
	(void)close(s->client);
	s->client = -1;
	settle(s);
	assert_int_equal(s->lefts, 1);
	assert_null(s->held);
}

static void who_was_answered_is_minded_no_more(void **state)
{
	struct server *s = *state;

	says(s, "GET /minded HTTP/1.1\r\nHost: x\r\n\r\n");
	conn_reply(s->held, 200, NULL, "1", 1);
	assert_non_null(strstr(hears(s), "\r\n\r\n1"));
	(void)close(s->client);
	s->client = -1;
	settle(s);
	assert_int_equal(s->lefts, 0);
}

static void further_headers_go_with_a_reply(void **state)
{
	struct conn_head head = { .status = 409, .lines = "x-one: 1\r\n", .length = 2 };
	struct server *s = *state;

	says(s, "GET /later HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: " KEY "\r\n\r\n");
	conn_reply_as(s->held, &head, "{}");
	settle(s);
	assert_string_equal(hears(s), "HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\n"
				      "content-length: 2\r\nx-one: 1\r\n\r\n{}");
}

static void the_method_of_a_path_is_named(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "PUT /open HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
	got = hears(s);
	assert_non_null(strstr(got, "405 Method Not Allowed"));
	assert_non_null(strstr(got, "allow: GET\r\n"));
}

/* One more connection to where `near` is connected. */
static int another(int near)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(getpeername(near, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static int listener_of_its_own(int *client)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);

	*client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(*client, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void who_crowds_one_listener_does_not_crowd_another(void **state)
{
	struct server *s = *state;
	int crowd[PLACES + 2], first = s->client, other, listener = listener_of_its_own(&other);
	struct err e = { 0 };

	/* None of them is idle, so none can be made to go. */
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		crowd[i] = another(first);
		assert_int_equal(send(crowd[i], "GET", 3, 0), 3);
	}
	says(s, "GET");
	assert_int_equal(s->conns.n, PLACES);
	assert_ok(conns_listen(&s->conns, listener, PLACES, &e));
	s->client = other;
	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "200 OK"));
	assert_int_equal(s->conns.n, PLACES + 1);
	(void)close(other);
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
		(void)close(crowd[i]);
	s->client = first;
	settle(s);
	(void)close(listener);
}

static void who_sends_what_nobody_wants_keeps_no_place(void **state)
{
	static const char head[] = "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";
	struct server *s = *state;
	int crowd[PLACES], first = s->client;

	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		crowd[i] = another(first);
		assert_int_equal(send(crowd[i], head, strlen(head), 0), (ssize_t)strlen(head));
		settle(s);
	}
	s->client = another(first);
	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "200 OK"));
	(void)close(s->client);
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++)
		(void)close(crowd[i]);
	s->client = first;
}

static void what_stands_for_the_star_of_a_path_is_told(void **state)
{
	struct server *s = *state;

	says(s, "GET /things/a1/name HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n\r\n");
	assert_non_null(strstr(hears(s), "\r\n\r\na1k"));
	says(s, "GET /things//name HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "403"));
	says(s, "GET /things/a1/name/b HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "403"));
}

static void a_streamed_reply_comes_in_chunks_and_the_next_request_follows(void **state)
{
	struct server *s = *state;

	says(s, "GET /chunks HTTP/1.1\r\nHost: x\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_string_equal(hears(s), "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
				      "transfer-encoding: chunked\r\netag: x\r\n\r\n");
	assert_true(conn_send(&s->stream, "hello, world", 12));
	assert_true(conn_send(&s->stream, "", 0));
	assert_string_equal(hears(s), "c\r\nhello, world\r\n");
	conn_end(&s->stream);
	assert_null(s->stream.conn);
	settle(s);
	assert_non_null(strstr(hears(s), "0\r\n\r\nHTTP/1.1 200 OK\r\n"));
	assert_int_equal(s->gones, 0);
}

static void a_stream_for_a_client_of_1_0_ends_with_the_connection(void **state)
{
	struct server *s = *state;

	says(s, "GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_true(conn_send(&s->stream, "hello", 5));
	conn_end(&s->stream);
	assert_string_equal(hears(s), "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
				      "etag: x\r\nconnection: close\r\n\r\nhello");
	settle(s);
	assert_string_equal(hears(s), "(end)");
}

static void a_stream_short_of_its_length_ends_the_connection(void **state)
{
	struct server *s = *state;

	says(s, "GET /ten HTTP/1.1\r\nHost: x\r\n\r\nGET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(conn_send(&s->stream, "012345678", 9));
	conn_end(&s->stream);
	assert_null(s->stream.conn);
	assert_non_null(strstr(hears(s), "content-length: 10\r\netag: x\r\n\r\n012345678"));
	settle(s);
	assert_string_equal(hears(s), "(end)");
}

static void a_stream_never_says_more_than_its_length(void **state)
{
	struct server *s = *state;

	says(s, "GET /ten HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_false(conn_send(&s->stream, "0123456789a", 11));
	assert_null(s->stream.conn);
	assert_null(strstr(hears(s), "0123"));
	settle(s);
	assert_string_equal(hears(s), "(end)");
}

static void a_slow_client_is_waited_for(void **state)
{
	static char piece[64 * 1024];
	struct server *s = *state;
	size_t sent = 0, got = 0;

	says(s, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
	do {
		sent += sizeof(piece);
	} while (conn_send(&s->stream, piece, sizeof(piece)));
	assert_int_equal(s->rooms, 0);
	while (!s->rooms && got < sent + 1000) {
		ssize_t n = recv(s->client, piece, sizeof(piece), MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		settle(s);
	}
	assert_int_equal(s->rooms, 1);
	assert_true(conn_send(&s->stream, "more", 4));
	conn_cut(&s->stream);
}

static void a_client_that_never_reads_is_cut_off(void **state)
{
	static char piece[64 * 1024];
	struct server *s = *state;

	says(s, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < 1000 && s->stream.conn; i++) {
		(void)conn_send(&s->stream, piece, sizeof(piece)); /* room or not */
		settle(s);
	}
	assert_null(s->stream.conn);
	assert_int_equal(s->gones, 1);
}

static void an_endless_stream_hears_that_nobody_listens(void **state)
{
	struct server *s = *state;

	says(s, "GET /chunks HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(s->stream.conn);
	(void)close(s->client);
	settle(s);
	assert_null(s->stream.conn);
	assert_int_equal(s->gones, 1);
	assert_false(conn_send(&s->stream, "x", 1));
	conn_end(&s->stream);
	s->client = -1;
}

static void a_body_in_pieces_is_taken_as_it_comes(void **state)
{
	struct server *s = *state;

	says(s, "POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\none tw");
	assert_string_equal(s->taken, "one ");
	says(s, "o three ");
	assert_string_equal(s->taken, "one two three ");
	assert_string_equal(hears(s), "");
	says(s, "4GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_int_equal(s->wholes, 1);
	assert_int_equal(s->left, 1);
	assert_non_null(strstr(hears(s), "\r\n\r\nwholeHTTP/1.1 200 OK\r\n"));
}

static void a_chunked_body_in_pieces_is_one_text(void **state)
{
	static const char text[] =
		"POST /pieces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
		"\r\n6\r\none tw\r\n2\r\no \r\n5\r\nthree\r\n1\r\n \r\n0\r\n\r\n";
	struct server *s = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		says(s, (char[]) { text[i], '\0' });
	assert_string_equal(s->taken, "one two three ");
	assert_int_equal(s->wholes, 1);
	assert_int_equal(s->left, 0);
	assert_non_null(strstr(hears(s), "\r\n\r\nwhole"));
	says(s, text);
	assert_int_equal(s->wholes, 2);
	assert_non_null(strstr(hears(s), "\r\n\r\nwhole"));
}

static void an_empty_body_is_whole_at_once(void **state)
{
	struct server *s = *state;

	says(s, "POST /pieces HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hears(s), "whole"));
}

static void a_body_waits_while_it_is_paused(void **state)
{
	struct server *s = *state;

	says(s, "POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\none ");
	s->appetite = 5;
	says(s, "two three four ");
	assert_string_equal(s->taken, "one two t");
	says(s, "5GET");
	s->appetite = 7;
	conn_resume(s->taking);
	assert_string_equal(s->taken, "one two three fo");
	s->appetite = SIZE_MAX;
	conn_resume(s->taking);
	settle(s);
	assert_string_equal(s->taken, "one two three four ");
	assert_int_equal(s->wholes, 1);
	assert_non_null(strstr(hears(s), "whole"));
}

static void a_reply_before_the_body_has_come_ends_the_connection(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n!no GET /open");
	got = hears(s);
	assert_non_null(strstr(got, "HTTP/1.1 422 "));
	assert_non_null(strstr(got, "connection: close\r\n"));
	assert_non_null(
		strstr(got, "{\"detail\":\"Invalid request parameters\",\"errors\":\"'!'\"}"));
	assert_string_equal(hears(s), "(end)");
	assert_int_equal(s->gones + s->wholes, 0);
	assert_null(s->taking);
}

static void a_body_refused_at_its_head_is_not_asked_for(void **state)
{
	struct server *s = *state;
	const char *got;

	says(s, "POST /refused HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
		"Content-Length: 2000000\r\n\r\n");
	got = hears(s);
	assert_null(strstr(got, "100 Continue"));
	assert_non_null(strstr(got, "HTTP/1.1 500 "));
	assert_string_equal(hears(s), "(end)");
}

static void a_client_that_goes_away_in_its_body_is_told(void **state)
{
	struct server *s = *state;

	says(s,
	     "POST /pieces HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 20\r\n\r\none");
	assert_string_equal(hears(s), "HTTP/1.1 100 Continue\r\n\r\n");
	(void)close(s->client);
	settle(s);
	s->client = -1;
	assert_int_equal(s->gones, 1);
	assert_null(s->taking);
}

static void a_malformed_chunk_ends_a_body_in_pieces(void **state)
{
	struct server *s = *state;

	says(s,
	     "POST /pieces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none3\r\n");
	assert_non_null(strstr(hears(s), "HTTP/1.1 400 "));
	assert_int_equal(s->gones, 1);
	assert_null(s->taking);
}

static void who_comes_before_the_server_is_open_is_heard_then(void **state)
{
	struct server *s = *state;
	int other, listener = listener_of_its_own(&other), first = s->client;
	struct err e = { 0 };

	s->conns.closed = true;
	assert_ok(conns_listen(&s->conns, listener, PLACES, &e));
	s->client = other;
	says(s, "GET /open HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_string_equal(hears(s), "");
	conns_open(&s->conns);
	settle(s);
	assert_non_null(strstr(hears(s), "200 OK"));
	(void)close(other);
	s->client = first;
	settle(s);
	(void)close(listener);
}

static void without_a_key_any_key_will_do(void **state)
{
	struct server *s = *state;

	s->conns.key = NULL;
	says(s, "GET /none HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: y\r\n\r\n");
	assert_non_null(strstr(hears(s), "404 Not Found"));
	says(s, "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
	assert_non_null(strstr(hears(s), "200 OK"));
}

int main(void)
{
#define conn_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		conn_test(a_request_that_comes_byte_by_byte_is_answered),
		conn_test(requests_that_come_together_are_answered_in_order),
		conn_test(a_chunked_body_comes_whole),
		conn_test(a_wrong_key_is_wrong_whatever_its_form),
		conn_test(a_body_beyond_the_routes_limit_is_413),
		conn_test(a_chunked_body_beyond_the_limit_is_413_too),
		conn_test(a_reply_may_come_later_and_the_next_request_waits),
		conn_test(a_client_that_goes_away_is_forgotten),
		conn_test(who_waits_for_a_clients_sake_hears_that_it_left),
		conn_test(who_was_answered_is_minded_no_more),
		conn_test(further_headers_go_with_a_reply),
		conn_test(the_method_of_a_path_is_named),
		conn_test(who_sends_what_nobody_wants_keeps_no_place),
		conn_test(what_stands_for_the_star_of_a_path_is_told),
		conn_test(a_streamed_reply_comes_in_chunks_and_the_next_request_follows),
		conn_test(a_stream_for_a_client_of_1_0_ends_with_the_connection),
		conn_test(a_stream_short_of_its_length_ends_the_connection),
		conn_test(a_stream_never_says_more_than_its_length),
		conn_test(a_slow_client_is_waited_for),
		conn_test(a_client_that_never_reads_is_cut_off),
		conn_test(an_endless_stream_hears_that_nobody_listens),
		conn_test(a_body_in_pieces_is_taken_as_it_comes),
		conn_test(a_chunked_body_in_pieces_is_one_text),
		conn_test(an_empty_body_is_whole_at_once),
		conn_test(a_body_waits_while_it_is_paused),
		conn_test(a_reply_before_the_body_has_come_ends_the_connection),
		conn_test(a_body_refused_at_its_head_is_not_asked_for),
		conn_test(a_client_that_goes_away_in_its_body_is_told),
		conn_test(a_malformed_chunk_ends_a_body_in_pieces),
		conn_test(who_comes_before_the_server_is_open_is_heard_then),
		conn_test(without_a_key_any_key_will_do),
		conn_test(who_crowds_one_listener_does_not_crowd_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
