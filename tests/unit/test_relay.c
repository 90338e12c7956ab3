/* SPDX-License-Identifier: MIT */
#include "launch/relay.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "unit.h"

/* Standard input, output and error as the test found them. */
struct saved {
	int fd[3];
};

static int save(void **state)
{
	struct saved *s = malloc(sizeof(*s));

	(void)fflush(stdout);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 0; s && i < 3; i++)
		s->fd[i] = fcntl(i, F_DUPFD_CLOEXEC, 50);
	*state = s;
	return s ? 0 : -1;
}

static int put_back(void **state)
{
	struct saved *s = *state;

	for (int i = 0; i < 3; i++) {
		(void)dup2(s->fd[i], i);
		(void)close(s->fd[i]);
	}
	free(s);
	return 0;
}

/* Stand a descriptor where the caller's `to` is. */
static void stand_in(int fd, int to)
{
	assert_int_equal(dup2(fd, to), to);
	(void)close(fd);
}

static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

/* Turn the loop until nothing has moved for a while, or all output is through. */
static void turn(struct relay *r)
{
	for (int i = 0; i < 2000 && relay_pending(r); i++) {
		struct pollfd polls[RELAY_POLLS];
		size_t n = relay_polls(r, polls);

		if (poll(polls, n, 30) <= 0)
			return;
		relay_move(r, polls);
	}
}

static void start(struct relay *r, int session[3])
{
	struct err e = { 0 };

	relay_init(r);
	assert_ok(relay_pipes(r, (uid_t)-1, (gid_t)-1, session, &e));
}

static void read_exactly(int fd, const char *want)
{
	char got[200] = "";
	struct err e = { 0 };

	assert_int_equal(io_read_full(fd, got, strlen(want), &e), strlen(want));
	assert_string_equal(got, want);
}

static void bytes_go_both_ways_and_ends_with_them(void **state)
{
	int in[2], out[2], session[3] = { -1, -1, -1 };
	struct relay r;
	char byte;

	(void)state;
	make_pipe(in);
	make_pipe(out);
	stand_in(in[0], 0);
	stand_in(out[1], 1);
	start(&r, session);
	assert_int_equal(write(in[1], "to it", 5), 5);
	(void)close(in[1]);
	assert_int_equal(write(session[1], "from\0it", 7), 7);
	(void)close(session[1]);
	(void)close(session[2]);
	turn(&r);
	assert_false(relay_pending(&r));
	read_exactly(session[0], "to it");
	assert_int_equal(read(session[0], &byte, 1), 0);
	relay_clear(&r);
	(void)dup2(2, 1); /* the last writer of the caller's pipe */
	assert_int_equal(read(out[0], (char[8]) { 0 }, 8), 7);
	assert_int_equal(read(out[0], &byte, 1), 0);
}

static void the_callers_flags_stay_as_they_are(void **state)
{
	int in[2], out[2], session[3] = { -1, -1, -1 };
	int before[2];
	struct relay r;

	(void)state;
	make_pipe(in);
	make_pipe(out);
	before[0] = fcntl(in[0], F_GETFL);
	before[1] = fcntl(out[1], F_GETFL);
	stand_in(in[0], 0);
	stand_in(out[1], 1);
	start(&r, session);
	assert_int_equal(write(session[1], "x", 1), 1);
	turn(&r);
	assert_int_equal(fcntl(0, F_GETFL), before[0]);
	assert_int_equal(fcntl(1, F_GETFL), before[1]);
	assert_true(fcntl(session[0], F_GETFL) == O_RDONLY &&
		    fcntl(session[1], F_GETFL) == O_WRONLY);
	relay_clear(&r);
	assert_int_equal(fcntl(0, F_GETFL), before[0]);
	assert_int_equal(fcntl(1, F_GETFL), before[1]);
}

