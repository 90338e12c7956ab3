/* SPDX-License-Identifier: MIT */
/* wire.h - packets of counted fields, and descriptors beside them: what the protocols between our
 * own processes are made of.
 *
 * Each kind of message is described once, by a function that visits its fields in order; the same
 * visit writes or reads, so the two ends cannot drift apart. Reading trusts nothing: whatever does
 * not fit marks the packet as bad, and the rest of the visit does nothing. Numbers are in host
 * order: both ends are of one build. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define WIRE_FDS_MAX 128 /* of one packet; the kernel takes 253 */

/* Where a visit stands in the packet. */
struct wire {
	bool reading, bad;
	const unsigned char *in;
	size_t left;
	struct buf *out;
	int *fds;
	unsigned n_fds; /* reading: how many came; writing: how many so far, WIRE_FDS_MAX at most */
	unsigned next_fd;
};

void wire_bytes(struct wire *w, void *p, size_t n);
#define wire_num(w, p) wire_bytes((w), (p), sizeof(*(p)))
void wire_bool(struct wire *w, bool *p);

/* Returns how many there are to visit: none where the count is beyond `max`. */
unsigned wire_count(struct wire *w, unsigned *n, unsigned max);

/* A descriptor travels beside the bytes; they say only whether it is there. Read ones are taken
 * out of w->fds (-1 is left), which must all be taken in the end. */
void wire_fd(struct wire *w, int *fd);
void wire_fds(struct wire *w, int *fds, unsigned *n, unsigned max);

/* A text that may be NULL; one that may not; one in an array of the struct itself. Read ones are
 * on the heap. */
void wire_maybe(struct wire *w, char **text);
void wire_text(struct wire *w, char **text);
void wire_array(struct wire *w, char *array, size_t size);

/* A NULL-terminated list, in one block when read: one free() for all of it. */
void wire_list(struct wire *w, char ***list, unsigned max);

/* Send one packet; -1 and errno. */
ssize_t wire_send(int fd, const struct buf *bytes, const int *fds, unsigned n_fds);

/* Receive one packet of at most `max` bytes: its length, with *bytes on the heap and the
 * descriptors (close-on-exec) the caller's. 0 at end-of-file, -EAGAIN where nothing is there on a
 * non-blocking socket; *bytes and *n_fds are untouched then. */
must_check ssize_t wire_receive(int fd, size_t max, char **bytes, int fds[WIRE_FDS_MAX],
				unsigned *n_fds, struct err *e);

/* Close what is open of them. */
void wire_close(int *fds, unsigned n);
