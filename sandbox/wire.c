/* SPDX-License-Identifier: MIT */
/* wire.c - see wire.h. */
#include "sandbox/wire.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define NO_STRING UINT32_MAX

void wire_bytes(struct wire *w, void *p, size_t n)
{
	if (!w->reading) {
		buf_add(w->out, p, n);
		return;
	}
	if (w->bad || w->left < n) {
		w->bad = true;
		memset(p, 0, n);
		return;
	}
	memcpy(p, w->in, n);
	w->in += n;
	w->left -= n;
}

void wire_bool(struct wire *w, bool *p)
{
	unsigned char byte = *p;

	wire_num(w, &byte);
	if (byte > 1)
		w->bad = true;
	if (w->reading)
		*p = byte == 1;
}

/* Returns how many there are to visit: none where the count is beyond `max`. */
unsigned wire_count(struct wire *w, unsigned *n, unsigned max)
{
	uint32_t count = *n;

	wire_num(w, &count);
	if (count > max) {
		w->bad = true;
		count = 0;
	}
	if (w->reading)
		*n = count;
	return count;
}

/* A descriptor travels beside the bytes; they say only whether it is there. */
void wire_fd(struct wire *w, int *fd)
{
	bool present = *fd >= 0;

	wire_bool(w, &present);
	if (!present)
		return;
	if (!w->reading) {
		if (w->n_fds == WIRE_FDS_MAX)
			w->bad = true;
		else
			w->fds[w->n_fds++] = *fd;
		return;
	}
	if (w->bad || w->next_fd == w->n_fds) {
		w->bad = true;
		return;
	}
	*fd = w->fds[w->next_fd];
	w->fds[w->next_fd++] = -1;
}

void wire_fds(struct wire *w, int *fds, unsigned *n, unsigned max)
{
	unsigned count = wire_count(w, n, max);

	for (unsigned i = 0; i < count; i++) {
		wire_fd(w, &fds[i]);
		if (fds[i] < 0)
			w->bad = true; /* of counted ones, none is missing */
	}
}

/* The next text of the packet, without copying it. NULL where it is not there, or bad. */
static const char *peek_text(struct wire *w, size_t *len)
{
	const char *text;
	uint32_t n = 0;

	wire_num(w, &n);
	if (w->bad || n == NO_STRING)
		return NULL;
	if (n > w->left || memchr(w->in, '\0', n)) {
		w->bad = true;
		return NULL;
	}
	text = (const char *)w->in;
	w->in += n;
	w->left -= n;
	*len = n;
	return text;
}

static void put_text(struct wire *w, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	uint32_t n = text ? (uint32_t)len : NO_STRING;

	if (len >= NO_STRING) {
		w->bad = true;
		return;
	}
	wire_num(w, &n);
	if (text)
		buf_add(w->out, text, len);
}

/* A text that may be NULL. */
void wire_maybe(struct wire *w, char **text)
{
	const char *found;
	size_t len = 0;

	if (!w->reading) {
		put_text(w, *text);
		return;
	}
	found = peek_text(w, &len);
	if (!found)
		return;
	*text = strndup(found, len);
	if (!*text)
		w->bad = true;
}

void wire_text(struct wire *w, char **text)
{
	wire_maybe(w, text);
	if (!*text)
		w->bad = true;
}

/* A text in an array of the struct itself. */
void wire_array(struct wire *w, char *array, size_t size)
{
	const char *found;
	size_t len = 0;

	if (!w->reading) {
		put_text(w, array);
		return;
	}
	found = peek_text(w, &len);
	if (!found || len >= size) {
		w->bad = true;
		return;
	}
	memcpy(array, found, len);
	array[len] = '\0';
}

/* Pointers and texts of a list in one block. */
static char **list_new(struct wire *w, uint32_t count)
{
	struct wire ahead = *w; /* look at every length before allocating for their sum */
	size_t bytes = ((size_t)count + 1) * sizeof(char *), len = 0;
	const char *text;
	char **list, *at;

	for (uint32_t i = 0; i < count; i++) {
		if (!peek_text(&ahead, &len))
			return NULL;
		bytes += len + 1;
	}
	list = calloc(1, bytes);
	if (!list)
		return NULL;
	at = (char *)(list + count + 1);
	for (uint32_t i = 0; i < count && (text = peek_text(w, &len)); i++) {
		memcpy(at, text, len);
		at[len] = '\0';
		list[i] = at;
		at += len + 1;
	}
	list[count] = NULL;
	return list;
}

void wire_list(struct wire *w, char ***list, unsigned max)
{
	unsigned count = 0;

	while (!w->reading && *list && (*list)[count])
		count++;
	(void)wire_count(w, &count, max); /* beyond it, the packet is bad */
	if (w->bad)
		return;
	for (unsigned i = 0; !w->reading && i < count; i++)
		put_text(w, (*list)[i]);
	if (!w->reading)
		return;
	*list = list_new(w, count);
	if (!*list)
		w->bad = true;
}

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
};

ssize_t wire_send(int fd, const struct buf *bytes, const int *fds, unsigned n_fds)
{
	struct iovec iov = { .iov_base = bytes->data, .iov_len = bytes->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	/* The executor's server may send, but has no sendmsg: it can pass no descriptor on. */
	if (!n_fds) {
		do {
			n = send(fd, bytes->data, bytes->len, MSG_NOSIGNAL);
		} while (n < 0 && errno == EINTR);
		return n;
	}
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
	memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
	msg.msg_control = &control;
	msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
	do {
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Keep the descriptors of a packet; those of a second control message are closed at once. */
static unsigned gather_fds(struct msghdr *msg, int fds[WIRE_FDS_MAX])
{
	unsigned n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		unsigned count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < WIRE_FDS_MAX)
				fds[n++] = fd;
			else
				(void)close(fd);
		}
	}
	return n;
}

/* The length of the next packet, waiting for it unless the socket is non-blocking. Packets are
 * small, mostly: only as much memory is taken as this one needs. A peer that ended with something of
 * ours unread is told of once; what it said before is still there, and then the end. */
static ssize_t next_length(int fd, struct err *e)
{
	ssize_t n;

	do {
		n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n < 0 ? err_errno(e, "control: receive") : n;
}

void wire_close(int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		drop_fd(&fds[i]);
}

ssize_t wire_receive(int fd, size_t max, char **bytes, int fds[WIRE_FDS_MAX], unsigned *n_fds,
		     struct err *e)
{
	union control control;
	struct iovec iov = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	autofree char *own = NULL;
	ssize_t n = next_length(fd, e);

	if (n <= 0)
		return n;
	iov.iov_len = (size_t)n <= max ? (size_t)n : 1; /* too large: taken off, and refused */
	iov.iov_base = own = malloc(iov.iov_len);
	if (!own)
		return err_code(e, ENOMEM, "control: no memory for a message of %zd bytes", n);
	msg.msg_control = &control;
	msg.msg_controllen = sizeof(control);
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? err_errno(e, "control: receive") : 0;
	*n_fds = gather_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		wire_close(fds, *n_fds);
		return err_code(
			e, EPROTO,
			"control: a packet with more bytes or descriptors than one may have");
	}
	*bytes = take_ptr(&own);
	return n;
}
