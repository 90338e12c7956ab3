/* SPDX-License-Identifier: MIT */
/* sudo_door.c - see sudo_door.h.
 *
 * One porter a door at a time, and so many a second: who knocks all the time costs init and its
 * group a known part of a processor, and the queue of the kernel makes him wait. */
#include "sandbox/executor/sudo_door.h"

#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/sudo_porter.h"

enum {
	BACKLOG = 16,
	PORTERS_PER_SECOND = 256, /* each takes SUDO_PORTER_MAX at most */
	SECOND_MS = 1000,
	RETRY_MS = 100, /* no process to be had: the session is at its limits */
};

static void close_for(struct sudo_entrance *n, uint64_t ms)
{
	loop_want(n->loop, &n->listener, 0);
	loop_arm(n->loop, &n->rest, loop_time(n->loop) + ms);
}

static void rested(struct timer *timer)
{
	struct sudo_entrance *n = container_of(timer, struct sudo_entrance, rest);

	if (!n->porter)
		loop_want(n->loop, &n->listener, EPOLLIN);
}

/* Milliseconds to wait first; 0: not too many were started lately. */
static uint64_t too_soon_by(struct sudo_entrance *n)
{
	uint64_t now = loop_time(n->loop);

	if (now - n->since_ms >= SECOND_MS) {
		n->since_ms = now;
		n->in_this_second = 0;
	}
	if (n->in_this_second < PORTERS_PER_SECOND)
		return 0;
	return SECOND_MS - (now - n->since_ms);
}

static void knocked(struct source *source, uint32_t events)
{
	struct sudo_entrance *n = container_of(source, struct sudo_entrance, listener);
	struct clone_args args = { .exit_signal = SIGCHLD };
	uint64_t wait_ms = too_soon_by(n);
	pid_t pid;

	(void)events;
	if (wait_ms) {
		close_for(n, wait_ms);
		return;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		sudo_porter(n->starter, source->fd, n->door);
	if (pid < 0) {
		close_for(n, RETRY_MS);
		return;
	}
	n->in_this_second++;
	n->porter = pid;
	loop_want(n->loop, source, 0); /* until this one has taken what is there */
}

bool sudo_reaped(struct sudo_house *h, pid_t pid)
{
	for (size_t i = 0; i < ARRAY_LEN(h->entrance); i++) {
		struct sudo_entrance *n = &h->entrance[i];

		if (n->porter != pid)
			continue;
		n->porter = 0;
		loop_want(n->loop, &n->listener, EPOLLIN);
		return true;
	}
	return false;
}

static int open_door(struct sudo_entrance *n, struct err *e)
{
	struct sockaddr_un address;
	socklen_t len = sudo_address(n->door, &address);

	n->listener = (struct source) { .events = EPOLLIN, .ready = knocked };
	n->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->listener.fd < 0)
		return err_errno(e, "sudo: socket");
	if (bind(n->listener.fd, (const struct sockaddr *)&address, len) < 0 ||
	    listen(n->listener.fd, BACKLOG) < 0)
		return err_errno(e, "sudo: listen at '%s'", address.sun_path + 1);
	return loop_add(n->loop, &n->listener, e);
}

int sudo_open(struct sudo_house *h, const struct starter *s, struct loop *loop, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(h->entrance); i++)
		h->entrance[i] = (struct sudo_entrance) { .door = (enum sudo_door)i,
							  .starter = s,
							  .loop = loop,
							  .rest = { .fire = rested },
							  .listener = { .fd = -1 } };
	if (!s->boot->root_allowed || s->boot->single_id)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(h->entrance); i++)
		if (open_door(&h->entrance[i], e) < 0)
			return -e->code;
	return 0;
}
