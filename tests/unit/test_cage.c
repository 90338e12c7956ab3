/* SPDX-License-Identifier: MIT */
#include "sandbox/executor/cage.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "unit.h"

/* Run `check` behind the server's filter in a process of its own; it returns 0 where all is well,
 * else the number of what was not. */
static int caged(int (*check)(int link))
{
	int pair[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		struct err e = { 0 };

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || cage_server(pair[0], &e) < 0)
			syscall(SYS_exit_group, 99);
		syscall(SYS_exit_group, check(pair[0]));
	}
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool denied(long result)
{
	return result == -1 && errno == EPERM;
}

static int ways_out(int link)
{
	static const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = 1 };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct msghdr msg = { 0 };
	int one = 1;

	if (!denied(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)))
		return 1;
	if (!denied(syscall(SYS_connect, link, &nowhere, sizeof(nowhere))))
		return 2;
	if (!denied(syscall(SYS_bind, link, &to, sizeof(to))))
		return 3;
	if (!denied(syscall(SYS_sendmsg, link, &msg, 0)))
		return 4;
	/* Data on the way with an address is a connection, with TCP's fast open. */
	if (!denied(syscall(SYS_sendto, link, "x", 1, MSG_FASTOPEN, &to, sizeof(to))))
		return 5;
	if (!denied(syscall(SYS_setsockopt, link, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one,
			    sizeof(one))))
		return 6;
	if (!denied(syscall(SYS_recvmsg, link + 1, &msg, 0)))
		return 7;
	if (!denied(syscall(SYS_listen, link, 1)))
		return 8;
	return 0;
}

static int ways_to_start(int link)
{
	static char *const none[] = { NULL };

	(void)link;
	if (!denied(syscall(SYS_execve, "/bin/true", none, none)))
		return 1;
	if (!denied(syscall(SYS_fork)))
		return 2;
	if (!denied(syscall(SYS_clone, 0, NULL, NULL, NULL, 0)))
		return 3;
	if (!denied(syscall(SYS_clone3, NULL, 0)))
		return 4;
	if (!denied(syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL)))
		return 5;
	if (!denied(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
		return 6;
	if (!denied(syscall(SYS_mprotect, NULL, 4096, PROT_READ | PROT_EXEC)))
		return 7;
	if (!denied(syscall(SYS_kill, 1, 0)))
		return 8;
	return 0;
}

static int ways_to_open(int link)
{
	if (!denied(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)))
		return 1;
	if (!denied(syscall(SYS_open, "/etc/passwd", O_RDONLY)))
		return 2;
	if (!denied(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0)))
		return 3;
	if (!denied(syscall(SYS_pidfd_getfd, 0, 0, 0)))
		return 4;
	if (!denied(syscall(SYS_dup, link)))
		return 5;
	if (!denied(syscall(SYS_fcntl, link, F_SETOWN, 1)))
		return 6;
	if (!denied(syscall(SYS_ioctl, link, 0x5412 /* TIOCSTI */, "x")))
		return 7;
	if (!denied(syscall(SYS_io_uring_setup, 1, NULL)))
		return 8;
	return 0;
}

static int work_of_the_server(int link)
{
	char byte;

	if (send(link, "x", 1, MSG_DONTWAIT) != 1)
		return 1;
	if (recv(link, &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN)
		return 2;
	if (write(link, "x", 1) != 1)
		return 3;
	if (syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == -1)
		return 4;
	if (fcntl(link, F_SETFL, O_NONBLOCK) < 0)
		return 5;
	return 0;
}

static void the_server_calls_nobody(void **state)
{
	(void)state;
	assert_int_equal(caged(ways_out), 0);
}

static void the_server_starts_nothing(void **state)
{
	(void)state;
	assert_int_equal(caged(ways_to_start), 0);
}

static void the_server_opens_nothing(void **state)
{
	(void)state;
	assert_int_equal(caged(ways_to_open), 0);
}

static void the_server_can_do_its_work(void **state)
{
	(void)state;
	assert_int_equal(caged(work_of_the_server), 0);
}

static void a_filter_of_no_whole_instructions_is_refused(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_refused(cage_workload("", 0, &e), EINVAL, "seccomp: 0 bytes are no filter");
	assert_refused(cage_workload("123", 3, &e), EINVAL, "seccomp: 3 bytes are no filter");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_calls_nobody),
		cmocka_unit_test(the_server_starts_nothing),
		cmocka_unit_test(the_server_opens_nothing),
		cmocka_unit_test(the_server_can_do_its_work),
		cmocka_unit_test(a_filter_of_no_whole_instructions_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
