/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include "sandbox/ctl.h"

struct pair {
	int host, other;
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct err e = { 0 };

	if (!p || ctl_pair(&p->host, &p->other, &e) < 0)
		return -1;
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	drop_fd(&p->host);
	drop_fd(&p->other);
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

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
	       sa.st_dev == sb.st_dev;
}

static struct ctl_message boot_message(char **env, const int fds[4])
{
	struct ctl_message m = { .kind = CTL_BOOT };
	struct ctl_boot *b = &m.boot;

	memcpy(b->id, "0123456789ab", 13);
	memset(b->key, 'f', 64);
	b->exit_on_eof = true;
	b->root_caps = UINT64_C(1) << 40 | 1;
	b->as_root = true;
	b->server_uid = 65521;
	b->server_gid = 65521;
	b->user = (struct ctl_user) { (char *)"openhands", (char *)"/home/openhands",
				      (char *)"/bin/bash", 1000, 0 };
	b->workspace = (char *)"/workspace";
	b->env = env;
	b->nofile = UINT64_MAX;
	b->deadline_ms = 30000;
	b->filter = fds[0];
	b->work_groups[0] = fds[1];
	b->n_work_groups = 1;
	b->work_group_dir = -1;
	b->listeners[0] = fds[2];
	b->n_listeners = 1;
	b->publish[0].listener = fds[3];
	b->publish[0].port = 8080;
	b->n_publish = 1;
	return m;
}

