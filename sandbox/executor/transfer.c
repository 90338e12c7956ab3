/* SPDX-License-Identifier: MIT */
/* transfer.c - see transfer.h. One process and the answer it gives, whatever it was asked for. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/executor/transfer_own.h"

enum {
	NUDGE_FIRST_MS = 50, /* far beyond what it takes to begin */
	NUDGE_MAX_MS = 1000,
};

static void answered(struct proc *p, struct ctl_message *m);
static void socket_ready(struct source *source, uint32_t events);
static void impatient(struct timer *timer);
static void stream_room(struct conn_stream *stream);
static void stream_gone(struct conn_stream *stream);

void transfers_init(struct transfers *ts, struct procs *procs, unsigned max)
{
	*ts = (struct transfers) { .procs = procs, .max = max };
}

static void start(struct transfer *t)
{
	struct ctl_message m = { .kind = CTL_START,
				 .start = { .flags = CTL_START_HELPER | CTL_START_TRANSFER } };
	static const char *const none[] = { NULL };
	struct err e = { 0 };

	m.start.argv = m.start.env = (char **)(uintptr_t)none;
	m.start.cwd = (char *)(uintptr_t) "/";
	t->runs = true;
	t->all->running++;
	transfer_moved(t, TRANSFER_PATIENCE_MS);
	if (procs_ask(t->all->procs, &t->proc, &m, &e) < 0)
		transfer_fail(t, e.text);
}

/* The first that waits, if there is room for it to run. */
static struct transfer *next_of(const struct transfers *ts)
{
	struct transfer *t = ts->first;

	while (t && t->runs)
		t = t->next;
	return ts->running < ts->max ? t : NULL;
}

static void start_next(struct transfers *ts)
{
	struct transfer *t = next_of(ts);

	if (t)
		start(t);
}

static struct transfer *unwanted(const struct transfers *ts)
{
	struct transfer *t = ts->first;

	while (t && (t->runs || t->conn))
		t = t->next;
	return t;
}

/* Those whose clients went away before their turn: or the list would grow by everybody who asks and
 * does not wait, and some of them need no key. Each from the start: its end may start another one. */
static void drop_unwanted(struct transfers *ts)
{
	struct transfer *t;

	while ((t = unwanted(ts)))
		transfer_end(t);
}

void transfer_begin(struct transfer *t, struct transfers *all, const struct transfer_kind *kind,
		    const char *path, const char *name)
{
	struct transfer_ask ask = { .op = kind->op,
				    .path_len = (uint32_t)strlen(path),
				    .name_len = (uint32_t)strlen(name) };
	struct transfer **at = &all->first;

	t->kind = kind;
	t->all = all;
	t->proc.answer = answered;
	t->socket = (struct source) { .fd = -1, .events = EPOLLIN, .ready = socket_ready };
	t->timer.fire = impatient;
	t->stream.room = stream_room;
	t->stream.gone = stream_gone;
	buf_add(&t->out, &ask, sizeof(ask));
	buf_add(&t->out, path, ask.path_len);
	buf_add(&t->out, name, ask.name_len);
	drop_unwanted(all);
	while (*at)
		at = &(*at)->next;
	*at = t;
	start_next(all);
}

void transfer_end(struct transfer *t)
{
	struct transfers *all = t->all;
	struct transfer **at = &all->first;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	all->running -= t->runs;
	procs_forget(all->procs, &t->proc);
	loop_disarm(all->procs->loop, &t->timer);
	/* Its end is all that the process waits for, or what it takes for a client gone away. */
	loop_remove(all->procs->loop, &t->socket);
	drop_fd(&t->socket.fd);
	buf_clear(&t->out);
	buf_clear(&t->in);
	free(t->bytes);
	t->kind->free(t);
	start_next(all);
}

void transfer_fail(struct transfer *t, const char *text)
{
	if (t->stream.conn)
		conn_cut(&t->stream);
	else if (t->conn)
		conn_reply_detail(t->conn, 500, text);
	transfer_end(t);
}

static void nudge_later(struct transfer *t)
{
	uint64_t at = loop_time(t->all->procs->loop) + t->nudge_ms;

	loop_arm(t->all->procs->loop, &t->timer, at < t->give_up_ms ? at : t->give_up_ms);
	if (t->nudge_ms < NUDGE_MAX_MS)
		t->nudge_ms *= 2;
}

/* The workload may have stopped it, with SIGSTOP. To a process that runs SIGCONT is nothing. */
static void impatient(struct timer *timer)
{
	struct transfer *t = container_of(timer, struct transfer, timer);

	if (loop_time(t->all->procs->loop) < t->give_up_ms) {
		procs_signal(t->all->procs, &t->proc, SIGCONT, false);
		nudge_later(t);
		return;
	}
	procs_signal(t->all->procs, &t->proc, SIGKILL, false);
	transfer_fail(t, "the files could not be reached in time");
}

void transfer_moved(struct transfer *t, uint64_t patience_ms)
{
	t->give_up_ms = loop_time(t->all->procs->loop) + patience_ms;
	t->nudge_ms = NUDGE_FIRST_MS;
	nudge_later(t);
}

