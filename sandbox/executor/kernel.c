/* SPDX-License-Identifier: MIT */
/* kernel.c - see kernel.h. */
#include "sandbox/executor/kernel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/executor/kernel_program.h"

enum {
	READ_BYTES = 16384,
	TURN_READS = 64,	/* of a pipe at one event: others get their turn */
	REQUEST_MAX = 64 << 20, /* a request's body is smaller */
	HANG_UP_MS = 1000,	/* from the channel's end to that of the process */
};

/* As people type them. Where the first is not there, the second is tried. */
static const char *const names[] = { "python3", "python" };

static void channel_ready(struct source *source, uint32_t events);
static void out_ready(struct source *source, uint32_t events);
static void err_ready(struct source *source, uint32_t events);
static void answered(struct proc *p, struct ctl_message *m);
static void hung_up(struct timer *timer);

void kernel_init(struct kernel *k, struct procs *procs,
		 void (*event)(struct kernel *, enum kernel_event))
{
	*k = (struct kernel) { .procs = procs, .loop = procs->loop, .event = event };
	k->proc.answer = answered;
	k->channel = (struct source) { .fd = -1, .events = EPOLLIN, .ready = channel_ready };
	k->out = (struct source) { .fd = -1, .events = EPOLLIN, .ready = out_ready };
	k->err = (struct source) { .fd = -1, .events = EPOLLIN, .ready = err_ready };
	k->hang_up.fire = hung_up;
}

/* In "/", which is always there: before each cell it is told where to go. The program's length keeps
 * Python from reading on into the first cell; the short line is all that a list of processes shows. */
static int ask(struct kernel *k, struct err *e)
{
	char load[160];
	const char *const argv[] = { names[k->name], "-c", load, NULL };
	static const char *const env[] = { NULL };
	struct ctl_message m = { .kind = CTL_START };

	(void)snprintf(load, sizeof(load),
		       "exec(compile(open(0,'rb',closefd=False).read(%zu),'<kernel>','exec'),"
		       "{'__name__':'kernel'})",
		       kernel_program_len);
	m.start.flags = CTL_START_PIPES | CTL_START_SHELL;
	m.start.argv = (char **)(uintptr_t)argv;
	m.start.env = (char **)(uintptr_t)env;
	m.start.cwd = (char *)(uintptr_t) "/";
	if (procs_ask(k->procs, &k->proc, &m, e) < 0)
		return err_wrap(e, "python");
	k->broken = false;
	k->state = KERNEL_STARTING;
	return 0;
}

int kernel_start(struct kernel *k, struct err *e)
{
	k->name = 0;
	return ask(k, e);
}

static void drop_source(struct kernel *k, struct source *source)
{
	loop_remove(k->loop, source);
	drop_fd(&source->fd);
	source->events = EPOLLIN;
}

/* Everything of this process but what was heard of it. */
static void let_go(struct kernel *k)
{
	procs_forget(k->procs, &k->proc);
	drop_source(k, &k->channel);
	drop_source(k, &k->out);
	drop_source(k, &k->err);
	buf_clear(&k->heard);
	buf_clear(&k->to_channel);
	k->interrupts = 0;
	loop_disarm(k->loop, &k->hang_up);
	k->deaf = false;
	k->state = KERNEL_NONE;
}

void kernel_stop(struct kernel *k)
{
	if (k->state == KERNEL_NONE)
		return;
	procs_signal(k->procs, &k->proc, SIGKILL, true);
	let_go(k);
}

/* It lives, but speaks nonsense or cannot be heard: there is nothing to be had of it. Init will tell
 * of its end. */
static void give_up(struct kernel *k)
{
	drop_source(k, &k->channel);
	k->broken = true;
	procs_signal(k->procs, &k->proc, SIGKILL, true);
}

/* The channel is of no use any more. It ends, and init will tell how; or a cell has closed it. */
static void lost(struct kernel *k)
{
	drop_source(k, &k->channel);
	loop_arm(k->loop, &k->hang_up, loop_time(k->loop) + HANG_UP_MS);
}

static void hung_up(struct timer *timer)
{
	give_up(container_of(timer, struct kernel, hang_up));
}

/* --- what it says ---------------------------------------------------------------------------- */

