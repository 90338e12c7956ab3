/* SPDX-License-Identifier: MIT */
/* ctl.c - both ends of the control socket's protocol; see ctl.h.
 *
 * Each kind of message is described once, by a function that visits its fields in order; the same
 * visit writes or reads, so the two ends cannot drift apart. Reading trusts nothing: whatever does
 * not fit marks the packet as bad, and the rest of the visit does nothing. */
#include "sandbox/ctl.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define NO_STRING UINT32_MAX

/* Where a visit stands in the packet. */
struct wire {
	bool reading, bad;
	const unsigned char *in;
	size_t left;
	struct buf *out;
	int *fds;
	unsigned n_fds; /* reading: how many came; writing: how many so far */
	unsigned next_fd;
};

static void wire_bytes(struct wire *w, void *p, size_t n)
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

#define wire_num(w, p) wire_bytes((w), (p), sizeof(*(p)))

static void wire_bool(struct wire *w, bool *p)
{
	unsigned char byte = *p;

	wire_num(w, &byte);
	if (byte > 1)
		w->bad = true;
	if (w->reading)
		*p = byte == 1;
}

/* Returns how many there are to visit: none where the count is beyond `max`. */
static unsigned wire_count(struct wire *w, unsigned *n, unsigned max)
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
static void wire_fd(struct wire *w, int *fd)
{
	bool present = *fd >= 0;

	wire_bool(w, &present);
	if (!present)
		return;
	if (!w->reading) {
		if (w->n_fds == CTL_FDS_MAX)
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

static void wire_fds(struct wire *w, int *fds, unsigned *n, unsigned max)
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

	if (len > CTL_MESSAGE_MAX) {
		w->bad = true;
		return;
	}
	wire_num(w, &n);
	if (text)
		buf_add(w->out, text, len);
}

/* A text that may be NULL. */
static void wire_maybe(struct wire *w, char **text)
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

static void wire_text(struct wire *w, char **text)
{
	wire_maybe(w, text);
	if (!*text)
		w->bad = true;
}

/* A text in an array of the struct itself. */
static void wire_array(struct wire *w, char *array, size_t size)
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
	list = malloc(bytes);
	if (!list)
		return NULL;
	at = (char *)(list + count + 1);
	for (uint32_t i = 0; i < count; i++) {
		text = peek_text(w, &len);
		memcpy(at, text, len);
		at[len] = '\0';
		list[i] = at;
		at += len + 1;
	}
	list[count] = NULL;
	return list;
}

static void wire_list(struct wire *w, char ***list)
{
	unsigned count = 0;

	while (!w->reading && *list && (*list)[count])
		count++;
	(void)wire_count(w, &count, CTL_STRINGS_MAX); /* beyond it, the packet is bad */
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

static void visit_user(struct wire *w, struct ctl_user *u)
{
	wire_text(w, &u->name);
	wire_text(w, &u->home);
	wire_text(w, &u->shell);
	wire_num(w, &u->uid);
	wire_num(w, &u->gid);
}

static void visit_boot(struct wire *w, struct ctl_message *m)
{
	struct ctl_boot *b = &m->boot;
	unsigned count;

	wire_array(w, b->id, sizeof(b->id));
	wire_array(w, b->key, sizeof(b->key));
	wire_bool(w, &b->exit_on_eof);
	wire_bool(w, &b->root_allowed);
	wire_num(w, &b->root_caps);
	wire_bool(w, &b->single_id);
	wire_num(w, &b->server_uid);
	wire_num(w, &b->server_gid);
	visit_user(w, &b->user);
	wire_text(w, &b->workspace);
	wire_list(w, &b->env);
	wire_num(w, &b->nofile);
	wire_num(w, &b->fsize_bytes);
	wire_num(w, &b->deadline_ms);
	wire_fd(w, &b->filter);
	wire_fds(w, b->work_groups, &b->n_work_groups, ARRAY_LEN(b->work_groups));
	wire_fd(w, &b->work_group_dir);
	wire_fds(w, b->listeners, &b->n_listeners, ARRAY_LEN(b->listeners));
	count = wire_count(w, &b->n_publish, ARRAY_LEN(b->publish));
	for (unsigned i = 0; i < count; i++) {
		wire_fd(w, &b->publish[i].listener);
		wire_num(w, &b->publish[i].port);
		if (b->publish[i].listener < 0)
			w->bad = true;
	}
}

static void visit_start(struct wire *w, struct ctl_message *m)
{
	struct ctl_start *s = &m->start;

	wire_num(w, &s->tag);
	wire_num(w, &s->flags);
	wire_num(w, &s->rows);
	wire_num(w, &s->cols);
	wire_list(w, &s->argv);
	wire_list(w, &s->env);
	wire_maybe(w, &s->cwd);
	wire_fds(w, s->fds, &s->n_fds, ARRAY_LEN(s->fds));
	if (s->flags & ~(uint32_t)(CTL_START_TTY | CTL_START_PIPES | CTL_START_ROOT |
				   CTL_START_HELPER | CTL_START_SHELL))
		w->bad = true;
}

static void visit_signal(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->signal.tag);
	wire_num(w, &m->signal.signal);
	wire_bool(w, &m->signal.group);
	if (m->signal.signal < 0 || m->signal.signal >= NSIG)
		w->bad = true;
}

