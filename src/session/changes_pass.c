/* SPDX-License-Identifier: MIT */
/* changes_pass.c - a change as one packet of a SOCK_SEQPACKET, its files as descriptors with it. */
#include <string.h>
#include <sys/socket.h>

#include "session/changes_parts.h"

/* Both ends are the same program; the texts follow, each with its NUL. */
struct head {
	struct change c;
	bool has_before, has_after, has_link_before, has_link_after;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static size_t add(char *to, size_t at, size_t size, const void *bytes, size_t len)
{
	if (at > size || len > size - at)
		return size + 1;
	memcpy(to + at, bytes, len);
	return at + len;
}

static size_t add_text(char *to, size_t at, size_t size, const char *text)
{
	return text ? add(to, at, size, text, strlen(text) + 1) : at;
}

static void attach(struct msghdr *m, union control *room, const struct change *c)
{
	int fds[2], n = 0;
	struct cmsghdr *h;

	if (c->before >= 0)
		fds[n++] = c->before;
	if (c->after >= 0)
		fds[n++] = c->after;
	if (!n)
		return;
	m->msg_control = room->bytes;
	m->msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	h = CMSG_FIRSTHDR(m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(h), fds, (size_t)n * sizeof(int));
}

int change_send(int fd, const struct change *c, struct err *e)
{
	struct change_packet p;
	struct head h = { .c = *c,
			  .has_before = c->before >= 0,
			  .has_after = c->after >= 0,
			  .has_link_before = c->link_before,
			  .has_link_after = c->link_after };
	struct iovec v = { .iov_base = p.bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	union control room = { 0 };
	size_t n;

	n = add(p.bytes, 0, sizeof(p.bytes), &h, sizeof(h));
	n = add_text(p.bytes, n, sizeof(p.bytes), c->path);
	n = add_text(p.bytes, n, sizeof(p.bytes), c->link_before);
	n = add_text(p.bytes, n, sizeof(p.bytes), c->link_after);
	if (n > sizeof(p.bytes))
		return err_code(e, EMSGSIZE, "'%.80s...' is too long to be passed on", c->path);
	v.iov_len = n;
	attach(&m, &room, c);
	while (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return err_errno(e, "pass a change on");
	return 0;
}

static const char *next_text(const struct change_packet *p, size_t len, size_t *at)
{
	const char *text = p->bytes + *at;
	const char *end = *at < len ? memchr(text, '\0', len - *at) : NULL;

	if (!end)
		return NULL;
	*at = (size_t)(end + 1 - p->bytes);
	return text;
}

static void detach(struct msghdr *m, struct change *out, const struct head *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fds[2] = { -1, -1 }, next = 0;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c),
		       c->cmsg_len - CMSG_LEN(0) <= sizeof(fds) ? c->cmsg_len - CMSG_LEN(0) : 0);
	out->before = h->has_before ? fds[next++] : -1;
	out->after = h->has_after ? fds[next++] : -1;
}

int change_receive(int fd, struct change_packet *room, struct change *out, struct err *e)
{
	struct iovec v = { .iov_base = room->bytes, .iov_len = sizeof(room->bytes) };
	union control control = { 0 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	size_t at = sizeof(struct head);
	struct head h;
	ssize_t n;

	do {
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? err_errno(e, "receive a change") : 0;
	if ((size_t)n < sizeof(h) || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return err_code(e, EPROTO, "a change arrived in pieces");
	memcpy(&h, room->bytes, sizeof(h));
	*out = h.c;
	detach(&m, out, &h);
	out->path = next_text(room, (size_t)n, &at);
	out->link_before = h.has_link_before ? next_text(room, (size_t)n, &at) : NULL;
	out->link_after = h.has_link_after ? next_text(room, (size_t)n, &at) : NULL;
	return out->path ? 1 : err_code(e, EPROTO, "a change arrived without its path");
}
