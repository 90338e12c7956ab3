/* SPDX-License-Identifier: MIT */
/* fds.c - see fds.h. */
#include "sandbox/fds.h"

#include <fcntl.h>
#include <unistd.h>

#include "sandbox/inside.h"

enum { FIRST_FREE = FDS_PROGRAM + 1 };

/* Out of the way of the places that will be taken. */
static int move_up(int *fd, struct err *e)
{
	int up;

	if (*fd < 0 || *fd >= FIRST_FREE)
		return 0;
	up = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE);
	if (up < 0)
		return err_errno(e, "move descriptor %d", *fd);
	*fd = up;
	return 0;
}

static int put(int *fd, int place, int flags, struct err *e)
{
	if (*fd < 0) {
		(void)close(place); /* it may not be open at all */
		return 0;
	}
	if (dup3(*fd, place, flags) < 0)
		return err_errno(e, "put descriptor %d in place %d", *fd, place);
	*fd = place;
	return 0;
}

static int put_null(struct err *e)
{
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

	if (null < 0)
		return err_errno(e, "open /dev/null of the session");
	for (int i = 0; i <= 2; i++)
		if (null != i && dup3(null, i, 0) < 0)
			return err_errno(e, "put /dev/null in place %d", i);
	return 0;
}

/* It is there where tests of a build with sanitizers left it. */
static int put_report(struct err *e)
{
	if (!OHS_SANITIZED || fcntl(INSIDE_FD_REPORTS, F_GETFD) < 0)
		return 0;
	return dup3(INSIDE_FD_REPORTS, 2, 0) < 0 ? err_errno(e, "put the report in place") : 0;
}

int fds_arrange(struct fds *f, struct err *e)
{
	const struct {
		int *fd, place, flags;
	} places[] = {
		{ &f->gate, FDS_GATE, O_CLOEXEC },   { &f->program, FDS_PROGRAM, O_CLOEXEC },
		{ &f->ctl, INSIDE_FD_CTL, 0 },	     { &f->listener, INSIDE_FD_LISTEN, 0 },
		{ &f->userns, INSIDE_FD_USERNS, 0 }, { &f->lock, INSIDE_FD_LOCK, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (move_up(places[i].fd, e) < 0)
			return -e->code;
	if (put_null(e) < 0 || put_report(e) < 0)
		return -e->code;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (put(places[i].fd, places[i].place, places[i].flags, e) < 0)
			return -e->code;
	if (close_range(FIRST_FREE, ~0U, 0) < 0)
		return err_errno(e, "close all other descriptors");
	return 0;
}