static void visit_started(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->started.tag);
	wire_num(w, &m->started.pid);
	wire_fds(w, m->started.fds, &m->started.n_fds, ARRAY_LEN(m->started.fds));
}

static void visit_failed(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->failed.tag);
	wire_num(w, &m->failed.code);
	wire_bool(w, &m->failed.exec);
	wire_array(w, m->failed.text, sizeof(m->failed.text));
}

static void visit_exited(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->exited.tag);
	wire_num(w, &m->exited.wait_status);
	wire_num(w, &m->exited.cpu_us);
	wire_num(w, &m->exited.peak_rss_bytes);
}

static void visit_connect(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->connect.tag);
	wire_num(w, &m->connect.port);
}

static void visit_nothing(struct wire *w, struct ctl_message *m)
{
	(void)w; /* END and READY say all by their kind */
	(void)m;
}

static void (*const visits[])(struct wire *, struct ctl_message *) = {
	[CTL_BOOT] = visit_boot,     [CTL_START] = visit_start,	  [CTL_SIGNAL] = visit_signal,
	[CTL_END] = visit_nothing,   [CTL_READY] = visit_nothing, [CTL_STARTED] = visit_started,
	[CTL_FAILED] = visit_failed, [CTL_EXITED] = visit_exited, [CTL_CONNECT] = visit_connect,
};

static bool kind_is_known(unsigned kind)
{
	return kind < ARRAY_LEN(visits) && visits[kind];
}

int ctl_encode(const struct ctl_message *m, struct buf *out, int fds[CTL_FDS_MAX], unsigned *n_fds,
	       struct err *e)
{
	struct wire w = { .out = out, .fds = fds };
	unsigned char head[2] = { CTL_VERSION, (unsigned char)m->kind };

	if (!kind_is_known(m->kind))
		return err_code(e, EINVAL, "control: no message of kind %d", (int)m->kind);
	wire_bytes(&w, head, sizeof(head));
	/* A visit that writes changes nothing in the message. */
	visits[m->kind](&w, (struct ctl_message *)(uintptr_t)m);
	if (buf_check(out, e) < 0)
		return err_wrap(e, "control: message %d", (int)m->kind);
	if (w.bad)
		return err_code(e, EINVAL, "control: message %d is incomplete or beyond its limits",
				(int)m->kind);
	if (out->len > CTL_MESSAGE_MAX)
		return err_code(e, EMSGSIZE,
				"control: message %d of %zu bytes (arguments and environment) is "
				"larger than %u",
				(int)m->kind, out->len, CTL_MESSAGE_MAX);
	*n_fds = w.n_fds;
	return 0;
}

/* An empty message of this kind: nothing to free, no descriptor. */
static void message_init(struct ctl_message *m, enum ctl_kind kind)
{
	*m = (struct ctl_message) { .kind = kind };
	if (kind == CTL_BOOT) {
		m->boot.filter = m->boot.work_group_dir = -1;
		memset(m->boot.work_groups, -1, sizeof(m->boot.work_groups));
		memset(m->boot.listeners, -1, sizeof(m->boot.listeners));
		for (unsigned i = 0; i < ARRAY_LEN(m->boot.publish); i++)
			m->boot.publish[i].listener = -1;
	} else if (kind == CTL_START) {
		memset(m->start.fds, -1, sizeof(m->start.fds));
	} else if (kind == CTL_STARTED) {
		memset(m->started.fds, -1, sizeof(m->started.fds));
	}
}

int ctl_decode(const void *bytes, size_t len, int *fds, unsigned n_fds, struct ctl_message *m,
	       struct err *e)
{
	struct wire w = { .reading = true, .in = bytes, .left = len, .fds = fds, .n_fds = n_fds };
	unsigned char head[2] = { 0 };

