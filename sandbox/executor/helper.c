/* SPDX-License-Identifier: MIT */
/* helper.c - see helper.h. A request is a head and its texts, a reply a head and what is given,
 * each followed by a NUL. Both processes are the same program, so heads travel as they are in
 * memory. */
#include "sandbox/executor/helper.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"

#define NO_TEXT UINT64_MAX

struct request_head {
	uint32_t op, flags;
	int64_t start, end;
	uint64_t len[FILE_PARTS]; /* NO_TEXT where there is none */
};

struct reply_head {
	int32_t status, code, past;
	uint64_t len[FILE_GIVES];
};

enum {
	REQUEST_BYTES_MAX = 80 << 20,	      /* a request's body is smaller */
	REPLY_BYTES_MAX = 2 * FILE_BYTES_MAX, /* base64 takes a third more */
	READ_BYTES = 64 * 1024,
	NUDGE_FIRST_MS = 50, /* far beyond what a small file takes */
	NUDGE_MAX_MS = 1000,
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
	if (h->socket.fd >= 0)
		loop_remove(h->procs->loop, &h->socket);
	drop_fd(&h->socket.fd);
	h->socket.events = EPOLLIN;
}

static void rest(struct helper *h)
{
	loop_disarm(h->procs->loop, &h->timer);
	buf_clear(&h->head);
	file_reply_clear(&h->reply);
	h->request = (struct file_request) { .op = FILE_READ };
	h->sent = h->part = 0;
	h->busy = h->repeated = false;
}

static void fail(struct helper *h, const struct err *why)
{
	bool was_busy = h->busy;

	let_go(h);
	rest(h);
	if (was_busy)
		h->failed(h, why);
}

static void nudge_later(struct helper *h)
{
	uint64_t at = loop_time(h->procs->loop) + h->nudge_ms;

	loop_arm(h->procs->loop, &h->timer, at < h->give_up_ms ? at : h->give_up_ms);
	if (h->nudge_ms < NUDGE_MAX_MS)
		h->nudge_ms *= 2;
}

/* The workload may have stopped it, with SIGSTOP. To a process that runs SIGCONT is nothing. */
static void impatient(struct timer *timer)
{
	struct helper *h = container_of(timer, struct helper, timer);
	struct err e = { 0 };

	if (loop_time(h->procs->loop) < h->give_up_ms) {
		procs_signal(h->procs, &h->proc, SIGCONT, false);
		nudge_later(h);
		return;
	}
	procs_signal(h->procs, &h->proc, SIGKILL, false);
	(void)err_code(&e, ETIMEDOUT, "the file could not be reached in time");
	fail(h, &e);
}

/* What is still to be sent of head and texts. Returns the number of pieces. */
static int pieces(const struct helper *h, struct request_head *head, struct iovec *out)
{
	const struct file_request *r = &h->request;
	size_t skip = h->sent;
	int n = 0;

	*head = (struct request_head) { r->op, r->flags, r->start, r->end, { 0 } };
	out[n++] = (struct iovec) { .iov_base = head, .iov_len = sizeof(*head) };
	for (int i = 0; i < FILE_PARTS; i++) {
		head->len[i] = r->part[i].at ? r->part[i].len : NO_TEXT;
		if (r->part[i].at)
			out[n++] = (struct iovec) { (void *)(uintptr_t)r->part[i].at,
						    r->part[i].len + 1 };
	}
	for (int i = 0; i < n; i++) {
		size_t here = skip < out[i].iov_len ? skip : out[i].iov_len;

		out[i].iov_base = (char *)out[i].iov_base + here;
		out[i].iov_len -= here;
		skip -= here;
	}
	return n;
}

static size_t request_bytes(const struct file_request *r)
{
	size_t n = sizeof(struct request_head);

	for (int i = 0; i < FILE_PARTS; i++)
		if (r->part[i].at)
			n += r->part[i].len + 1;
	return n;
}

static bool all_sent(const struct helper *h)
{
	return h->sent == request_bytes(&h->request);
}

