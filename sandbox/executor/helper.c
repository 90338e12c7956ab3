/* SPDX-License-Identifier: MIT */
/* helper.c - see helper.h. A request is a head, the path and the content; a reply is a head and
 * what was read. Both processes are the same program, so heads travel as they are in memory. */
#include "sandbox/executor/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

struct request_head {
	uint32_t op, given_absolute;
	int64_t start, end;
	uint64_t path_len, content_len;
};

struct reply_head {
	int32_t status, code;
	uint64_t len;
};

enum {
	PATH_BYTES_MAX = 64 * 1024,   /* the kernel refuses far shorter ones, in its own words */
	CONTENT_BYTES_MAX = 64 << 20, /* a request's body is smaller */
	REPLY_BYTES_MAX = 2 * FILE_BYTES_MAX, /* base64 takes a third more */
	READ_BYTES = 16384,
};

/* --- the server's end ------------------------------------------------------------------------ */

static void socket_ready(struct source *source, uint32_t events);
static void answered(struct proc *p, struct ctl_message *m);
static void impatient(struct timer *timer);

void helper_init(struct helper *h, struct procs *procs, uint64_t patience_ms)
{
	*h = (struct helper) { .procs = procs, .patience_ms = patience_ms };
	h->proc.answer = answered;
	h->socket = (struct source) { .fd = -1, .events = EPOLLIN, .ready = socket_ready };
	h->timer.fire = impatient;
}

static void let_go(struct helper *h)
{
	procs_forget(h->procs, &h->proc);
	loop_remove(h->procs->loop, &h->socket);
	drop_fd(&h->socket.fd);
	h->socket.events = EPOLLIN;
}

static void rest(struct helper *h)
{
	loop_disarm(h->procs->loop, &h->timer);
	buf_clear(&h->out);
	buf_clear(&h->in);
	h->busy = false;
}

static void fail(struct helper *h, const struct err *why)
{
	bool was_busy = h->busy;

	let_go(h);
	rest(h);
	if (was_busy)
		h->failed(h, why);
}

static void impatient(struct timer *timer)
{
	struct helper *h = container_of(timer, struct helper, timer);
	struct err e = { 0 };

	procs_signal(h->procs, &h->proc, SIGKILL, false);
	(void)err_code(&e, ETIMEDOUT, "the file could not be reached in time");
	fail(h, &e);
}

