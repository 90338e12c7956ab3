/* SPDX-License-Identifier: MIT */
/* terminal.c - see terminal.h. */
#include "sandbox/executor/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

int terminal_make(uint16_t rows, uint16_t cols, int *master, int *slave, struct err *e)
{
	struct winsize size = { .ws_row = rows, .ws_col = cols };
	autoclose int ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), theirs = -1;
	int unlock = 0;

	if (ours < 0)
		return err_errno(e, "start: open /dev/ptmx");
	if (ioctl(ours, TIOCSPTLCK, &unlock) < 0)
		return err_errno(e, "start: unlock the terminal");
	theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0)
		return err_errno(e, "start: open the terminal's other end");
	if (rows && cols && ioctl(ours, TIOCSWINSZ, &size) < 0)
		return err_errno(e, "start: terminal of %u by %u", rows, cols);
	if (ioctl(theirs, TIOCSCTTY, 0) < 0)
		return err_errno(e, "start: take the terminal");
	*master = take_fd(&ours);
	*slave = take_fd(&theirs);
	return 0;
}