static void a_full_blocking_pipe_does_not_stop_the_loop(void **state)
{
	static char much[1 << 20];
	int out[2], session[3] = { -1, -1, -1 };
	size_t total = 0;
	struct relay r;
	struct err e = { 0 };

	(void)state;
	make_pipe(out);
	stand_in(out[1], 1);
	start(&r, session);
	drop_fd(&session[2]);
	/* Each turn writes what fits and comes back; the reader takes it later. */
	assert_int_equal(fcntl(session[1], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 50; i++) {
		if (write(session[1], much, 65536) < 0)
			assert_int_equal(errno, EAGAIN);
		turn(&r);
	}
	drop_fd(&session[1]);
	for (int i = 0; relay_pending(&r) && i < 200; i++) {
		ssize_t n = read(out[0], much, sizeof(much));

		assert_true(n > 0);
		total += (size_t)n;
		turn(&r);
	}
	relay_clear(&r);
	(void)dup2(2, 1);
	assert_true(total + (size_t)io_read_full(out[0], much, sizeof(much), &e) >= 65536 * 2);
}

static void a_closed_reader_closes_the_writer(void **state)
{
	int out[2], session[3] = { -1, -1, -1 };
	struct relay r;

	(void)state;
	make_pipe(out);
	stand_in(out[1], 1);
	start(&r, session);
	(void)close(out[0]);
	assert_int_equal(write(session[1], "x", 1), 1);
	turn(&r);
	assert_int_equal(write(session[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(r.failed.code, 0);
	relay_clear(&r);
}

static void a_full_disk_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), session[3] = { -1, -1, -1 };
	struct relay r;

	(void)state;
	stand_in(full, 1);
	start(&r, session);
	assert_int_equal(write(session[1], "x", 1), 1);
	turn(&r);
	assert_int_equal(r.failed.code, ENOSPC);
	assert_string_equal(r.failed.text, "standard output: write: No space left on device");
	relay_clear(&r);
}

static void a_closed_stream_stays_closed(void **state)
{
	int session[3] = { -1, -1, -1 };
	struct relay r;
	struct err e = { 0 };
	char byte;

	(void)state;
	(void)close(0);
	(void)close(1);
	assert_ok(relay_check(&e));
	assert_true(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0);
	start(&r, session);
	assert_int_equal(write(session[1], "x", 1), 1);
	turn(&r);
	assert_int_equal(read(session[0], &byte, 1), 0);
	assert_int_equal(r.failed.code, EBADF);
	relay_clear(&r);
}

static void a_directory_is_refused(void **state)
{
	struct err e = { 0 };

	(void)state;
	stand_in(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
	assert_refused(relay_check(&e), EISDIR, "standard input is a directory");
}

/* Its description is the caller's: where it stands when we are done is seen by who shares it. */
static void files_are_read_and_appended_to(void **state)
{
	struct err e = { 0 };
	char path[] = "/tmp/ohs-unit-XXXXXX", text[20] = "";
	int file = mkstemp(path), log, session[3] = { -1, -1, -1 };
	struct relay r;

	(void)state;
	assert_int_equal(write(file, "first\n", 6), 6);
	log = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	stand_in(file, 0);
	stand_in(log, 1);
	start(&r, session);
	assert_int_equal(write(session[1], "second\n", 7), 7);
	(void)close(session[1]);
	(void)close(session[2]);
	turn(&r);
	assert_true(io_read_full(session[0], text, 6, &e) == 6);
	assert_memory_equal(text, "first\n", 6);
	relay_clear(&r);
	assert_int_equal(pread(0, text, sizeof(text), 0), 13);
	assert_memory_equal(text, "first\nsecond\n", 13);
	assert_int_equal(fcntl(1, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND);
	(void)unlink(path);
}

static void sockets_are_streams_too(void **state)
{
	int ends[2], session[3] = { -1, -1, -1 };
	struct relay r;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(dup2(ends[0], 0), 0);
	stand_in(ends[0], 1);
	start(&r, session);
	assert_int_equal(write(ends[1], "ask", 3), 3);
	assert_int_equal(write(session[1], "answer", 6), 6);
	turn(&r);
	read_exactly(session[0], "ask");
	read_exactly(ends[1], "answer");
	relay_clear(&r);
}

static void input_that_nobody_wants_ends_at_its_writer(void **state)
{
	int in[2], session[3] = { -1, -1, -1 };
	struct relay r;

	(void)state;
	make_pipe(in);
	stand_in(in[0], 0);
	start(&r, session);
	drop_fd(&session[0]);
	assert_int_equal(write(in[1], "x", 1), 1);
	turn(&r);
	assert_int_equal(write(in[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	relay_clear(&r);
}

static void the_terminal_is_raw_and_comes_back(void **state)
{
	struct termios before, now;
	struct winsize size = { .ws_row = 33, .ws_col = 99 }, seen = { 0 };
	int master, slave, inner, inner_slave;
	struct err e = { 0 };
	struct relay r;

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	assert_int_equal(openpty(&inner, &inner_slave, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(slave, &before), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(dup2(slave, i), i);
	assert_true(relay_has_terminal());
	relay_init(&r);
	assert_ok(relay_terminal(&r, inner, &e));
	assert_int_equal(tcgetattr(slave, &now), 0);
	assert_int_equal(now.c_lflag & (ICANON | ECHO | ISIG), 0);
	assert_int_equal(ioctl(inner_slave, TIOCGWINSZ, &seen), 0);
	assert_true(seen.ws_row == 33 && seen.ws_col == 99);
	/* Ctrl-C is a byte. */
	assert_int_equal(tcgetattr(inner_slave, &now), 0);
	cfmakeraw(&now);
	assert_int_equal(tcsetattr(inner_slave, TCSANOW, &now), 0);
	assert_int_equal(write(master, "\003x", 2), 2);
	turn(&r);
	read_exactly(inner_slave, "\003x");
	assert_int_equal(write(inner_slave, "out", 3), 3);
	turn(&r);
	read_exactly(master, "out");
	relay_clear(&r);
	assert_int_equal(tcgetattr(slave, &now), 0);
	assert_memory_equal(&now, &before, sizeof(now));
	assert_int_equal(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
	(void)close(master);
	(void)close(slave);
	(void)close(inner_slave);
}

static void a_hung_up_terminal_is_seen(void **state)
{
	int master, slave, inner, inner_slave;
	struct err e = { 0 };
	struct relay r;

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(openpty(&inner, &inner_slave, NULL, NULL, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(dup2(slave, i), i);
	(void)close(slave);
	relay_init(&r);
	assert_ok(relay_terminal(&r, inner, &e));
	assert_false(r.hung_up);
	(void)close(master);
	turn(&r);
	assert_true(r.hung_up);
	relay_clear(&r);
	(void)close(inner_slave);
}

#define relay_test(f) cmocka_unit_test_setup_teardown(f, save, put_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		relay_test(bytes_go_both_ways_and_ends_with_them),
		relay_test(the_callers_flags_stay_as_they_are),
		relay_test(a_full_blocking_pipe_does_not_stop_the_loop),
		relay_test(a_closed_reader_closes_the_writer),
		relay_test(a_full_disk_is_told),
		relay_test(a_closed_stream_stays_closed),
		relay_test(a_directory_is_refused),
		relay_test(files_are_read_and_appended_to),
		relay_test(sockets_are_streams_too),
		relay_test(input_that_nobody_wants_ends_at_its_writer),
		relay_test(the_terminal_is_raw_and_comes_back),
		relay_test(a_hung_up_terminal_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
