/* SPDX-License-Identifier: MIT */
/* pump.c - see pump.h.
 *
 * Between two pipes bytes are spliced. A regular file is read instead: splice would put pages of the
 * host's page cache themselves into a pipe that the session can open for writing, and the kernel
 * has had a hole there before (CVE-2022-0847). */
#include "launch/pump.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536u
#define SMALL_BYTES 256u /* a terminal that poll calls writable takes as many at once */
#define PIECES_MAX 16	 /* in one go, so that signals and the deadline get their turn */

void pump_init(struct pump *p)
{
	*p = (struct pump) { .from = -1, .to = -1, .from_slot = -1, .to_slot = -1 };
}

void pump_from(struct pump *p, int fd, enum pump_end end)
{
	p->from = fd;
	p->from_end = end;
	p->own_from = true;
}

void pump_to(struct pump *p, int fd, enum pump_end end)
{
	p->to = fd;
	p->to_end = end;
	p->own_to = true;
	p->to_ready = true; /* trying tells as fast as asking */
}

/* Look at a descriptor of the caller's. Gives the one to use: his, or our own description. */
static int examine(int fd, int access, enum pump_end *end)
{
	char path[32];
	struct stat st;
	int again;

	*end = PUMP_BLOCKS;
	if (fstat(fd, &st) < 0)
		return fd;
	if (S_ISFIFO(st.st_mode))
		*end = PUMP_PIPE;
	else if (S_ISSOCK(st.st_mode))
		*end = PUMP_SOCKET;
	else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		*end = PUMP_FREE;
	else if (isatty(fd)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again = open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (again >= 0) {
			*end = PUMP_FREE;
			return again;
		}
	}
	return fd;
}

void pump_from_caller(struct pump *p, int fd)
{
	p->from = examine(fd, O_RDONLY, &p->from_end);
	p->own_from = p->from != fd;
	p->from_terminal = isatty(fd);
}

void pump_to_caller(struct pump *p, int fd)
{
	p->to = examine(fd, O_WRONLY, &p->to_end);
	p->own_to = p->to != fd;
	p->to_ready = p->to_end == PUMP_FREE || p->to_end == PUMP_SOCKET;
}

static int wait_for(struct pollfd *polls, size_t *at, int fd, short events)
{
	polls[*at] = (struct pollfd) { .fd = fd, .events = events };
	return (int)(*at)++;
}

size_t pump_polls(struct pump *p, bool no_terminal, struct pollfd *polls, size_t at)
{
	size_t first = at;
	bool full = p->have > p->done;

	p->from_slot = p->to_slot = -1;
	if (p->from >= 0 && !full && !p->from_ready && !(no_terminal && p->from_terminal))
		p->from_slot = wait_for(polls, &at, p->from, POLLIN);
	/* Only when there is something to write: else a writable end would wake us for nothing. */
	if (p->to >= 0 && (full || p->from_ready) && !p->to_ready)
		p->to_slot = wait_for(polls, &at, p->to, POLLOUT);
	return at - first;
}

void pump_polled(struct pump *p, const struct pollfd *polls)
{
	/* An error or a hang-up counts as ready: the call itself will tell which. */
	if (p->from_slot >= 0 && polls[p->from_slot].revents)
		p->from_ready = true;
	if (p->to_slot >= 0 && polls[p->to_slot].revents)
		p->to_ready = true;
	p->from_slot = p->to_slot = -1;
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* One splice of pipe to pipe. */
static int move_spliced(struct pump *p, struct err *e)
{
	ssize_t n = splice(p->from, NULL, p->to, NULL, 1u << 20, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	int waiting = 0;

	if (n > 0)
		return PUMP_GOES_ON;
	if (n == 0)
		return PUMP_ENDED;
	if (!would_block()) {
		(void)err_errno(e, "splice");
		return PUMP_BROKEN;
	}
	/* Which of the two was it? */
	if (ioctl(p->from, FIONREAD, &waiting) == 0 && waiting > 0)
		p->to_ready = false;
	else
		p->from_ready = false;
	return PUMP_GOES_ON;
}

static int fill(struct pump *p)
{
	ssize_t n;

	if (p->from_end == PUMP_SOCKET)
		n = recv(p->from, p->bytes, PIECE_BYTES, MSG_DONTWAIT);
	else
		n = read(p->from, p->bytes, PIECE_BYTES);
	if (n < 0 && would_block()) {
		p->from_ready = false;
		return PUMP_GOES_ON;
	}
	/* A terminal whose other side is gone says EIO: the end, as for any descriptor that cannot be
	 * read (any more). */
	if (n <= 0)
		return PUMP_ENDED;
	p->have = (size_t)n;
	p->done = 0;
	if (p->from_end == PUMP_BLOCKS)
		p->from_ready = false;
	return PUMP_GOES_ON;
}

static int drain(struct pump *p, struct err *e)
{
	size_t left = p->have - p->done;
	ssize_t n;

	if (p->to_end == PUMP_BLOCKS && left > SMALL_BYTES)
		left = SMALL_BYTES;
	/* A blocking pipe has room for a page when poll says so; a full one was not polled ready. */
	if (p->to_end == PUMP_PIPE && !p->own_to && left > PIPE_BUF)
		left = PIPE_BUF;
	if (p->to_end == PUMP_SOCKET)
		n = send(p->to, p->bytes + p->done, left, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(p->to, p->bytes + p->done, left);
	if (n < 0 && would_block()) {
		p->to_ready = false;
		return PUMP_GOES_ON;
	}
	if (n < 0) {
		(void)err_errno(e, "write");
		return PUMP_BROKEN;
	}
	p->done += (size_t)n;
	if (p->to_end == PUMP_BLOCKS || (p->to_end == PUMP_PIPE && !p->own_to))
		p->to_ready = false;
	return PUMP_GOES_ON;
}

static int move_copied(struct pump *p, struct err *e)
{
	if (!p->bytes) {
		p->bytes = malloc(PIECE_BYTES);
		if (!p->bytes) {
			(void)err_code(e, ENOMEM, "no memory");
			return PUMP_BROKEN;
		}
	}
	if (p->have > p->done)
		return drain(p, e);
	return fill(p);
}

static bool can_move(const struct pump *p)
{
	if (p->from < 0 || p->to < 0)
		return false;
	if (p->have > p->done)
		return p->to_ready;
	return p->from_ready && p->to_ready;
}

int pump_move(struct pump *p, struct err *e)
{
	bool spliced = p->from_end == PUMP_PIPE && p->to_end == PUMP_PIPE;

	for (int i = 0; i < PIECES_MAX && can_move(p); i++) {
		int result = spliced ? move_spliced(p, e) : move_copied(p, e);

		if (result != PUMP_GOES_ON)
			return result;
	}
	return PUMP_GOES_ON;
}

bool pump_is_open(const struct pump *p)
{
	return p->from >= 0;
}

void pump_close(struct pump *p)
{
	if (p->own_from)
		auto_close(&p->from);
	if (p->own_to)
		auto_close(&p->to);
	p->from = p->to = -1;
	p->have = p->done = 0;
}

void pump_clear(struct pump *p)
{
	pump_close(p);
	free(p->bytes);
	p->bytes = NULL;
}
