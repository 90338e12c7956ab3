/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sandbox/fds.h"
#include "sandbox/inside.h"
#include "sandbox/limits.h"

/* What changes a whole process runs in one of its own; 0 is success, else the failed line. */
static void in_child(int (*work)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(work());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fail_msg("failed in the child at line %d (modulo 256)", WEXITSTATUS(status));
}

#define CHECK(that)                               \
	do {                                      \
		if (!(that))                      \
			return (__LINE__ & 0xff); \
	} while (0)

static ino_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* A file nobody else has. */
static int file_at(int place)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd == place)
		return fd;
	(void)dup3(fd, place, O_CLOEXEC);
	(void)close(fd);
	return place;
}

static int arranged_from(int ctl, int listener, int userns, int lock, int gate, int program)
{
	struct fds f = { ctl, listener, userns, lock, gate, program };
	const int from[] = { ctl, listener, userns, lock, gate, program };
	const int place[] = { INSIDE_FD_CTL,  INSIDE_FD_LISTEN, INSIDE_FD_USERNS,
			      INSIDE_FD_LOCK, FDS_GATE,		FDS_PROGRAM };
	ino_t want[ARRAY_LEN(from)];
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		want[i] = from[i] < 0 ? 0 : inode(file_at(from[i]));
	for (int fd = 100; fd < 110; fd++)
		(void)file_at(fd); /* the host's, for instance */
	CHECK(fds_arrange(&f, &e) == 0);
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		int flags = fcntl(place[i], F_GETFD);

		CHECK(inode(place[i]) == want[i]);
		CHECK(want[i] ? flags >= 0 : flags < 0);
		CHECK(!want[i] || (flags == FD_CLOEXEC) == (place[i] >= FDS_GATE));
	}
	for (int fd = FDS_PROGRAM + 1; fd < 200; fd++)
		CHECK(fcntl(fd, F_GETFD) < 0);
	return 0;
}

static int from_high_places(void)
{
	return arranged_from(20, 21, 22, 23, 24, 25);
}

static int from_each_others_places(void)
{
	return arranged_from(8, 3, 4, 7, 5, 6);
}

static int from_the_standard_places(void)
{
	return arranged_from(0, 1, 2, 30, 31, 32);
}

static int without_listener_and_lock(void)
{
	return arranged_from(20, -1, 4, -1, 6, 3);
}

static int standard_ones_are_null(void)
{
	struct stat st, null;
	struct err e = { 0 };
	struct fds f = { file_at(20), -1, file_at(21), -1, file_at(22), file_at(23) };

	CHECK(stat("/dev/null", &null) == 0);
	CHECK(fds_arrange(&f, &e) == 0);
	for (int fd = 0; fd <= 2; fd++) {
		CHECK(fstat(fd, &st) == 0 && st.st_rdev == null.st_rdev);
		CHECK(fcntl(fd, F_GETFD) == 0);
	}
	return 0;
}

static void descriptors_come_to_their_places_from_anywhere(void **state)
{
	(void)state;
	in_child(from_high_places);
	in_child(from_each_others_places);
	in_child(from_the_standard_places);
}

static void what_is_not_there_leaves_its_place_closed(void **state)
{
	(void)state;
	in_child(without_listener_and_lock);
}

static void the_callers_standard_descriptors_are_replaced(void **state)
{
	(void)state;
	in_child(standard_ones_are_null);
}

static bool limit_is(int resource, rlim_t value)
{
	struct rlimit l;

	return getrlimit((__rlimit_resource_t)resource, &l) == 0 && l.rlim_cur == value &&
	       l.rlim_max == value;
}

static int limits_are_lowered(void)
{
	struct err e = { 0 };

	CHECK(limits_set(&e) == 0);
	CHECK(limit_is(RLIMIT_RTPRIO, 0) && limit_is(RLIMIT_NICE, 0));
	CHECK(limit_is(RLIMIT_CORE, 1) || limit_is(RLIMIT_CORE, 0));
	return 0;
}

/* As an ordinary user a limit of 0 cannot become 1, and that is no error. */
static int lower_limits_stay(void)
{
	struct rlimit none = { 0, 0 };
	struct err e = { 0 };

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	CHECK(geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);
	CHECK(limits_set(&e) == 0);
	CHECK(limit_is(RLIMIT_CORE, 0));
	return 0;
}

static void limits_go_down_and_never_fail_to(void **state)
{
	(void)state;
	in_child(limits_are_lowered);
	in_child(lower_limits_stay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_come_to_their_places_from_anywhere),
		cmocka_unit_test(what_is_not_there_leaves_its_place_closed),
		cmocka_unit_test(the_callers_standard_descriptors_are_replaced),
		cmocka_unit_test(limits_go_down_and_never_fail_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
