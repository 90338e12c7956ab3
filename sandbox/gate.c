/* SPDX-License-Identifier: MIT */
/* gate.c - both ends of the one go and the one answer; see gate.h. */
#include "sandbox/gate.h"

#include "base/clock.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define EXIT_REFUSED 125 /* nobody looks at it: the text through the gate is what counts */

int gate_new(int *host, int *child, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "gate: socketpair");
	*host = pair[0];
	*child = pair[1];
	return 0;
}

/* Room for the descriptors that go with the byte. */
union cargo {
	struct cmsghdr head;
	char room[CMSG_SPACE(GATE_FDS_MAX * sizeof(int))];
};

static int send_byte(int fd, const char *what, struct err *e)
{
	ssize_t n;

	do {
		n = send(fd, what, 1, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : err_errno(e, "gate: the other side is gone");
}

int gate_ready(int child, struct err *e)
{
	return send_byte(child, "r", e);
}

static ssize_t receive(int fd, void *bytes, size_t size, int flags)
{
	ssize_t n;

	do {
		n = recv(fd, bytes, size, flags);
	} while (n < 0 && errno == EINTR);
	return n;
}

int gate_await(int child, int fds[GATE_FDS_MAX], struct err *e)
{
	char go;
	struct iovec into = { .iov_base = &go, .iov_len = 1 };
	union cargo cargo = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &into,
			    .msg_iovlen = 1,
			    .msg_control = cargo.room,
			    .msg_controllen = sizeof(cargo.room) };
	ssize_t got;

	do {
		got = recvmsg(child, &m, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_errno(e, "gate: wait for go");
	if (got == 0)
		return err_code(e, EPIPE, "gate: the host is gone");
	if (!m.msg_controllen)
		return 0;
	if (m.msg_flags & MSG_CTRUNC || cargo.head.cmsg_type != SCM_RIGHTS ||
	    cargo.head.cmsg_len > sizeof(cargo.room))
		return err_code(e, EPROTO, "gate: a go with more than there is room for");
	got = (ssize_t)(cargo.head.cmsg_len - CMSG_LEN(0));
	memcpy(fds, CMSG_DATA(&cargo.head), (size_t)got);
	return (int)((size_t)got / sizeof(int));
}

int gate_check(int child, struct err *e)
{
	char none;
	ssize_t n = receive(child, &none, 1, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	return err_code(e, EPIPE, "gate: the host is gone");
}

void gate_fail(int child, const struct err *e)
{
	/* If the host is gone there is nobody to tell. */
	(void)send(child, e, sizeof(*e), MSG_NOSIGNAL);
	_exit(EXIT_REFUSED);
}

static int wait_readable(int host, int64_t deadline_ms, struct err *e)
{
	struct pollfd p = { .fd = host, .events = POLLIN };
	int64_t left;
	int n;

	do {
		left = deadline_ms - (int64_t)clock_ms();
		n = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(e, "gate: wait for the answer");
	return n ? 0 : err_code(e, ETIMEDOUT, "the sandbox did not come up in time");
}

static int take_error(const struct err *answer, struct err *e)
{
	*e = *answer;
	e->text[sizeof(e->text) - 1] = '\0';
	if (e->code <= 0)
		e->code = EPROTO;
	return -e->code;
}

int gate_answer(int host, int timeout_ms, struct err *e)
{
	int64_t deadline_ms = (int64_t)clock_ms() + timeout_ms;
	struct err answer;
	int ready = 0;

	for (;;) {
		ssize_t n;

		if (wait_readable(host, deadline_ms, e) < 0)
			return -e->code;
		n = receive(host, &answer, sizeof(answer), 0);
		/* It ended with our go unread, which is told before what it said. */
		if (n < 0 && errno == ECONNRESET)
			n = receive(host, &answer, sizeof(answer), 0);
		if (n == (ssize_t)sizeof(answer))
			return take_error(&answer, e);
		if (n == 1 && !ready) {
			ready = 1; /* what is left is exec: its end of the gate closes */
			continue;
		}
		if (n == 0 && ready)
			return 0;
		if (n == 0)
			return err_code(e, ECHILD, "the sandbox died while it was being set up");
		return n < 0 ? err_errno(e, "gate: receive the answer")
			     : err_code(e, EPROTO, "gate: an answer of %zd bytes", n);
	}
}

int gate_go(int host, const int *fds, unsigned n, struct err *e)
{
	struct iovec go = { .iov_base = (char[]) { 'g' }, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &go, .msg_iovlen = 1 };
	union cargo cargo = { .room = { 0 } };
	ssize_t sent;

	if (n) {
		m.msg_control = cargo.room;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		cargo.head = (struct cmsghdr) { .cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(n * sizeof(int)) };
		memcpy(CMSG_DATA(&cargo.head), fds, n * sizeof(int));
	}
	do {
		sent = sendmsg(host, &m, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent == 1)
		return 0;
	/* It failed before this, and has said why. */
	return errno == EPIPE ? gate_answer(host, 0, e) : err_errno(e, "gate: say go");
}
