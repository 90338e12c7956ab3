/* SPDX-License-Identifier: MIT */
/* sudo.c - both ends of the protocol of `sudo` inside; see sudo.h.
 *
 * A packet begins with a byte that says whether more of the same message follow: what the kernel
 * takes as one packet is less than what a command line may have. */
#include "sandbox/sudo.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#define SUDO_VERSION 1
#define PACKET_MAX (32u * 1024)

enum { LAST, MORE };

socklen_t sudo_address(enum sudo_door door, struct sockaddr_un *address)
{
	static const char *const names[SUDO_DOORS] = { "ohsandbox/sudo/root",
						       "ohsandbox/sudo/user" };
	size_t len = strlen(names[door]);

	/* A first byte of zero: no file that somebody could put another one in the place of. */
	*address = (struct sockaddr_un) { .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, names[door], len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static void visit_terminal(struct wire *w, struct sudo_terminal *t)
{
	wire_num(w, &t->rows);
	wire_num(w, &t->cols);
	wire_num(w, &t->iflag);
	wire_num(w, &t->oflag);
	wire_num(w, &t->cflag);
	wire_num(w, &t->lflag);
	wire_bytes(w, t->cc, sizeof(t->cc));
}

static void visit_request(struct wire *w, struct sudo_message *m)
{
	struct sudo_request *r = &m->request;

	wire_num(w, &r->uid);
	wire_num(w, &r->flags);
	wire_num(w, &r->umask);
	wire_num(w, &r->ignored);
	visit_terminal(w, &r->terminal);
	wire_maybe(w, &r->program);
	wire_list(w, &r->argv, SUDO_STRINGS_MAX);
	wire_list(w, &r->env, SUDO_STRINGS_MAX);
	wire_maybe(w, &r->cwd);
	for (size_t i = 0; i < ARRAY_LEN(r->fds); i++)
		wire_fd(w, &r->fds[i]);
	wire_fd(w, &r->dir);
	if (r->flags & ~(uint32_t)(SUDO_TTY | SUDO_FOREGROUND | SUDO_ASK | SUDO_TRY_CWD) ||
	    r->umask > 0777)
		w->bad = true;
}

static void visit_signal(struct wire *w, struct sudo_message *m)
{
	wire_num(w, &m->signal);
	if (m->signal < 1 || m->signal >= NSIG)
		w->bad = true;
}

static void visit_go_on(struct wire *w, struct sudo_message *m)
{
	wire_bool(w, &m->foreground);
}

static void visit_started(struct wire *w, struct sudo_message *m)
{
	wire_num(w, &m->started.pid);
	wire_fd(w, &m->started.terminal);
	if (m->started.pid < 0)
		w->bad = true;
}

static void visit_failed(struct wire *w, struct sudo_message *m)
{
	wire_num(w, &m->failed.code);
	wire_bool(w, &m->failed.stranger);
	wire_array(w, m->failed.text, sizeof(m->failed.text));
}

static void visit_ended(struct wire *w, struct sudo_message *m)
{
	wire_num(w, &m->wait_status);
}

static void (*const visits[])(struct wire *, struct sudo_message *) = {
	[SUDO_REQUEST] = visit_request, [SUDO_SIGNAL] = visit_signal, [SUDO_GO_ON] = visit_go_on,
	[SUDO_STARTED] = visit_started, [SUDO_FAILED] = visit_failed, [SUDO_STOPPED] = visit_signal,
	[SUDO_ENDED] = visit_ended,
};

static bool kind_is_known(unsigned kind)
{
	return kind < ARRAY_LEN(visits) && visits[kind];
}

int sudo_encode(const struct sudo_message *m, struct buf *out, int fds[WIRE_FDS_MAX],
		unsigned *n_fds, struct err *e)
{
	struct wire w = { .out = out, .fds = fds };
	unsigned char head[2] = { SUDO_VERSION, (unsigned char)m->kind };

	if (!kind_is_known(m->kind))
		return err_code(e, EINVAL, "no message of kind %d", (int)m->kind);
	wire_bytes(&w, head, sizeof(head));
	/* A visit that writes changes nothing in the message. */
	visits[m->kind](&w, (struct sudo_message *)(uintptr_t)m);
	if (out->failed || out->len > SUDO_REQUEST_MAX)
		return err_code(e, E2BIG, "arguments and environment are more than %u bytes",
				SUDO_REQUEST_MAX);
	if (w.bad)
		return err_code(e, E2BIG, "more than %d arguments or variables", SUDO_STRINGS_MAX);
	*n_fds = w.n_fds;
	return 0;
}

/* An empty message of this kind: nothing to free, no descriptor. */
static void message_init(struct sudo_message *m, enum sudo_kind kind)
{
	*m = (struct sudo_message) { .kind = kind };
	if (kind == SUDO_REQUEST) {
		memset(m->request.fds, -1, sizeof(m->request.fds));
		m->request.dir = -1;
	} else if (kind == SUDO_STARTED) {
		m->started.terminal = -1;
	}
}

int sudo_decode(const void *bytes, size_t len, int *fds, unsigned n_fds, struct sudo_message *m,
		struct err *e)
{
	struct wire w = { .reading = true, .in = bytes, .left = len, .fds = fds, .n_fds = n_fds };
	unsigned char head[2] = { 0 };

	wire_bytes(&w, head, sizeof(head));
	if (len > SUDO_REQUEST_MAX || w.bad || head[0] != SUDO_VERSION || !kind_is_known(head[1]))
		return err_code(e, EPROTO, "not a message of version %d", SUDO_VERSION);
	message_init(m, (enum sudo_kind)head[1]);
	visits[m->kind](&w, m);
	if (w.bad || w.left || w.next_fd != n_fds) {
		sudo_message_clear(m);
		return err_code(e, EPROTO, "malformed message of kind %d", (int)head[1]);
	}
	return 0;
}

void sudo_message_clear(struct sudo_message *m)
{
	if (m->kind == SUDO_REQUEST) {
		free(m->request.program);
		free(m->request.argv);
		free(m->request.env);
		free(m->request.cwd);
		wire_close(m->request.fds, ARRAY_LEN(m->request.fds));
		drop_fd(&m->request.dir);
	} else if (m->kind == SUDO_STARTED) {
		drop_fd(&m->started.terminal);
	}
	*m = (struct sudo_message) { 0 };
}

/* The descriptors go with the first packet. */
int sudo_send(int fd, const struct sudo_message *m, struct err *e)
{
	autobuf struct buf whole = { .limit = SUDO_REQUEST_MAX }, packet = { 0 };
	int fds[WIRE_FDS_MAX];
	unsigned n_fds = 0;

	if (sudo_encode(m, &whole, fds, &n_fds, e) < 0)
		return -e->code;
	for (size_t at = 0; at < whole.len; at += PACKET_MAX) {
		size_t len = whole.len - at < PACKET_MAX ? whole.len - at : PACKET_MAX;

		buf_reset(&packet);
		buf_putc(&packet, at + len < whole.len ? MORE : LAST);
		buf_add(&packet, whole.data + at, len);
		if (buf_check(&packet, e) < 0)
			return -e->code;
		if (wire_send(fd, &packet, fds, at ? 0 : n_fds) < 0)
			return err_errno(e, "send");
	}
	return 0;
}

/* One packet's bytes, behind those that came before; descriptors come with the first alone. 1, or 0
 * at end-of-file; *more as it says. */
static int receive_part(int fd, struct buf *whole, int *fds, unsigned *n_fds, bool *more,
			struct err *e)
{
	unsigned max = whole->len ? 0 : SUDO_FDS_MAX, n_came = 0;
	int came[WIRE_FDS_MAX];
	autofree char *bytes = NULL;
	ssize_t n = wire_receive(fd, PACKET_MAX + 1, &bytes, came, &n_came, e);

	if (n <= 0)
		return (int)n;
	*more = bytes[0] == MORE;
	/* One with nothing in it would let a sender go on for ever. */
	if (n_came > max || n < 2 || (unsigned char)bytes[0] > MORE) {
		wire_close(came, n_came);
		return err_code(e, EPROTO, "malformed packet");
	}
	buf_add(whole, bytes + 1, (size_t)n - 1);
	memcpy(fds + *n_fds, came, n_came * sizeof(*fds));
	*n_fds += n_came;
	return buf_check(whole, e) < 0 ? -e->code : 1;
}

static int decode_whole(const struct buf *whole, int *fds, unsigned n_fds, struct sudo_message *m,
			struct err *e)
{
	int ret = sudo_decode(buf_str(whole), whole->len, fds, n_fds, m, e);

	wire_close(fds, n_fds);
	return ret < 0 ? ret : 1;
}

int sudo_receive(int fd, struct sudo_message *m, struct err *e)
{
	autobuf struct buf whole = { .limit = PACKET_MAX };
	int fds[SUDO_FDS_MAX], ret;
	unsigned n_fds = 0;
	bool more = false;

	ret = receive_part(fd, &whole, fds, &n_fds, &more, e);
	if (ret > 0 && more)
		ret = err_code(e, EPROTO, "a message in parts");
	if (ret > 0)
		return decode_whole(&whole, fds, n_fds, m, e);
	wire_close(fds, n_fds);
	return ret;
}

int sudo_receive_request(int fd, struct sudo_message *m, struct err *e)
{
	autobuf struct buf whole = { .limit = SUDO_REQUEST_MAX };
	int fds[SUDO_FDS_MAX], ret;
	unsigned n_fds = 0;
	bool more = true;

	do {
		ret = receive_part(fd, &whole, fds, &n_fds, &more, e);
	} while (ret > 0 && more);
	if (ret <= 0) {
		wire_close(fds, n_fds);
		return ret;
	}
	ret = decode_whole(&whole, fds, n_fds, m, e);
	if (ret > 0 && m->kind != SUDO_REQUEST) {
		sudo_message_clear(m);
		return err_code(e, EPROTO, "not a request");
	}
	return ret;
}
