/* SPDX-License-Identifier: MIT */
/* tty.c - see tty.h. */
#include "sandbox/sudo/tty.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int tty_open(struct tty *t, struct err *e)
{
	*t = (struct tty) { .master = -1 };
	/* An opening of our own, so that the caller's descriptors stay blocking. */
	t->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0)
		return errno == ENXIO || errno == ENOENT ? 0 : err_errno(e, "open /dev/tty");
	/* One that has hung up is none. */
	if (tcgetattr(t->fd, &t->saved) < 0)
		drop_fd(&t->fd);
	return 0;
}

bool tty_is_ours(int fd)
{
	return tcgetpgrp(fd) >= 0;
}

bool tty_in_front(const struct tty *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == getpgrp();
}

/* Line feeds become carriage return and line feed once: here, or in the command's. */
static void share_output_processing(struct tty *t)
{
	struct termios ours, theirs;

	if (t->master < 0 || tcgetattr(t->fd, &ours) < 0 || tcgetattr(t->master, &theirs) < 0)
		return;
	if (!t->raw && ours.c_oflag & OPOST && theirs.c_oflag & OPOST) {
		theirs.c_oflag &= ~(tcflag_t)OPOST;
		t->post_off = true;
	} else if (t->raw && t->post_off) {
		theirs.c_oflag |= OPOST;
		t->post_off = false;
	} else {
		return;
	}
	/* A program that has gone over to settings of its own meanwhile keeps its screen, not more. */
	(void)tcsetattr(t->master, TCSANOW, &theirs);
}

/* Behind a shell the caller's terminal is set for the shell's own line: what a terminal is like by
 * itself is the better guess, until we have the foreground. */
static void make_plain(struct termios *t)
{
	t->c_iflag = ICRNL | IXON;
	t->c_oflag = OPOST | ONLCR;
	t->c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
}

int tty_describe(struct tty *t, bool front, struct sudo_terminal *out, struct err *e)
{
	struct winsize size = { 0 };
	struct termios now;

	if (tcgetattr(t->fd, &now) < 0)
		return err_errno(e, "settings of the terminal");
	(void)ioctl(t->fd, TIOCGWINSZ, &size); /* without one it stays zero: not known */
	t->settled = tty_in_front(t);
	if (!t->settled)
		make_plain(&now);
	if (!front && now.c_oflag & OPOST) {
		now.c_oflag &= ~(tcflag_t)OPOST;
		t->post_off = true;
	}
	*out = (struct sudo_terminal) { .rows = size.ws_row,
					.cols = size.ws_col,
					.iflag = now.c_iflag,
					.oflag = now.c_oflag,
					.cflag = now.c_cflag,
					.lflag = now.c_lflag };
	memcpy(out->cc, now.c_cc, sizeof(out->cc));
	return 0;
}

/* The caller's settings are his program's to choose now, not the shell's. */
static void settle(struct tty *t)
{
	if (t->settled || t->master < 0)
		return;
	(void)tcsetattr(t->master, TCSANOW, &t->saved); /* it may have hung up */
	t->settled = true;
	t->post_off = false;
}

int tty_raw(struct tty *t, bool signals, struct err *e)
{
	struct termios raw;

	if (t->fd < 0 || t->raw)
		return 0;
	if (tcgetattr(t->fd, &t->saved) < 0)
		return err_errno(e, "settings of the terminal");
	raw = t->saved;
	cfmakeraw(&raw);
	raw.c_iflag &= ~(tcflag_t)(IXOFF | INPCK);
	raw.c_cflag = t->saved.c_cflag; /* the line's own: bits and parity */
	if (signals)
		raw.c_lflag |= ISIG;
	if (tcsetattr(t->fd, TCSADRAIN, &raw) < 0)
		return err_errno(e, "set the terminal");
	t->raw = true;
	settle(t);
	share_output_processing(t);
	return 0;
}

void tty_restore(struct tty *t)
{
	if (t->raw && tty_in_front(t))
		(void)tcsetattr(t->fd, TCSADRAIN, &t->saved); /* it may have hung up */
	if (!t->raw)
		return;
	t->raw = false;
	share_output_processing(t);
}

void tty_resize(const struct tty *t)
{
	struct winsize size;

	if (t->fd >= 0 && t->master >= 0 && ioctl(t->fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(t->master, TIOCSWINSZ, &size); /* it may have hung up */
}
