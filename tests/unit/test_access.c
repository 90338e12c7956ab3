/* SPDX-License-Identifier: MIT */
/* test_access.c - the daemon's key, its listeners, and who is let in. */
#include "api/access.h"

#include "unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/strv.h"

static void key_is_made_once_for_its_user_alone(void **state)
{
	const struct scratch *s = *state;
	autofree char *key = NULL, *again = NULL, *where = NULL, *there = NULL;
	struct err e = { 0 };
	autofree char *path = str_fmt(&e, "%s/serve.key", s->path);
	struct stat st;

	assert_ok(access_key(s->dir, s->path, NULL, &key, &where, &e));
	assert_string_equal(where, path);
	assert_int_equal(strlen(key), 64);
	assert_int_equal(fstatat(s->dir, "serve.key", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_ok(access_key(s->dir, s->path, NULL, &again, &there, &e));
	assert_string_equal(key, again);
}

/* A daemon that was killed while it made its key, or a full disk. */
static void half_a_key_is_never_in_its_place(void **state)
{
	const struct scratch *s = *state;
	autofree char *key = NULL, *where = NULL;
	struct err e = { 0 };
	autoclose int left = openat(s->dir, "serve.key.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(left >= 0);
	assert_int_equal(write(left, "half", 4), 4);
	assert_ok(access_key(s->dir, s->path, NULL, &key, &where, &e));
	assert_int_equal(strlen(key), 64);
	assert_int_equal(faccessat(s->dir, "serve.key.new", F_OK, 0), -1);
}

static void put(const struct scratch *s, const char *name, const char *text, mode_t mode)
{
	autoclose int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static void key_that_others_can_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0611 };
	const struct scratch *s = *state;
	struct err e = { 0 };
	autofree char *path = str_fmt(&e, "%s/key", s->path);
	autofree char *words =
		str_fmt(&e, "the key: '%s' can be read by others: chmod 600 it", path);

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		char *key = NULL, *where = NULL;

		put(s, "key", "0123456789abcdef\n", modes[i]);
		assert_refused(access_key(s->dir, s->path, path, &key, &where, &e), EACCES, words);
		assert_null(key);
	}
}

static void key_of_the_operator_is_taken_as_it_stands(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{ "0123456789abcdef", "0123456789abcdef" },
		{ "0123456789abcdef\n", "0123456789abcdef" },
		{ "0123456789abcdef\r\n", "0123456789abcdef" },
		{ "0123456789abcde\n", NULL }, /* too short */
		{ "", NULL },
		{ "0123456789 abcdef\n", NULL },
		{ "0123456789\tabcdef\n", NULL },
		{ "0123456789\303\244bcdef\n", NULL },
	};
	const struct scratch *s = *state;
	struct err e = { 0 };
	autofree char *path = str_fmt(&e, "%s/key", s->path);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		autofree char *key = NULL, *where = NULL;

		put(s, "key", cases[i].text, 0600);
		if (!cases[i].key) {
			assert_int_equal(access_key(s->dir, s->path, path, &key, &where, &e),
					 -EINVAL);
			assert_non_null(strstr(e.text, path));
			continue;
		}
		assert_ok(access_key(s->dir, s->path, path, &key, &where, &e));
		assert_string_equal(key, cases[i].key);
	}
}

/* Opening it must not wait for a writer, nor read for ever. */
static void what_is_no_file_is_no_key(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	autofree char *pipe = str_fmt(&e, "%s/pipe", s->path);
	const char *const paths[] = { pipe, s->path, "/dev/zero" };
	char *key = NULL, *where = NULL;

	assert_int_equal(mkfifoat(s->dir, "pipe", 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(access_key(s->dir, s->path, paths[i], &key, &where, &e), -EACCES);
}

static void beyond_the_loopback_is_refused_unless_it_is_said(void **state)
{
	static const char *const places[] = { "0.0.0.0:0", "[::]:0", "192.0.2.1:0",
					      "[2001:db8::1]:0" };
	int fds[2];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		assert_int_equal(access_listen(places[i], false, fds, &e), -EPERM);
		assert_non_null(strstr(e.text, "--insecure-listen"));
		assert_true(str_starts(e.text, places[i]));
	}
	assert_int_equal(access_listen("0.0.0.0:0", true, fds, &e), 1);
	(void)close(fds[0]);
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const places[] = {
		"",	      "8000",	      ":8000",		 "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:x",  "127.0.0.1:65536", "example:80",
		"[::1:80",    "127.0.0.1:-1", "[127.0.0.1]x:1"
	};
	int fds[2];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access_listen(places[i], true, fds, &e) != -EINVAL)
			fail_msg("'%s' is taken", places[i]);
}