void transfer_watch(struct transfer *t)
{
	loop_want(t->all->procs->loop, &t->socket, t->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Write what is kept. An error is seen as the end of the socket, next. */
static void send_out(struct transfer *t)
{
	ssize_t n = write(t->socket.fd, t->out.data, t->out.len);

	if (n > 0) {
		t->out.len -= (size_t)n;
		memmove(t->out.data, t->out.data + n, t->out.len);
		transfer_moved(t, TRANSFER_PATIENCE_MS);
	}
	if (!t->out.len)
		buf_clear(&t->out);
}

static void answered(struct proc *p, struct ctl_message *m)
{
	struct transfer *t = container_of(p, struct transfer, proc);
	struct err e = { 0 };

	if (m->kind == CTL_FAILED) {
		transfer_fail(t, m->failed.text);
		return;
	}
	if (m->kind == CTL_EXITED) {
		/* What it said before is still in the socket. */
		if (t->socket.fd < 0)
			transfer_fail(t, "the process that reaches files was killed");
		return;
	}
	if (m->started.n_fds == 1)
		t->socket.fd = take_fd(&m->started.fds[0]);
	if (t->socket.fd < 0 || fcntl(t->socket.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    loop_add(t->all->procs->loop, &t->socket, &e) < 0) {
		drop_fd(&t->socket.fd);
		transfer_fail(t, "the process that reaches files cannot be heard");
		return;
	}
	loop_want(t->all->procs->loop, &t->socket, EPOLLIN | EPOLLOUT);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Read up to `len` bytes of the answer's head and text altogether. True when they are here. */
static bool fill(struct transfer *t, size_t len)
{
	char bytes[sizeof(struct transfer_answer) + TRANSFER_TEXT_MAX];
	ssize_t n;

	if (t->in.len >= len)
		return true;
	n = read(t->socket.fd, bytes, len - t->in.len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		transfer_fail(t, "the process that reaches files was killed");
		return false;
	}
	buf_add(&t->in, bytes, (size_t)n);
	if (t->in.failed) {
		transfer_fail(t, "no memory");
		return false;
	}
	return t->in.len == len;
}

static void tell_failed(struct transfer *t, const char *text)
{
	if (t->kind->failed)
		t->kind->failed(t, t->answer.failed, text);
	else
		transfer_fail(t, text);
}

static void take_answer(struct transfer *t)
{
	if (!fill(t, sizeof(t->answer)))
		return;
	memcpy(&t->answer, t->in.data, sizeof(t->answer));
	if (t->answer.text_len > TRANSFER_TEXT_MAX || t->answer.body_len >> 62) {
		transfer_fail(t, "the process that reaches files speaks nonsense");
		return;
	}
	if (!fill(t, sizeof(t->answer) + t->answer.text_len))
		return;
	t->told = true;
	if (t->answer.failed) {
		tell_failed(t, t->in.data + sizeof(t->answer));
		return;
	}
	t->left = t->answer.body_len;
	if (t->conn)
		t->kind->done(t);
	else
		transfer_end(t);
}

/* On to the client, as far as it takes it. */
static void forward(struct transfer *t)
{
	size_t want = t->left < TRANSFER_PIECE_MAX ? (size_t)t->left : TRANSFER_PIECE_MAX;
	ssize_t n = read(t->socket.fd, t->bytes, want);
	bool room;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		transfer_fail(t, "");
		return;
	}
	t->left -= (size_t)n;
	room = conn_send(&t->stream, t->bytes, (size_t)n);
	if (!t->left) {
		conn_end(&t->stream);
		transfer_end(t);
		return;
	}
	loop_want(t->all->procs->loop, &t->socket, room ? EPOLLIN : 0);
	/* A client that is slow is the connection's to lose patience with. */
	if (room)
		transfer_moved(t, TRANSFER_PATIENCE_MS);
	else
		loop_disarm(t->all->procs->loop, &t->timer);
}

static void stream_room(struct conn_stream *stream)
{
	struct transfer *t = container_of(stream, struct transfer, stream);

	loop_want(t->all->procs->loop, &t->socket, EPOLLIN);
	transfer_moved(t, TRANSFER_PATIENCE_MS);
}

static void stream_gone(struct conn_stream *stream)
{
	transfer_end(container_of(stream, struct transfer, stream));
}

void transfer_stream(struct transfer *t, const char *type, const char *lines)
{
	struct conn_head head = { .status = 200, .type = type, .lines = lines, .length = t->left };

	t->bytes = malloc(TRANSFER_PIECE_MAX);
	if (!t->bytes) {
		transfer_fail(t, "no memory");
		return;
	}
	conn_stream(t->conn, &t->stream, &head);
	if (t->left && t->stream.conn)
		return;
	conn_end(&t->stream);
	transfer_end(t);
}

static void send_more(struct transfer *t)
{
	if (t->out.len)
		send_out(t);
	transfer_watch(t);
	if (t->out.len)
		return;
	if (t->kind->room)
		t->kind->room(t);
	else
		transfer_moved(t, TRANSFER_FINISH_MS);
}

static void socket_ready(struct source *source, uint32_t events)
{
	struct transfer *t = container_of(source, struct transfer, socket);

	/* One that has ended takes nothing any more, but may have said why. */
	if (events & EPOLLOUT && !(events & (EPOLLHUP | EPOLLERR)))
		send_more(t);
	else if (t->told)
		forward(t);
	else
		take_answer(t);
}