static void boot_comes_as_it_went(void **state)
{
	struct pair *p = *state;
	char *env[] = { (char *)"PATH=/usr/bin:/bin", (char *)"EMPTY=", (char *)"\xff\xfe=bytes",
			NULL };
	const int fds[] = { p->host, p->other, 0, 1 };
	struct ctl_message sent = boot_message(env, fds), got;
	struct err e = { 0 };

	assert_ok(ctl_send(p->host, &sent, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(got.kind, CTL_BOOT);
	assert_string_equal(got.boot.id, "0123456789ab");
	assert_string_equal(got.boot.key, sent.boot.key);
	assert_true(got.boot.exit_on_eof);
	assert_false(got.boot.root_allowed);
	assert_true(got.boot.as_root);
	assert_int_equal(got.boot.root_caps, sent.boot.root_caps);
	assert_int_equal(got.boot.server_uid, 65521);
	assert_string_equal(got.boot.user.home, "/home/openhands");
	assert_int_equal(got.boot.user.uid, 1000);
	assert_string_equal(got.boot.workspace, "/workspace");
	for (int i = 0; i < 3; i++)
		assert_string_equal(got.boot.env[i], env[i]);
	assert_null(got.boot.env[3]);
	assert_true(got.boot.nofile == UINT64_MAX);
	assert_true(same_file(got.boot.filter, p->host));
	assert_true(same_file(got.boot.work_groups[0], p->other));
	assert_int_equal(got.boot.work_group_dir, -1);
	assert_true(same_file(got.boot.publish[0].listener, 1));
	assert_int_equal(got.boot.publish[0].port, 8080);
	assert_int_equal(fcntl(got.boot.filter, F_GETFD), FD_CLOEXEC);
	ctl_message_clear(&got);
}

static void leaves_come_with_their_descriptors(void **state)
{
	struct pair *p = *state;
	const int fds[] = { 0, 0, 0, 0 };
	struct ctl_message sent = boot_message(NULL, fds), got;
	unsigned before = open_fds();
	struct err e = { 0 };

	sent.boot.n_leaves = 2;
	for (unsigned i = 0; i < 2; i++)
		ctl_leaf_init(&sent.boot.leaves[i]);
	memset(sent.boot.above, -1, sizeof(sent.boot.above));
	sent.boot.above[CTL_COUNT_PIDS_EVENTS] = 1;
	sent.boot.leaves[1].tasks[0] = p->host;
	sent.boot.leaves[1].n_tasks = 1;
	sent.boot.leaves[1].list = p->other;
	sent.boot.leaves[1].counter[CTL_COUNT_PIDS] = 1;
	sent.boot.leaf_pids = UINT64_MAX;
	assert_ok(ctl_send(p->host, &sent, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(got.boot.n_leaves, 2);
	assert_int_equal(got.boot.leaves[0].list, -1);
	assert_int_equal(got.boot.leaves[1].n_tasks, 1);
	assert_true(same_file(got.boot.leaves[1].tasks[0], p->host));
	assert_true(same_file(got.boot.leaves[1].list, p->other));
	assert_int_equal(got.boot.leaves[1].dir, -1);
	assert_true(got.boot.leaf_pids == UINT64_MAX);
	assert_true(got.boot.above[CTL_COUNT_PIDS_EVENTS] >= 0);
	assert_int_equal(got.boot.above[CTL_COUNT_CPU], -1);
	assert_int_equal(open_fds(), before + 4 + 4);
	ctl_message_clear(&got);
	assert_int_equal(open_fds(), before);
	sent.boot.n_leaves = CTL_LEAVES + 1;
	assert_refused(ctl_send(p->host, &sent, &e), EINVAL,
		       "control: message 1 is incomplete or beyond its limits");
}

static void clearing_closes_what_was_not_taken(void **state)
{
	struct pair *p = *state;
	const int fds[] = { 0, 0, 0, 0 };
	struct ctl_message sent = boot_message(NULL, fds), got;
	unsigned before = open_fds();
	struct err e = { 0 };
	int taken;

	assert_ok(ctl_send(p->host, &sent, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(open_fds(), before + 4);
	taken = take_fd(&got.boot.filter);
	ctl_message_clear(&got);
	assert_int_equal(open_fds(), before + 1);
	ctl_message_clear(&got); /* twice does nothing */
	close(taken);
}

static void start_comes_as_it_went(void **state)
{
	struct pair *p = *state;
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"", NULL };
	struct ctl_message got, sent = { .kind = CTL_START,
					 .start = { .tag = 7,
						    .flags = CTL_START_TTY | CTL_START_ROOT,
						    .rows = 24,
						    .cols = 80,
						    .argv = argv,
						    .fds = { 0, 1, 2 },
						    .n_fds = 3 } };
	struct err e = { 0 };

	assert_ok(ctl_send(p->other, &sent, &e));
	assert_int_equal(ctl_receive(p->host, &got, &e), 1);
	assert_int_equal(got.kind, CTL_START);
	assert_int_equal(got.start.tag, 7);
	assert_int_equal(got.start.flags, CTL_START_TTY | CTL_START_ROOT);
	assert_int_equal(got.start.cols, 80);
	assert_string_equal(got.start.argv[1], "-c");
	assert_string_equal(got.start.argv[2], "");
	assert_null(got.start.argv[3]);
	assert_null(got.start.env[0]);
	assert_null(got.start.cwd);
	assert_int_equal(got.start.n_fds, 3);
	assert_true(same_file(got.start.fds[2], 2));
	ctl_message_clear(&got);
}

static void small_messages_come_as_they_went(void **state)
{
	static const struct ctl_message messages[] = {
		{ .kind = CTL_SIGNAL, .signal = { 3, 15, true } },
		{ .kind = CTL_END },
		{ .kind = CTL_STAND },
		{ .kind = CTL_GO },
		{ .kind = CTL_READY },
		{ .kind = CTL_CONNECT, .connect = { 4, 8080 } },
		{ .kind = CTL_STARTED, .started = { .tag = 9, .pid = 42 } },
		{ .kind = CTL_FAILED, .failed = { 9, ENOENT, true, "sh: not found" } },
		{ .kind = CTL_EXITED, .exited = { 9, 0x8b, UINT64_MAX, 4096 } },
		{ .kind = CTL_MOVE, .ask = { 10, 3, CTL_LEAVES - 1, false, 0 } },
		{ .kind = CTL_CLEAR, .ask = { 11, 3, 0, true, 9 } },
		{ .kind = CTL_ANSWERED, .answered = { 12, ESRCH } },
		{ .kind = CTL_REFUSED, .refused = { 9, 165, 3, { 1, 2, UINT64_MAX } } },
	};
	struct pair *p = *state;
	struct ctl_message got;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(messages); i++)
		assert_ok(ctl_send(p->host, &messages[i], &e));
	for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
		assert_int_equal(ctl_receive(p->other, &got, &e), 1);
		assert_int_equal(got.kind, messages[i].kind);
		if (got.kind == CTL_SIGNAL)
			assert_int_equal(got.signal.signal, 15);
		if (got.kind == CTL_STARTED)
			assert_int_equal(got.started.fds[0], -1);
		if (got.kind == CTL_FAILED)
			assert_string_equal(got.failed.text, "sh: not found");
		if (got.kind == CTL_EXITED)
			assert_true(got.exited.cpu_us == UINT64_MAX);
		if (got.kind == CTL_MOVE)
			assert_int_equal(got.ask.leaf, CTL_LEAVES - 1);
		if (got.kind == CTL_REFUSED)
			assert_true(got.refused.args[2] == UINT64_MAX);
		if (got.kind == CTL_ANSWERED)
			assert_int_equal(got.answered.code, ESRCH);
		ctl_message_clear(&got);
	}
}

static void the_end_of_the_peer_is_an_end(void **state)
{
	struct ctl_message got, ready = { .kind = CTL_READY };
	struct pair *p = *state;
	struct err e = { 0 };

	assert_ok(ctl_send(p->host, &ready, &e));
	drop_fd(&p->host);
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	ctl_message_clear(&got);
	assert_int_equal(ctl_receive(p->other, &got, &e), 0);
}

static void nothing_there_does_not_block_who_must_not(void **state)
{
	struct pair *p = *state;
	struct ctl_message got;
	struct err e = { 0 };

	assert_int_equal(fcntl(p->other, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ctl_receive(p->other, &got, &e), -EAGAIN);
}

static void a_dead_peer_is_an_error_and_no_signal(void **state)
{
	struct ctl_message ready = { .kind = CTL_READY };
	struct pair *p = *state;
	struct err e = { 0 };

	drop_fd(&p->other);
	assert_int_equal(ctl_send(p->host, &ready, &e), -EPIPE);
}

static void the_largest_message_goes_through_and_a_larger_one_is_refused(void **state)
{
	struct pair *p = *state;
	size_t len = CTL_MESSAGE_MAX - 64;
	char *argv[] = { malloc(CTL_MESSAGE_MAX + 1), NULL };
	struct ctl_message got, sent = { .kind = CTL_START, .start = { .argv = argv } };
	struct err e = { 0 };

	memset(argv[0], 'a', CTL_MESSAGE_MAX);
	argv[0][len] = '\0';
	assert_ok(ctl_send(p->host, &sent, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(strlen(got.start.argv[0]), len);
	ctl_message_clear(&got);
	argv[0][len] = 'a';
	argv[0][CTL_MESSAGE_MAX] = '\0';
	assert_int_equal(ctl_send(p->host, &sent, &e), -EMSGSIZE);
	free(argv[0]);
}

static void more_strings_than_allowed_are_refused(void **state)
{
	struct pair *p = *state;
	char **argv = calloc(CTL_STRINGS_MAX + 2, sizeof(*argv));
	struct ctl_message got, sent = { .kind = CTL_START, .start = { .argv = argv } };
	struct err e = { 0 };

	for (unsigned i = 0; i < CTL_STRINGS_MAX; i++)
		argv[i] = (char *)"x";
	assert_ok(ctl_send(p->host, &sent, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	ctl_message_clear(&got);
	argv[CTL_STRINGS_MAX] = (char *)"x";
	assert_int_equal(ctl_send(p->host, &sent, &e), -EINVAL);
	free(argv);
}

/* ---- hostile packets ---- */

static void refuse(const void *bytes, size_t len)
{
	struct ctl_message m;
	struct err e = { 0 };

	assert_int_equal(ctl_decode(bytes, len, NULL, 0, &m, &e), -EPROTO);
}

static void every_cut_of_a_message_is_refused(void **state)
{
	char *argv[] = { (char *)"a", (char *)"bc", NULL };
	struct ctl_message m = { .kind = CTL_START,
				 .start = { .argv = argv, .env = argv, .cwd = (char *)"/x" } };
	autobuf struct buf bytes = { 0 };
	int fds[CTL_FDS_MAX];
	struct err e = { 0 };
	unsigned n;

	(void)state;
	assert_ok(ctl_encode(&m, &bytes, fds, &n, &e));
	for (size_t len = 0; len < bytes.len; len++)
		refuse(bytes.data, len);
	buf_putc(&bytes, 0);
	refuse(bytes.data, bytes.len);
}

static void another_version_or_kind_is_refused(void **state)
{
	(void)state;
	refuse("", 0);
	refuse("\x01", 1);
	refuse("\x01\x00", 2);
	refuse("\x02\x05", 2);
	refuse("\x01\x0a", 2);
	refuse("\x01\xff", 2);
}

/* tag flags rows cols argc */
#define START_HEAD \
	"\x01\x02" \
	"\1\0\0\0" \
	"\0\0\0\0" \
	"\0\0"     \
	"\0\0"

static void counts_and_lengths_beyond_the_packet_are_refused(void **state)
{
	static const char many[] = START_HEAD "\xff\xff\xff\xff";
	static const char more[] = START_HEAD "\x00\x10\0\0"
					      "\1\0\0\0a";
	static const char longer[] = START_HEAD "\1\0\0\0"
						"\xfe\xff\xff\xff"
						"a";
	static const char none[] = START_HEAD "\1\0\0\0"
					      "\xff\xff\xff\xff";
	static const char nul[] = START_HEAD "\1\0\0\0"
					     "\2\0\0\0a\0"
					     "\0\0\0\0"
					     "\xff\xff\xff\xff"
					     "\0\0\0\0";

	(void)state;
	refuse(many, sizeof(many) - 1);
	refuse(more, sizeof(more) - 1);
	refuse(longer, sizeof(longer) - 1);
	refuse(none, sizeof(none) - 1);
	refuse(nul, sizeof(nul) - 1);
}

static void unknown_flags_and_signals_are_refused(void **state)
{
	struct ctl_message start = { .kind = CTL_START, .start = { .flags = 1u << 31 } };
	struct ctl_message signal = { .kind = CTL_SIGNAL, .signal = { 0, 65, false } };
	struct pair *p = *state;
	struct err e = { 0 };

	assert_int_equal(ctl_send(p->host, &start, &e), -EINVAL);
	assert_int_equal(ctl_send(p->host, &signal, &e), -EINVAL);
	signal.signal.signal = -1;
	assert_int_equal(ctl_send(p->host, &signal, &e), -EINVAL);
}

/* Bytes with descriptors that the bytes do not name. */
static void send_raw(int fd, const void *bytes, size_t len, unsigned n_fds)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int) * (CTL_FDS_MAX + 20))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = n_fds ? &control : NULL,
			      .msg_controllen = n_fds ? CMSG_SPACE(sizeof(int) * n_fds) : 0 };

	control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
	memset(CMSG_DATA(&control.head), 0, sizeof(int) * n_fds); /* fd 0, again and again */
	assert_int_equal(sendmsg(fd, &msg, 0), len);
}

static void descriptors_nobody_named_are_closed(void **state)
{
	struct pair *p = *state;
	unsigned before = open_fds();
	struct ctl_message got;
	struct err e = { 0 };

	send_raw(p->host, "\x01\x05", 2, 3);
	assert_int_equal(ctl_receive(p->other, &got, &e), -EPROTO);
	assert_int_equal(open_fds(), before);
	send_raw(p->host, "\x01\x05", 2, CTL_FDS_MAX + 20);
	assert_int_equal(ctl_receive(p->other, &got, &e), -EPROTO);
	assert_int_equal(open_fds(), before);
}

static void descriptors_named_but_not_sent_are_refused(void **state)
{
	static const char bytes[] = "\x01\x06"
				    "\1\0\0\0"
				    "\0"
				    "\1\0\0\0"
				    "\2\0\0\0"
				    "\1\1";
	struct pair *p = *state;
	unsigned before = open_fds();
	struct ctl_message got;
	struct err e = { 0 };

	send_raw(p->host, bytes, sizeof(bytes) - 1, 1);
	assert_int_equal(ctl_receive(p->other, &got, &e), -EPROTO);
	assert_int_equal(open_fds(), before);
	send_raw(p->host, bytes, sizeof(bytes) - 1, 2);
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(got.started.n_fds, 2);
	ctl_message_clear(&got);
	assert_int_equal(open_fds(), before);
}

static void a_packet_too_large_is_taken_off_and_refused(void **state)
{
	struct ctl_message got, ready = { .kind = CTL_READY };
	char *bytes = calloc(1, CTL_MESSAGE_MAX + 1);
	struct pair *p = *state;
	struct err e = { 0 };

	send_raw(p->host, bytes, CTL_MESSAGE_MAX + 1, 1);
	free(bytes);
	assert_ok(ctl_send(p->host, &ready, &e));
	assert_int_equal(ctl_receive(p->other, &got, &e), -EPROTO);
	assert_int_equal(ctl_receive(p->other, &got, &e), 1);
	assert_int_equal(got.kind, CTL_READY);
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(boot_comes_as_it_went),
		pair_test(leaves_come_with_their_descriptors),
		pair_test(clearing_closes_what_was_not_taken),
		pair_test(start_comes_as_it_went),
		pair_test(small_messages_come_as_they_went),
		pair_test(the_end_of_the_peer_is_an_end),
		pair_test(nothing_there_does_not_block_who_must_not),
		pair_test(a_dead_peer_is_an_error_and_no_signal),
		pair_test(the_largest_message_goes_through_and_a_larger_one_is_refused),
		pair_test(more_strings_than_allowed_are_refused),
		cmocka_unit_test(every_cut_of_a_message_is_refused),
		cmocka_unit_test(another_version_or_kind_is_refused),
		cmocka_unit_test(counts_and_lengths_beyond_the_packet_are_refused),
		pair_test(unknown_flags_and_signals_are_refused),
		pair_test(descriptors_nobody_named_are_closed),
		pair_test(descriptors_named_but_not_sent_are_refused),
		pair_test(a_packet_too_large_is_taken_off_and_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
