/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sandbox/sudo.h"

struct pair {
	int a, b;
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	int ends[2];

	if (!p || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	*p = (struct pair) { ends[0], ends[1] };
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	drop_fd(&p->a);
	drop_fd(&p->b);
	free(p);
	return 0;
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static struct sudo_message request(char **argv, char **env)
{
	struct sudo_message m = { .kind = SUDO_REQUEST };

	m.request = (struct sudo_request) { .uid = 1000,
					    .flags = SUDO_TTY | SUDO_FOREGROUND,
					    .umask = 027,
					    .ignored = UINT64_C(1) << (SIGHUP - 1),
					    .program = argv[0],
					    .argv = argv,
					    .env = env,
					    .fds = { -1, 1, -1 },
					    .dir = 2 };
	m.request.terminal = (struct sudo_terminal) { 24, 80, 1, 2, 3, 4, { 5 } };
	return m;
}

static void request_comes_as_it_went(void **state)
{
	char *argv[] = { (char *)"vi", (char *)"", (char *)"a b", NULL };
	char *env[] = { (char *)"A=1", NULL };
	struct sudo_message sent = request(argv, env), got;
	struct pair *p = *state;
	unsigned before;
	struct err e = { 0 };

	assert_int_equal(sudo_send(p->a, &sent, &e), 0);
	before = open_fds();
	assert_int_equal(sudo_receive_request(p->b, &got, &e), 1);
	assert_int_equal(got.request.uid, 1000);
	assert_int_equal(got.request.flags, SUDO_TTY | SUDO_FOREGROUND);
	assert_int_equal(got.request.umask, 027);
	assert_int_equal(got.request.ignored, 1);
	assert_memory_equal(&got.request.terminal, &sent.request.terminal,
			    sizeof(sent.request.terminal));
	assert_string_equal(got.request.program, "vi");
	assert_string_equal(got.request.argv[2], "a b");
	assert_null(got.request.argv[3]);
	assert_string_equal(got.request.env[0], "A=1");
	assert_null(got.request.cwd);
	assert_int_equal(got.request.fds[0], -1);
	assert_true(got.request.fds[1] > 2);
	assert_int_equal(fcntl(got.request.fds[1], F_GETFD), FD_CLOEXEC);
	assert_int_equal(got.request.fds[2], -1);
	assert_int_equal(open_fds(), before + 2);
	sudo_message_clear(&got);
	sudo_message_clear(&got);
	assert_int_equal(open_fds(), before);
}

static void other_messages_come_as_they_went(void **state)
{
	const struct sudo_message sent[] = {
		{ .kind = SUDO_SIGNAL, .signal = SIGTERM },
		{ .kind = SUDO_GO_ON, .foreground = true },
		{ .kind = SUDO_STARTED, .started = { .pid = 7, .terminal = 1 } },
		{ .kind = SUDO_FAILED, .failed = { .code = 2, .stranger = true, .text = "x" } },
		{ .kind = SUDO_STOPPED, .signal = SIGTSTP },
		{ .kind = SUDO_ENDED, .wait_status = 256 },
	};
	struct pair *p = *state;
	struct sudo_message got;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
		assert_int_equal(sudo_send(p->a, &sent[i], &e), 0);
		assert_int_equal(sudo_receive(p->b, &got, &e), 1);
		assert_int_equal(got.kind, sent[i].kind);
		if (got.kind == SUDO_STARTED)
			assert_true(got.started.terminal > 2);
		else if (got.kind == SUDO_FAILED)
			assert_string_equal(got.failed.text, "x");
		else
			assert_memory_equal(&got.signal, &sent[i].signal, 1);
		sudo_message_clear(&got);
	}
	drop_fd(&p->a);
	assert_int_equal(sudo_receive(p->b, &got, &e), 0);
}

/* More than the kernel takes as one packet; sent by another process, or nobody would read. */
static void command_line_of_two_megabytes_goes_in_many_packets(void **state)
{
	enum { WORDS = 100000 };
	char **argv = calloc(WORDS + 1, sizeof(*argv)), *env[] = { NULL };
	struct sudo_message sent, got;
	struct pair *p = *state;
	struct err e = { 0 };
	pid_t pid;
	int status;

	for (size_t i = 0; i < WORDS; i++)
		argv[i] = (char *)"sixteen letters.";
	sent = request(argv, env);
	pid = fork();
	if (pid == 0)
		_exit(sudo_send(p->a, &sent, &e) < 0);
	if (sudo_receive_request(p->b, &got, &e) != 1)
		fail_msg("%s", e.text);
	assert_string_equal(got.request.argv[WORDS - 1], "sixteen letters.");
	assert_null(got.request.argv[WORDS]);
	sudo_message_clear(&got);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(argv);
}

static void too_long_a_command_line_is_refused_by_the_sender(void **state)
{
	char *word = calloc(1, SUDO_REQUEST_MAX + 1), *argv[] = { word, NULL }, *env[] = { NULL };
	struct sudo_message sent = request(argv, env);
	struct pair *p = *state;
	struct err e = { 0 };

	memset(word, 'x', SUDO_REQUEST_MAX);
	assert_int_equal(sudo_send(p->a, &sent, &e), -E2BIG);
	free(word);
}

static void send_bytes(int fd, const void *bytes, size_t len, unsigned n_fds)
{
	struct buf packet = { .data = (char *)(uintptr_t)bytes, .len = len };
	int fds[WIRE_FDS_MAX];

	for (unsigned i = 0; i < n_fds; i++)
		fds[i] = 1;
	assert_int_equal(wire_send(fd, &packet, fds, n_fds), (ssize_t)len);
}

static void what_is_no_message_is_refused_and_its_descriptors_closed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		unsigned fds;
	} cases[] = {
		{ "\0", 1, 0 },
		{ "\2\1\2", 3, 0 },
		{ "\0\1\2\0\0\0\0", 7, 0 },
		{ "\0\1\2\11\0\0\0", 7, 1 }, /* a descriptor too many */
		{ "\0\1\2\11\0\0\0", 7, 6 }, /* more than any message has */
		{ "\0\2\2\11\0\0\0", 7, 0 },
		{ "\0\1\2\377\0\0\0", 7, 0 },
		{ "\0\1\2\11\0\0\0x", 8, 0 },
		{ "\0\1\77", 3, 2 },
		{ "\1\1\2\11\0\0\0", 7, 2 }, /* in parts, and is no request */
	};
	struct pair *p = *state;
	struct sudo_message got;
	unsigned before = open_fds();

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { 0 };

		send_bytes(p->a, cases[i].bytes, cases[i].len, cases[i].fds);
		if (sudo_receive(p->b, &got, &e) != -EPROTO)
			fail_msg("case %zu was taken", i);
		assert_int_equal(open_fds(), before);
	}
}