static void send_out(struct helper *h)
{
	struct iovec iov[1 + FILE_PARTS];
	struct request_head head;
	int count = pieces(h, &head, iov);
	ssize_t n = writev(h->socket.fd, iov, count);

	/* An error is seen as the end of its socket, next. */
	if (n > 0)
		h->sent += (size_t)n;
	loop_want(h->procs->loop, &h->socket, all_sent(h) ? EPOLLIN : EPOLLIN | EPOLLOUT);
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

static void begin(struct helper *h)
{
	struct err e = { 0 };

	if (h->socket.fd < 0 && start(h, &e) < 0)
		fail(h, &e);
	else if (h->socket.fd >= 0)
		send_out(h);
}

void helper_ask(struct helper *h, const struct file_request *r)
{
	struct err e = { 0 };

	h->busy = true;
	h->request = *r;
	if (request_bytes(r) > REQUEST_BYTES_MAX) {
		(void)err_code(&e, EFBIG, "a request of %zu bytes is too large", request_bytes(r));
		fail(h, &e);
		return;
	}
	h->give_up_ms = loop_time(h->procs->loop) + h->patience_ms;
	h->nudge_ms = NUDGE_FIRST_MS;
	nudge_later(h);
	begin(h);
}

/* It is gone. `unread`: what we sent was not all read, so nothing was begun. */
static void lost(struct helper *h, bool unread)
{
	bool again = h->busy && !h->repeated &&
		     (unread || !all_sent(h) || h->request.flags & FILE_ONLY_READS);
	struct err e = { 0 };

	(void)err_code(&e, ECHILD, "the process that reaches files was killed");
	if (!again) {
		fail(h, &e);
		return;
	}
	let_go(h);
	buf_clear(&h->head);
	file_reply_clear(&h->reply);
	h->sent = h->part = 0;
	h->repeated = true;
	begin(h);
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
	if (m->kind == CTL_EXITED) {
		/* Its socket tells more: a reply, or how much of the request was read. */
		if (h->socket.fd < 0)
			lost(h, true);
		return;
	}
	if (m->started.n_fds == 1)
		h->socket.fd = take_fd(&m->started.fds[0]);
	if (h->socket.fd < 0 || fcntl(h->socket.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    loop_add(h->procs->loop, &h->socket, &e) < 0) {
		(void)err_code(&e, EIO, "the process that reaches files cannot be heard");
		fail(h, &e);
		return;
	}
	if (h->busy)
		send_out(h);
}

static void nonsense(struct helper *h)
{
	struct err e = { 0 };

	procs_signal(h->procs, &h->proc, SIGKILL, false);
	(void)err_code(&e, EPROTO, "the process that reaches files speaks nonsense");
	fail(h, &e);
}

static bool head_is_sound(const struct reply_head *head)
{
	if (head->status < 0 || head->status >= FILE_STATUSES || head->past < 0 ||
	    head->past >= FILE_PASTS)
		return false;
	for (int i = 0; i < FILE_GIVES; i++)
		if (head->len[i] > REPLY_BYTES_MAX)
			return false;
	return true;
}

/* Bytes of the reply. Returns how many belong to it, or -1 where it is none. */
static ssize_t take_bytes(struct helper *h, const char *bytes, size_t len)
{
	struct reply_head head = { 0 };
	size_t used = 0, n;

	if (h->head.len < sizeof(head)) {
		n = sizeof(head) - h->head.len;
		used = n < len ? n : len;
		buf_add(&h->head, bytes, used);
		if (h->head.len < sizeof(head))
			return (ssize_t)used;
	}
	memcpy(&head, buf_str(&h->head), sizeof(head));
	if (!head_is_sound(&head))
		return -1;
	h->reply.status = (enum file_status)head.status;
	h->reply.code = head.code;
	h->reply.past = (enum file_past)head.past;
	for (; h->part < FILE_GIVES; h->part++) {
		struct buf *b = &h->reply.gives[h->part];

		b->limit = REPLY_BYTES_MAX;
		n = head.len[h->part] - b->len;
		n = n < len - used ? n : len - used;
		buf_add(b, bytes + used, n);
		used += n;
		if (b->failed)
			return -1;
		if (b->len < head.len[h->part])
			break;
	}
	return (ssize_t)used;
}

static void heard(struct helper *h, const char *bytes, size_t len)
{
	ssize_t used = h->busy && all_sent(h) ? take_bytes(h, bytes, len) : -1;
	struct file_reply reply;

	/* One reply at a time, so nothing may stand behind it. */
	if (used < 0 || (size_t)used < len) {
		nonsense(h);
		return;
	}
	if (h->part < FILE_GIVES)
		return;
	reply = h->reply;
	h->reply = (struct file_reply) { .status = FILE_OK };
	rest(h);
	h->done(h, &reply);
	file_reply_clear(&reply);
}

static void socket_ready(struct source *source, uint32_t events)
{
	struct helper *h = container_of(source, struct helper, socket);
	char bytes[READ_BYTES];
	ssize_t n;

	if (events & EPOLLOUT && h->busy)
		send_out(h);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = read(source->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		lost(h,
		     n < 0); /* the kernel resets a connection that was closed before it was read */
	else
		heard(h, bytes, (size_t)n);
}

/* --- the process ----------------------------------------------------------------------------- */

/* All texts of a request in one piece of memory, each followed by a NUL; NULL where there is no
 * memory for it, the other end went away, or it is no request. */
static char *take_texts(int fd, const struct request_head *head, struct file_request *r)
{
	uint64_t total = 0, at = 0;
	struct err e = { 0 };
	char *bytes;

	for (int i = 0; i < FILE_PARTS; i++) {
		if (head->len[i] == NO_TEXT)
			continue;
		if (head->len[i] > REQUEST_BYTES_MAX)
			return NULL;
		total += head->len[i] + 1;
	}
	bytes = total <= REQUEST_BYTES_MAX ? malloc(total + 1) : NULL;
	if (!bytes || io_read_full(fd, bytes, total, &e) != (ssize_t)total) {
		free(bytes);
		return NULL;
	}
	for (int i = 0; i < FILE_PARTS; i++) {
		if (head->len[i] == NO_TEXT)
			continue;
		r->part[i] = (struct text) { .at = bytes + at, .len = head->len[i] };
		at += head->len[i] + 1;
	}
	return bytes;
}

static bool give(int fd, struct file_reply *reply)
{
	struct reply_head head = { .status = (int32_t)reply->status,
				   .code = reply->code,
				   .past = (int32_t)reply->past };
	struct iovec iov[1 + FILE_GIVES] = { { .iov_base = &head, .iov_len = sizeof(head) } };
	int n = 1;

	for (int i = 0; i < FILE_GIVES; i++) {
		struct buf *b = &reply->gives[i];

		if (b->failed)
			head.status = FILE_TOO_LARGE;
		else if (reply->status == FILE_OK)
			head.len[i] = b->len;
	}
	if (head.status != FILE_OK)
		memset(head.len, 0, sizeof(head.len));
	for (int i = 0; i < FILE_GIVES; i++)
		if (head.len[i])
			iov[n++] = (struct iovec) { reply->gives[i].data, head.len[i] };
	for (int i = 0; i < n;) {
		ssize_t sent = writev(fd, iov + i, n - i);

		if (sent < 0 && errno != EINTR)
			return false;
		for (; i < n && sent >= (ssize_t)iov[i].iov_len; i++)
			sent -= (ssize_t)iov[i].iov_len;
		if (i < n && sent > 0) {
			iov[i].iov_base = (char *)iov[i].iov_base + sent;
			iov[i].iov_len -= (size_t)sent;
		}
	}
	return true;
}

/* One request. Returns whether to go on; without memory a new process does better. */
static bool serve(int fd)
{
	struct file_reply reply = { .status = FILE_OK };
	struct file_request request = { .op = FILE_READ };
	struct request_head head;
	autofree char *texts = NULL;
	struct err e = { 0 };
	bool sent;

	if (io_read_full(fd, &head, sizeof(head), &e) != (ssize_t)sizeof(head) ||
	    head.op >= FILE_OPS)
		return false;
	request.op = (enum file_op)head.op;
	request.flags = head.flags;
	request.start = head.start;
	request.end = head.end;
	texts = take_texts(fd, &head, &request);
	if (!texts || !request.part[FILE_PATH].at)
		return false;
	file_do(&request, &reply);
	sent = give(fd, &reply);
	file_reply_clear(&reply);
	return sent;
}

void helper_main(int socket)
{
	/* A limit on the size of files, and a server that went away, are told as errors. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	/* What was needed for a large file goes back to the workload. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	while (serve(socket))
		;
	_exit(0);
}