static void send_out(struct helper *h)
{
	ssize_t n = write(h->socket.fd, h->out.data, h->out.len);

	if (n > 0) {
		h->out.len -= (size_t)n;
		memmove(h->out.data, h->out.data + n, h->out.len);
	}
	/* An error is seen as the end of its socket, next. */
	if (!h->out.len)
		buf_clear(&h->out);
	loop_want(h->procs->loop, &h->socket, h->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static int start(struct helper *h, struct err *e)
{
	struct ctl_message m = { .kind = CTL_START, .start = { .flags = CTL_START_HELPER } };
	static const char *const none[] = { NULL };

	m.start.argv = m.start.env = (char **)(uintptr_t)none;
	m.start.cwd = (char *)(uintptr_t) "/";
	if (h->proc.asked)
		return 0;
	return procs_ask(h->procs, &h->proc, &m, e);
}

void helper_ask(struct helper *h, const struct file_request *r)
{
	struct request_head head = { .op = r->op,
				     .given_absolute = r->given_absolute,
				     .start = r->start,
				     .end = r->end,
				     .path_len = strlen(r->path),
				     .content_len = r->content_len };
	struct err e = { 0 };

	h->busy = true;
	h->out.limit = CONTENT_BYTES_MAX + PATH_BYTES_MAX + sizeof(head);
	buf_add(&h->out, &head, sizeof(head));
	buf_add(&h->out, r->path, head.path_len);
	buf_add(&h->out, r->content, r->content_len);
	if (buf_check(&h->out, &e) < 0 || (h->socket.fd < 0 && start(h, &e) < 0)) {
		fail(h, &e);
		return;
	}
	loop_arm(h->procs->loop, &h->timer, loop_now() + h->patience_ms);
	if (h->socket.fd >= 0)
		send_out(h);
}

static void answered(struct proc *p, struct ctl_message *m)
{
	struct helper *h = container_of(p, struct helper, proc);
	struct err e = { 0 };

	if (m->kind == CTL_FAILED) {
		(void)err_code(&e, m->failed.code, "%s", m->failed.text);
		fail(h, &e);
		return;
	}
	if (m->kind == CTL_EXITED || m->started.n_fds != 1) {
		(void)err_code(&e, ECHILD, "the process that reaches files was killed");
		fail(h, &e);
		return;
	}
	h->socket.fd = take_fd(&m->started.fds[0]);
	if (fcntl(h->socket.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    loop_add(h->procs->loop, &h->socket, &e) < 0) {
		(void)err_code(&e, EIO, "the process that reaches files cannot be heard");
		fail(h, &e);
		return;
	}
	if (h->busy)
		send_out(h);
}

static void take_reply(struct helper *h)
{
	struct reply_head head;
	struct file_outcome outcome;
	struct buf content;
	struct err e = { 0 };

	if (h->in.len < sizeof(head))
		return;
	memcpy(&head, h->in.data, sizeof(head));
	if (!h->busy || head.status < 0 || head.status >= FILE_STATUSES ||
	    head.len > REPLY_BYTES_MAX || h->in.len > sizeof(head) + head.len) {
		procs_signal(h->procs, &h->proc, SIGKILL, false);
		(void)err_code(&e, EPROTO, "the process that reaches files speaks nonsense");
		fail(h, &e);
		return;
	}
	if (h->in.len < sizeof(head) + head.len)
		return;
	outcome = (struct file_outcome) { .status = (enum file_status)head.status,
					  .code = head.code };
	content = h->in;
	h->in = (struct buf) { 0 };
	content.len -= sizeof(head);
	memmove(content.data, content.data + sizeof(head), content.len + 1);
	rest(h);
	h->done(h, &outcome, &content);
	buf_clear(&content);
}

static void socket_ready(struct source *source, uint32_t events)
{
	struct helper *h = container_of(source, struct helper, socket);
	char bytes[READ_BYTES];
	struct err e = { 0 };
	ssize_t n;

	if (events & EPOLLOUT && h->out.len)
		send_out(h);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = read(source->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		(void)err_code(&e, ECHILD, "the process that reaches files was killed");
		fail(h, &e);
		return;
	}
	h->in.limit = REPLY_BYTES_MAX + sizeof(struct reply_head) + READ_BYTES;
	buf_add(&h->in, bytes, (size_t)n);
	take_reply(h);
}

/* --- the process ----------------------------------------------------------------------------- */

/* NUL-terminated; NULL where there is no memory for it, or the other end went away. */
static char *take_bytes(int fd, uint64_t len)
{
	struct err e = { 0 };
	char *bytes = malloc(len + 1);

	if (!bytes)
		return NULL;
	if (io_read_full(fd, bytes, len, &e) != (ssize_t)len) {
		free(bytes);
		return NULL;
	}
	bytes[len] = '\0';
	return bytes;
}

/* One request. Returns whether to go on; without memory a new process does better. */
static bool serve(int fd)
{
	struct buf content = { .limit = REPLY_BYTES_MAX };
	struct reply_head reply = { 0 };
	struct request_head head;
	struct file_request request;
	struct file_outcome outcome;
	autofree char *path = NULL, *text = NULL;
	struct err e = { 0 };
	bool sent;

	if (io_read_full(fd, &head, sizeof(head), &e) != (ssize_t)sizeof(head))
		return false;
	if (head.op >= FILE_OPS || head.path_len > PATH_BYTES_MAX ||
	    head.content_len > CONTENT_BYTES_MAX)
		return false;
	path = take_bytes(fd, head.path_len);
	text = path ? take_bytes(fd, head.content_len) : NULL;
	if (!text)
		return false;
	request = (struct file_request) { .op = (enum file_op)head.op,
					  .given_absolute = head.given_absolute,
					  .start = head.start,
					  .end = head.end,
					  .path = path,
					  .content = text,
					  .content_len = head.content_len };
	outcome = file_do(&request, &content);
	if (content.failed)
		outcome = (struct file_outcome) { .status = FILE_TOO_LARGE };
	reply.status = (int32_t)outcome.status;
	reply.code = outcome.code;
	reply.len = outcome.status == FILE_OK ? content.len : 0;
	sent = io_write_all(fd, &reply, sizeof(reply), &e) == 0 &&
	       io_write_all(fd, buf_str(&content), reply.len, &e) == 0;
	buf_clear(&content);
	return sent;
}

void helper_main(int socket)
{
	/* A limit on the size of files, and a server that went away, are told as errors. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	while (serve(socket))
		;
	_exit(0);
}