static void left_over_socket_is_replaced_and_a_used_one_is_not(void **state)
{
	const struct scratch *s = *state;
	struct err e = { 0 };
	autofree char *path = str_fmt(&e, "%s/sock", s->path);
	autoclose int second = -1;
	struct stat st;
	int first = access_socket(path, &e);

	assert_ok(first);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(access_socket(path, &e), -EADDRINUSE);
	(void)close(first);
	second = access_socket(path, &e);
	assert_ok(second);
	put(s, "file", "precious", 0600);
	free(path);
	path = str_fmt(&e, "%s/file", s->path);
	assert_int_equal(access_socket(path, &e), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
}

static struct http_text text_of(const char *s)
{
	return (struct http_text) { s, s ? strlen(s) : 0 };
}

static void only_known_names_and_no_pages_are_let_in(void **state)
{
	static const struct {
		const char *host;
		bool origin;
		int status;
	} cases[] = {
		{ "127.0.0.1:8000", false, 0 },
		{ "LocalHost:8000", false, 0 },
		{ "mine:80", false, 0 },
		{ "127.0.0.1:8000", true, 403 },
		{ "evil.example", false, 421 },
		{ "127.0.0.1:8001", false, 421 },
		{ "127.0.0.1:80000", false, 421 },
		{ "", false, 421 },
		{ NULL, false, 421 },
		{ "127.0.0.1:8000.evil", false, 421 },
		{ "evil.example", true, 403 },
	};
	struct server s = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_ok(strv_add(&s.hosts, "127.0.0.1:8000", &e));
	assert_ok(strv_add(&s.hosts, "localhost:8000", &e));
	assert_ok(strv_add(&s.hosts, "mine:80", &e));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct http_request r = { .host = text_of(cases[i].host),
						.has_origin = cases[i].origin };
		const char *why = NULL;

		assert_int_equal(access_admit(&s, &r, &why), cases[i].status);
		assert_true(!why == !cases[i].status);
	}
	s.draining = true;
	{
		const struct http_request r = { .host = text_of("mine:80") };
		const char *why = NULL;

		assert_int_equal(access_admit(&s, &r, &why), 503);
	}
	strv_free(s.hosts);
}

static void names_are_those_of_the_listeners_and_the_operators(void **state)
{
	char *own[] = { (char *)"proxy.example", NULL };
	struct config c = { .advertise = (char *)"box", .hosts = own };
	struct source source = { .fd = -1 };
	struct server s = { .config = &c };
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fds[2];
	struct err e = { 0 };
	autofree char *loopback = NULL, *box = NULL, *local = NULL;

	(void)state;
	assert_int_equal(access_listen("127.0.0.1:0", false, fds, &e), 1);
	source.fd = fds[0];
	s.conns.listeners[0] = &source;
	s.conns.n_listeners = 1;
	assert_int_equal(getsockname(fds[0], (struct sockaddr *)&a, &len), 0);
	loopback = str_fmt(&e, "127.0.0.1:%u", ntohs(a.sin_port));
	box = str_fmt(&e, "box:%u", ntohs(a.sin_port));
	local = str_fmt(&e, "localhost:%u", ntohs(a.sin_port));
	for (int twice = 0; twice < 2; twice++) {
		assert_ok(access_hosts(&s, &e));
		assert_int_equal(strv_len(s.hosts), 5);
	}
	assert_true(strv_has(s.hosts, loopback) && strv_has(s.hosts, box) &&
		    strv_has(s.hosts, local) && strv_has(s.hosts, "localhost") &&
		    strv_has(s.hosts, "proxy.example"));
	strv_free(s.hosts);
	(void)close(fds[0]);
}

static void who_listens_everywhere_is_known_on_the_loopback(void **state)
{
	struct config c = { .advertise = (char *)"box" };
	struct source source = { .fd = -1 };
	struct server s = { .config = &c, .conns = { .n_listeners = 1 } };
	struct err e = { 0 };
	int fds[2];

	(void)state;
	assert_int_equal(access_listen("0.0.0.0:0", true, fds, &e), 1);
	source.fd = fds[0];
	s.conns.listeners[0] = &source;
	assert_ok(access_hosts(&s, &e));
	assert_int_equal(strv_len(s.hosts), 5);
	assert_true(str_starts(s.hosts[3], "127.0.0.1:"));
	strv_free(s.hosts);
	(void)close(fds[0]);
}

static void descriptors_are_inherited_by_who_is_meant_alone(void **state)
{
	struct err e = { 0 };
	int first;

	(void)state;
	assert_int_equal(setenv("LISTEN_FDS", "1", 1), 0);
	assert_int_equal(unsetenv("LISTEN_PID"), 0);
	assert_int_equal(access_inherited(&first, &e), 0);
	assert_int_equal(setenv("LISTEN_PID", "1", 1), 0);
	assert_int_equal(access_inherited(&first, &e), 0);
	{
		autofree char *pid = str_fmt(&e, "%d", getpid());

		assert_int_equal(setenv("LISTEN_PID", pid, 1), 0);
	}
	assert_int_equal(setenv("LISTEN_FDS", "9", 1), 0);
	assert_true(access_inherited(&first, &e) < 0);
	assert_int_equal(unsetenv("LISTEN_FDS"), 0);
	assert_int_equal(unsetenv("LISTEN_PID"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(key_is_made_once_for_its_user_alone),
		scratch_test(half_a_key_is_never_in_its_place),
		scratch_test(key_that_others_can_read_is_refused),
		scratch_test(key_of_the_operator_is_taken_as_it_stands),
		scratch_test(what_is_no_file_is_no_key),
		cmocka_unit_test(beyond_the_loopback_is_refused_unless_it_is_said),
		cmocka_unit_test(what_is_no_address_is_refused),
		scratch_test(left_over_socket_is_replaced_and_a_used_one_is_not),
		cmocka_unit_test(only_known_names_and_no_pages_are_let_in),
		cmocka_unit_test(names_are_those_of_the_listeners_and_the_operators),
		cmocka_unit_test(who_listens_everywhere_is_known_on_the_loopback),
		cmocka_unit_test(descriptors_are_inherited_by_who_is_meant_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
