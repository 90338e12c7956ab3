/* SPDX-License-Identifier: MIT */
/* relay.c - see relay.h. Each direction is a pump; the supervisor's loop polls and moves. */
#include "launch/relay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/pump.h"

static const char *const stream_name[] = { "standard input", "standard output", "standard error" };

int relay_check(struct err *e)
{
	for (int fd = 0; fd < PUMP_COUNT; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0) {
			if (S_ISDIR(st.st_mode))
				return err_code(e, EISDIR, "%s is a directory", stream_name[fd]);
			continue;
		}
		/* O_PATH: what the caller closed stays unusable, and the number is taken. The lowest free
		 * number is this one, as those below it are open. */
		if (open("/dev/null", O_PATH) != fd)
			return err_errno(e, "open '/dev/null' in the place of a closed %s",
					 stream_name[fd]);
	}
	return 0;
}

bool relay_has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

void relay_init(struct relay *r)
{
	*r = (struct relay) { .master = -1 };
	for (int i = 0; i < PUMP_COUNT; i++)
		pump_init(&r->pump[i]);
}

/* One pipe whose session end belongs to the command's user: what /proc/self/fd opens again is
 * checked against the inode. */
static int one_pipe(bool into, uid_t uid, gid_t gid, int *ours, int *theirs, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "relay: pipe");
	*ours = ends[into ? 1 : 0];
	*theirs = ends[into ? 0 : 1];
	if (fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(e, "relay: our end of a pipe");
	if (uid != (uid_t)-1 && fchown(*theirs, uid, gid) < 0)
		return err_errno(e, "relay: give a pipe to id %u", uid);
	return 0;
}

int relay_pipes(struct relay *r, uid_t uid, gid_t gid, int session[3], struct err *e)
{
	for (int i = 0; i < PUMP_COUNT; i++) {
		struct pump *p = &r->pump[i];
		int ours = -1;

		if (one_pipe(i == PUMP_IN, uid, gid, &ours, &session[i], e) < 0) {
			if (ours >= 0)
				(void)close(ours);
			return -e->code;
		}
		if (i == PUMP_IN) {
			pump_from_caller(p, i);
			pump_to(p, ours, PUMP_PIPE);
		} else {
			pump_from(p, ours, PUMP_PIPE);
			pump_to_caller(p, i);
		}
	}
	return 0;
}

/* Is the caller's terminal for us to read and to set? */
static bool in_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	/* Not our controlling terminal, or one that is gone: then it is no job's. */
	return group < 0 || group == getpgrp();
}

static void make_raw(struct relay *r)
{
	struct termios raw;

	if (r->raw || !in_foreground() || tcgetattr(STDIN_FILENO, &r->before) < 0)
		return;
	raw = r->before;
	cfmakeraw(&raw);
	r->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

int relay_terminal(struct relay *r, int master, struct err *e)
{
	int flags = fcntl(master, F_GETFL);

	r->wants_tty = false;
	r->tty = true;
	r->master = master;
	if (!isatty(master))
		return err_code(e, EPROTO, "the session's terminal is none");
	if (flags < 0 || fcntl(master, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_errno(e, "the session's terminal");
	make_raw(r);
	pump_from_caller(&r->pump[PUMP_IN], STDIN_FILENO);
	pump_to(&r->pump[PUMP_IN], master, PUMP_FREE);
	pump_from(&r->pump[PUMP_OUT], master, PUMP_FREE);
	pump_to_caller(&r->pump[PUMP_OUT], STDOUT_FILENO);
	r->pump[PUMP_IN].own_to = false; /* it is `master`, closed once */
	r->pump[PUMP_OUT].own_from = false;
	/* The window may have changed while the command was started. */
	relay_resize(r);
	return 0;
}

void relay_window(unsigned short *rows, unsigned short *cols)
{
	struct winsize size = { 0 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col) {
		size.ws_row = 24;
		size.ws_col = 80;
	}
	*rows = size.ws_row;
	*cols = size.ws_col;
}

void relay_resize(struct relay *r)
{
	struct winsize size = { 0 };

	if (!r->tty || r->master < 0)
		return;
	relay_window(&size.ws_row, &size.ws_col);
	/* A terminal that has just gone needs no size. */
	(void)ioctl(r->master, TIOCSWINSZ, &size);
}

void relay_resume(struct relay *r)
{
	r->background = false;
	if (!r->tty || r->master < 0)
		return;
	make_raw(r);
	relay_resize(r);
}

void relay_restore(struct relay *r)
{
	if (!r->raw)
		return;
	r->raw = false;
	/* In the background the terminal is somebody else's, in the modes that he wants. TCSANOW: a
	 * terminal stopped by the user must not stop our end. */
	if (in_foreground())
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &r->before);
}

size_t relay_polls(struct relay *r, struct pollfd *polls)
{
	size_t n = 0;

	for (int i = 0; i < PUMP_COUNT; i++)
		n += pump_polls(&r->pump[i], r->background, polls, n);
	return n;
}

/* A pump has come to an end that the other side should hear of. */
static void settle(struct relay *r, int i, int result, const struct err *e)
{
	struct pump *p = &r->pump[i];
	struct stat st;

	if (result == PUMP_BROKEN && i != PUMP_IN && e->code != EPIPE && e->code != EIO &&
	    !r->failed.code) {
		r->failed = *e;
		(void)err_wrap(&r->failed, "%s", stream_name[i]);
	}
	if (r->tty && i == PUMP_IN && result == PUMP_ENDED)
		r->hung_up = true; /* in raw mode there is no other end of the input */
	if (r->tty && i == PUMP_OUT && result == PUMP_BROKEN)
		r->hung_up = true;
	/* The command wants no more input: who writes it learns that from the pipe. */
	if (!r->tty && i == PUMP_IN && result == PUMP_BROKEN && fstat(STDIN_FILENO, &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))) {
		autoclose int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (null >= 0)
			(void)dup2(null, STDIN_FILENO); /* else it stays open until we end */
	}
	pump_close(p);
}

void relay_move(struct relay *r, const struct pollfd *polls)
{
	for (int i = 0; i < PUMP_COUNT; i++) {
		struct pump *p = &r->pump[i];
		struct err e = { 0 };
		int result;

		pump_polled(p, polls);
		if (p->from_terminal && p->from_ready && p->have == p->done && !in_foreground()) {
			r->background = true;
			p->from_ready = false;
			continue;
		}
		result = pump_move(p, &e);
		if (result != PUMP_GOES_ON)
			settle(r, i, result, &e);
	}
}

bool relay_pending(const struct relay *r)
{
	return pump_is_open(&r->pump[PUMP_OUT]) || pump_is_open(&r->pump[PUMP_ERR]);
}

void relay_end_input(struct relay *r)
{
	pump_close(&r->pump[PUMP_IN]);
}

void relay_clear(struct relay *r)
{
	relay_restore(r);
	for (int i = 0; i < PUMP_COUNT; i++)
		pump_clear(&r->pump[i]);
	drop_fd(&r->master);
}
