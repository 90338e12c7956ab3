/* SPDX-License-Identifier: MIT */
/* start_io.c - what a process that is started reads from and writes to. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/start_parts.h"
#include "sandbox/executor/terminal.h"
#include "sandbox/executor/view.h"

static int make_terminal(struct starting *c, struct err *e)
{
	int master, slave;

	if (terminal_make(c->request->rows, c->request->cols, &master, &slave, e) < 0)
		return -e->code;
	c->io[0] = c->io[1] = c->io[2] = slave;
	c->give[c->n_give++] = master;
	return 0;
}

static int make_socket(struct starting *c, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "start: socketpair");
	c->io[0] = pair[0];
	c->give[c->n_give++] = pair[1];
	return 0;
}

/* Made with the workload's ids, or it could not open its own /dev/stdout again. */
static int make_pipes(struct starting *c, struct err *e)
{
	int pair[2];

	for (int i = c->request->flags & CTL_START_SHELL ? 1 : 0; i < 3; i++) {
		if (pipe2(pair, O_CLOEXEC) < 0)
			return err_errno(e, "start: pipe");
		c->io[i] = pair[i > 0];
		c->give[c->n_give++] = pair[i == 0];
	}
	return 0;
}

static int make_view(struct starting *c, struct err *e)
{
	int listener = view_listen(c->s->boot, e);

	if (listener < 0)
		return listener;
	c->give[c->n_give++] = listener;
	return 0;
}

int start_io_make(struct starting *c, struct err *e)
{
	unsigned flags = c->request->flags;
	struct report_bytes none = { .exec = false };
	int ret = 0;

	if (flags & CTL_START_TTY)
		ret = make_terminal(c, e);
	else if (flags & CTL_START_PIPES)
		ret = make_pipes(c, e);
	if (ret == 0 && flags & (CTL_START_SHELL | CTL_START_HELPER))
		ret = make_socket(c, e);
	if (ret == 0 && flags & CTL_START_VIEW)
		ret = make_view(c, e);
	if (ret < 0 || !c->n_give)
		return ret;
	ret = report_send(c->status, &none, c->give, c->n_give);
	if (ret < 0)
		return err_code(e, -ret, "start: give the descriptors: %s", strerror(-ret));
	for (unsigned i = 0; i < c->n_give; i++)
		(void)close(c->give[i]);
	return 0;
}

/* Descriptors 0, 1 and 2 are the process's, STATUS_FD is ours until exec, and nothing else is. */
int start_io_arrange(struct starting *c, struct err *e)
{
	int high[4], all[4] = { c->io[0], c->io[1], c->io[2], c->status };

	/* Out of the way first: one of them may stand where another belongs. */
	for (int i = 0; i < 4; i++) {
		high[i] = fcntl(all[i], F_DUPFD_CLOEXEC, 10);
		if (high[i] < 0)
			return err_errno(e, "start: descriptor %d", i);
	}
	for (int i = 0; i < 4; i++)
		if (dup3(high[i], i, i == STATUS_FD ? O_CLOEXEC : 0) < 0)
			return err_errno(e, "start: descriptor %d", i);
	c->status = STATUS_FD;
	if (syscall(SYS_close_range, STATUS_FD + 1, UINT_MAX, 0) < 0)
		return err_errno(e, "start: close_range");
	return 0;
}
