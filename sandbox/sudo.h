/* SPDX-License-Identifier: MIT */
/* sudo.h - what `sudo` inside a session and the process that starts commands for it say to each
 * other.
 *
 * SOCK_SEQPACKET to an abstract address in the session's network namespace; descriptors by
 * SCM_RIGHTS. There is one address for each user that can be had, so that whoever answers is that
 * user, for good, before he reads the first byte.
 *
 * sudo -> its monitor   REQUEST (once, in as many packets as it takes), SIGNAL, GO_ON
 * monitor -> sudo       STARTED or FAILED (once), STOPPED, ENDED
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <termios.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/wire.h"

#define SUDO_REQUEST_MAX (3u << 20) /* arguments and environment may have 2 MiB by the kernel */
#define SUDO_STRINGS_MAX 131072	    /* in argv or env */
#define SUDO_FDS_MAX 4

enum sudo_door { SUDO_DOOR_ROOT, SUDO_DOOR_USER, SUDO_DOORS };

enum {
	SUDO_TTY = 1 << 0, /* a terminal of the command's own; STARTED carries its master end */
	SUDO_FOREGROUND = 1 << 1, /* with TTY: the command is in its foreground */
	SUDO_ASK = 1 << 2,	  /* no command: may I? */
	SUDO_TRY_CWD = 1 << 3,	  /* where `cwd` cannot be entered, a line says so and it goes on */
};

/* How the caller's terminal is set. */
struct sudo_terminal {
	uint16_t rows, cols;
	uint32_t iflag, oflag, cflag, lflag;
	unsigned char cc[NCCS];
};

struct sudo_request {
	uint32_t uid; /* who it shall be; the door must lead there */
	uint32_t flags;
	uint32_t umask;
	uint64_t ignored; /* signals that the caller ignores: bit n-1 is signal n */
	struct sudo_terminal terminal;
	char *program; /* searched in PATH of `env` where it has no slash */
	char **argv, **env;
	char *cwd;  /* NULL: `dir` */
	int fds[3]; /* -1: the terminal */
	int dir;
};

struct sudo_started {
	int32_t pid;  /* 0: the answer to ASK */
	int terminal; /* -1: none was asked for */
};

struct sudo_failed {
	int32_t code;  /* errno */
	bool stranger; /* it is that the user is none of this session's */
	char text[ERR_TEXT_BYTES];
};

enum sudo_kind {
	SUDO_REQUEST = 1,
	SUDO_SIGNAL,
	SUDO_GO_ON,
	SUDO_STARTED,
	SUDO_FAILED,
	SUDO_STOPPED,
	SUDO_ENDED,
};

struct sudo_message {
	enum sudo_kind kind;
	union {
		struct sudo_request request;
		int32_t signal;	     /* SIGNAL: to the command's group; STOPPED: by which */
		bool foreground;     /* GO_ON: in the terminal's foreground, or behind it */
		int32_t wait_status; /* ENDED: as waitpid gives it */
		struct sudo_started started;
		struct sudo_failed failed;
	};
};

/* The address of a door. Returns its length. */
socklen_t sudo_address(enum sudo_door door, struct sockaddr_un *address);

/* Send a message with the descriptors its struct names; they stay the caller's. */
must_check int sudo_send(int fd, const struct sudo_message *m, struct err *e);

/* Receive a message of one packet: 1 and *m filled (what is in it is the message's until
 * sudo_message_clear), 0 at end-of-file, -EPROTO for what is not a message of ours. */
must_check int sudo_receive(int fd, struct sudo_message *m, struct err *e);

/* The same for a request, which may come in several. Waits for all of them. */
must_check int sudo_receive_request(int fd, struct sudo_message *m, struct err *e);

/* From bytes: descriptors are taken out of `fds` (-1 is left there). Does no I/O; on failure *m is
 * cleared, and descriptors not taken yet are still the caller's. */
must_check int sudo_decode(const void *bytes, size_t len, int *fds, unsigned n_fds,
			   struct sudo_message *m, struct err *e);
must_check int sudo_encode(const struct sudo_message *m, struct buf *out, int fds[WIRE_FDS_MAX],
			   unsigned *n_fds, struct err *e);

/* Free and close what a received message holds. Twice does nothing more. */
void sudo_message_clear(struct sudo_message *m);