static void parts_without_end_are_refused(void **state)
{
	static char part[32 * 1024];
	struct pair *p = *state;
	struct sudo_message got;
	struct err e = { 0 };
	unsigned before;
	pid_t pid = fork();
	int status;

	part[0] = 1;
	if (pid == 0) {
		struct buf packet = { .data = part, .len = sizeof(part) };
		int fds[] = { 1, 2 };

		drop_fd(&p->b);
		for (unsigned i = 0; wire_send(p->a, &packet, fds, i ? 0 : 2) > 0; i++)
			;
		_exit(errno != EPIPE && errno != ECONNRESET);
	}
	before = open_fds();
	assert_true(sudo_receive_request(p->b, &got, &e) < 0);
	assert_int_equal(open_fds(), before);
	drop_fd(&p->b);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void descriptors_behind_the_first_part_are_refused(void **state)
{
	struct pair *p = *state;
	struct sudo_message got;
	struct err e = { 0 };
	unsigned before = open_fds();

	send_bytes(p->a, "\1\1\1aaaa", 7, 3);
	send_bytes(p->a, "\1aaaaaaa", 8, 1);
	assert_int_equal(sudo_receive_request(p->b, &got, &e), -EPROTO);
	assert_int_equal(open_fds(), before);
}

static void what_a_peer_said_before_it_ended_is_heard(void **state)
{
	const struct sudo_message m = { .kind = SUDO_SIGNAL, .signal = 1 };
	struct pair *p = *state;
	struct sudo_message got;
	struct err e = { 0 };

	/* It leaves something of ours unread: the kernel tells of that first. */
	assert_int_equal(sudo_send(p->b, &m, &e), 0);
	assert_int_equal(sudo_send(p->a, &m, &e), 0);
	drop_fd(&p->a);
	assert_int_equal(sudo_receive(p->b, &got, &e), 1);
	assert_int_equal(sudo_receive(p->b, &got, &e), 0);
}

static void a_request_that_breaks_off_is_an_end(void **state)
{
	struct pair *p = *state;
	struct sudo_message got;
	struct err e = { 0 };
	unsigned before = open_fds() - 1;

	send_bytes(p->a, "\1\1\1aaaa", 7, 3);
	drop_fd(&p->a);
	assert_int_equal(sudo_receive_request(p->b, &got, &e), 0);
	assert_int_equal(open_fds(), before);
}

static void doors_have_addresses_of_their_own_that_are_no_files(void **state)
{
	struct sockaddr_un root, user;
	socklen_t len = sudo_address(SUDO_DOOR_ROOT, &root);

	(void)state;
	assert_int_equal(sudo_address(SUDO_DOOR_USER, &user), len);
	assert_int_equal(root.sun_path[0], '\0');
	assert_true(memcmp(&root, &user, len) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
		PAIR_TEST(request_comes_as_it_went),
		PAIR_TEST(other_messages_come_as_they_went),
		PAIR_TEST(command_line_of_two_megabytes_goes_in_many_packets),
		PAIR_TEST(too_long_a_command_line_is_refused_by_the_sender),
		PAIR_TEST(what_is_no_message_is_refused_and_its_descriptors_closed),
		PAIR_TEST(parts_without_end_are_refused),
		PAIR_TEST(descriptors_behind_the_first_part_are_refused),
		PAIR_TEST(what_a_peer_said_before_it_ended_is_heard),
		PAIR_TEST(a_request_that_breaks_off_is_an_end),
		cmocka_unit_test(doors_have_addresses_of_their_own_that_are_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