/* Read what is there, at most `max` times. Returns false at the pipe's end. */
static bool read_text(struct kernel *k, struct source *source, unsigned max)
{
	char bytes[READ_BYTES];

	while (max--) {
		ssize_t n = read(source->fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		if (!k->deaf)
			cell_text_add(&k->text, bytes, (size_t)n);
	}
	return true;
}

static void text_ready(struct kernel *k, struct source *source, unsigned max)
{
	if (source->fd >= 0 && !read_text(k, source, max))
		drop_source(k, source); /* the process may live on without */
}

/* An event reads little, so that what comes over the other pipe or the channel stays near in time. */
static void out_ready(struct source *source, uint32_t events)
{
	(void)events;
	text_ready(container_of(source, struct kernel, out), source, 4);
}

/* Only until our program runs: then all text goes to `out`. */
static void err_ready(struct source *source, uint32_t events)
{
	(void)events;
	text_ready(container_of(source, struct kernel, err), source, 4);
}

/* Whatever was written before now is in the pipes. Who goes on writing for ever is cut short. */
static void drain(struct kernel *k)
{
	text_ready(k, &k->err, TURN_READS);
	text_ready(k, &k->out, TURN_READS);
}

static void take_image(struct kernel *k, struct text png)
{
	if (k->deaf)
		return;
	if (k->n_images == OBSERVED_IMAGES || png.len > OBSERVED_IMAGE_BYTES - k->image_bytes) {
		k->images_lost++;
		return;
	}
	buf_add(&k->images[k->n_images++], png.at, png.len);
	k->image_bytes += png.len;
}

static void say_lost(struct kernel *k, struct buf *out)
{
	if (out->len)
		buf_putc(out, '\n');
	buf_printf(out, "[%u more images are not shown: %d with %d bytes together are the most]",
		   k->images_lost, OBSERVED_IMAGES, OBSERVED_IMAGE_BYTES);
	k->images_lost = 0;
}

bool kernel_take(struct kernel *k, struct observation *o)
{
	bool any = !cell_text_empty(&k->text) || k->n_images || k->images_lost;

	cell_text_take(&k->text, &o->content);
	memcpy(o->images, k->images, sizeof(o->images));
	o->n_images = k->n_images;
	memset(k->images, 0, sizeof(k->images));
	k->n_images = 0;
	k->image_bytes = 0;
	if (k->images_lost)
		say_lost(k, &o->content);
	return any;
}

static void up(struct kernel *k, struct text path)
{
	char *python = strndup(path.at, path.len);

	if (k->state != KERNEL_STARTING || !python) {
		free(python);
		return;
	}
	free(k->python);
	k->python = python;
	k->state = KERNEL_IDLE;
}

static void said(struct kernel *k, const struct kernel_reply *r)
{
	if (r->said == KERNEL_SAID_IMAGE)
		take_image(k, r->text);
	else if (r->said == KERNEL_SAID_UP)
		up(k, r->text);
	else if (k->state == KERNEL_BUSY && r->sequence == k->sequence)
		k->state = KERNEL_IDLE; /* another sequence is not of the cell in hand */
}

/* All that is whole. At most one event comes of it, for nothing is asked before it is raised; then
 * it is the last thing done here, because who hears it may stop all of this. */
static void hear(struct kernel *k)
{
	enum kernel_state before = k->state;
	struct kernel_reply r;
	size_t at = 0;
	long n;

	while ((n = kernel_reply_decode(k->heard.data + at, k->heard.len - at, &r)) > 0) {
		said(k, &r);
		at += (size_t)n;
	}
	if (n < 0) {
		give_up(k);
		return;
	}
	k->heard.len -= at;
	memmove(k->heard.data, k->heard.data + at, k->heard.len);
	if (!k->heard.len)
		buf_clear(&k->heard);
	if (k->state == before)
		return;
	drain(k);
	k->deaf = false;
	if (before == KERNEL_STARTING)
		cell_text_clear(&k->text); /* what its start had to say is no cell's */
	k->event(k, before == KERNEL_STARTING ? KERNEL_UP : KERNEL_DONE);
}

/* --- what it is told ------------------------------------------------------------------------- */

/* Write what the socket takes now, keep the rest. */
static void send_on(struct kernel *k)
{
	ssize_t n = write(k->channel.fd, k->to_channel.data, k->to_channel.len);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		lost(k); /* a cell can close one way of it alone */
		return;
	}
	if (n > 0) {
		k->to_channel.len -= (size_t)n;
		memmove(k->to_channel.data, k->to_channel.data + n, k->to_channel.len);
	}
	if (!k->to_channel.len)
		buf_clear(&k->to_channel);
	loop_want(k->loop, &k->channel, k->to_channel.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void kernel_run(struct kernel *k, struct kernel_cell *cell)
{
	cell->sequence = ++k->sequence;
	cell->interrupts = k->interrupts;
	k->state = KERNEL_BUSY;
	k->to_channel.limit = REQUEST_MAX;
	kernel_cell_encode(cell, &k->to_channel);
	if (k->to_channel.failed)
		give_up(k); /* half a request is worse than none */
	else if (k->channel.fd >= 0)
		send_on(k);
}

void kernel_interrupt(struct kernel *k)
{
	if (k->state != KERNEL_BUSY)
		return;
	drain(k);
	k->interrupts++;
	k->deaf = true;
	procs_signal(k->procs, &k->proc, SIGINT, true);
}

static void channel_ready(struct source *source, uint32_t events)
{
	struct kernel *k = container_of(source, struct kernel, channel);
	char bytes[READ_BYTES];
	ssize_t n;

	if (events & EPOLLOUT && k->to_channel.len)
		send_on(k);
	if (!(events & ~(uint32_t)EPOLLOUT) || source->fd < 0)
		return;
	n = read(source->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lost(k);
		return;
	}
	k->heard.limit = KERNEL_HEAD_BYTES + KERNEL_REPLY_MAX + READ_BYTES;
	buf_add(&k->heard, bytes, (size_t)n);
	if (k->heard.failed)
		give_up(k);
	else
		hear(k);
}

/* --- its life -------------------------------------------------------------------------------- */

/* The process is there: take its ends, and give it our program. */
static int meet(struct kernel *k, struct ctl_started *m, struct err *e)
{
	struct source *const sources[] = { &k->out, &k->err, &k->channel };

	if (m->n_fds != ARRAY_LEN(sources))
		return err_code(e, EPROTO, "python: %u descriptors instead of 3", m->n_fds);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		int flags = sources[i] == &k->channel ? O_RDWR : O_RDONLY;

		sources[i]->fd = take_fd(&m->fds[i]);
		if (fcntl(sources[i]->fd, F_SETFL, flags | O_NONBLOCK) < 0)
			return err_errno(e, "python: descriptors");
		if (loop_add(k->loop, sources[i], e) < 0)
			return -e->code;
	}
	buf_add(&k->to_channel, kernel_program, kernel_program_len);
	if (buf_check(&k->to_channel, e) < 0)
		return -e->code;
	send_on(k);
	return 0;
}

static void fail(struct kernel *k)
{
	kernel_stop(k);
	k->event(k, KERNEL_FAILED);
}

static void not_started(struct kernel *k, const struct ctl_failed *m)
{
	let_go(k);
	(void)err_code(&k->failure, m->code, "%s", m->text);
	if (m->exec && m->code == ENOENT && ++k->name < ARRAY_LEN(names) &&
	    ask(k, &k->failure) == 0)
		return;
	fail(k);
}

static void ended(struct kernel *k, int wait_status)
{
	bool was_up = k->state != KERNEL_STARTING;

	drain(k);
	let_go(k);
	k->wait_status = wait_status;
	if (!was_up)
		(void)err_code(&k->failure, ECHILD, "it ended while it started");
	k->event(k, was_up ? KERNEL_ENDED : KERNEL_FAILED);
}

static void answered(struct proc *p, struct ctl_message *m)
{
	struct kernel *k = container_of(p, struct kernel, proc);

	if (m->kind == CTL_STARTED) {
		k->failure = (struct err) { 0 };
		if (meet(k, &m->started, &k->failure) < 0)
			fail(k);
	} else if (m->kind == CTL_FAILED) {
		not_started(k, &m->failed);
	} else {
		ended(k, m->exited.wait_status);
	}
}