	if (len > CTL_MESSAGE_MAX)
		return err_code(e, EPROTO, "control: a packet of %zu bytes", len);
	wire_bytes(&w, head, sizeof(head));
	if (w.bad || head[0] != CTL_VERSION || !kind_is_known(head[1]))
		return err_code(e, EPROTO, "control: not a message of version %d", CTL_VERSION);
	message_init(m, (enum ctl_kind)head[1]);
	visits[m->kind](&w, m);
	if (w.bad || w.left || w.next_fd != n_fds) {
		ctl_message_clear(m);
		return err_code(e, EPROTO, "control: malformed message of kind %d", (int)head[1]);
	}
	return 0;
}

static void close_all(int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		drop_fd(&fds[i]);
}

static void boot_clear(struct ctl_boot *b)
{
	explicit_bzero(b->key, sizeof(b->key));
	free(b->user.name);
	free(b->user.home);
	free(b->user.shell);
	free(b->workspace);
	free(b->env);
	drop_fd(&b->filter);
	drop_fd(&b->work_group_dir);
	close_all(b->work_groups, ARRAY_LEN(b->work_groups));
	close_all(b->listeners, ARRAY_LEN(b->listeners));
	for (unsigned i = 0; i < ARRAY_LEN(b->publish); i++)
		drop_fd(&b->publish[i].listener);
}

void ctl_message_clear(struct ctl_message *m)
{
	if (m->kind == CTL_BOOT) {
		boot_clear(&m->boot);
	} else if (m->kind == CTL_START) {
		free(m->start.argv);
		free(m->start.env);
		free(m->start.cwd);
		close_all(m->start.fds, ARRAY_LEN(m->start.fds));
	} else if (m->kind == CTL_STARTED) {
		close_all(m->started.fds, ARRAY_LEN(m->started.fds));
	}
	*m = (struct ctl_message) { 0 }; /* no kind: clearing twice does nothing */
}

int ctl_pair(int *host, int *other, struct err *e)
{
	int pair[2], room = CTL_MESSAGE_MAX;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "control: socketpair");
	/* The default admits less than our largest message; where the host's limit is lower still,
	 * a large one fails by itself, with its size. */
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*host = pair[0];
	*other = pair[1];
	return 0;
}

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int) * CTL_FDS_MAX)];
};

static ssize_t send_packet(int fd, const struct buf *bytes, const int *fds, unsigned n_fds)
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

int ctl_send(int fd, const struct ctl_message *m, struct err *e)
{
	struct buf bytes = { .limit = 2 * CTL_MESSAGE_MAX };
	int fds[CTL_FDS_MAX], ret;
	unsigned n_fds = 0;

	ret = ctl_encode(m, &bytes, fds, &n_fds, e);
	if (ret == 0 && send_packet(fd, &bytes, fds, n_fds) < 0)
		ret = err_errno(e, "control: send message %d", (int)m->kind);
	if (bytes.data)
		explicit_bzero(bytes.data, bytes.len); /* it may have held the key */
	buf_clear(&bytes);
	return ret;
}

/* Keep the descriptors of a packet; those of a second control message are closed at once. */
static unsigned gather_fds(struct msghdr *msg, int fds[CTL_FDS_MAX])
{
	unsigned n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		unsigned count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < CTL_FDS_MAX)
				fds[n++] = fd;
			else
				(void)close(fd);
		}
	}
	return n;
}

/* The length of the next packet, waiting for it unless the socket is non-blocking. Packets are
 * small, mostly: only as much memory is taken as this one needs. */
static ssize_t next_length(int fd, struct err *e)
{
	ssize_t n;

	do {
		n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ECONNRESET)
		return 0; /* the peer ended with something of ours unread: an end all the same */
	return n < 0 ? err_errno(e, "control: receive") : n;
}

int ctl_receive(int fd, struct ctl_message *m, struct err *e)
{
	union control control;
	struct iovec iov = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[CTL_FDS_MAX], ret;
	autofree char *bytes = NULL;
	unsigned n_fds;
	ssize_t n = next_length(fd, e);

	if (n <= 0)
		return (int)n;
	iov.iov_len = (size_t)n <= CTL_MESSAGE_MAX ? (size_t)n
						   : 1; /* too large: taken off, and refused */
	iov.iov_base = bytes = malloc(iov.iov_len);
	if (!bytes)
		return err_code(e, ENOMEM, "control: no memory for a message of %zd bytes", n);
	msg.msg_control = &control;
	msg.msg_controllen = sizeof(control);
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? err_errno(e, "control: receive") : 0;
	n_fds = gather_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		ret = err_code(
			e, EPROTO,
			"control: a packet with more bytes or descriptors than one may have");
	else
		ret = ctl_decode(bytes, (size_t)n, fds, n_fds, m, e);
	explicit_bzero(bytes, (size_t)n);
	close_all(fds, n_fds);
	return ret < 0 ? ret : 1;
}
