/* SPDX-License-Identifier: MIT */
/* shell.c - see shell.h. */
#include "sandbox/executor/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"

enum {
	REPORT_MAX = 64 * 1024,	 /* a working directory may be long, but not that long */
	TURN_READS = 64,	 /* of the terminal at one event: others get their turn */
	COMMAND_MAX = 128 << 20, /* quoted: at most four times a request's body */
	ASKED_MAX = 64,		 /* more reports of one command: they wait until it reads */
};

static void terminal_ready(struct source *source, uint32_t events);
static void control_ready(struct source *source, uint32_t events);
static void answered(struct proc *p, struct ctl_message *m);

void shell_init(struct shell *sh, struct procs *procs,
		void (*event)(struct shell *, enum shell_event))
{
	*sh = (struct shell) { .procs = procs, .loop = procs->loop, .event = event };
	sh->proc.answer = answered;
	sh->terminal = (struct source) { .fd = -1, .events = EPOLLIN, .ready = terminal_ready };
	sh->control = (struct source) { .fd = -1, .events = EPOLLIN, .ready = control_ready };
	sh->report.background = -1;
	shell_typing_init(sh);
}

int shell_start(struct shell *sh, const char *cwd, struct err *e)
{
	static const char *const argv[] = { "bash", "--noediting", "-i", "+o", "history", NULL };
	static const char *const env[] = { "TERM=tmux-256color", NULL };
	struct ctl_message m = { .kind = CTL_START };

	m.start.flags = CTL_START_TTY | CTL_START_SHELL;
	m.start.rows = SCREEN_ROWS;
	m.start.cols = SCREEN_COLS;
	m.start.argv = (char **)(uintptr_t)argv;
	m.start.env = (char **)(uintptr_t)env;
	m.start.cwd = (char *)(uintptr_t)cwd;
	if (procs_ask(sh->procs, &sh->proc, &m, e) < 0)
		return err_wrap(e, "shell");
	sh->state = SHELL_STARTING;
	return 0;
}

static void drop_source(struct shell *sh, struct source *source)
{
	loop_remove(sh->loop, source);
	drop_fd(&source->fd);
	source->events = EPOLLIN;
}

/* Everything of this shell but what it last said. */
static void let_go(struct shell *sh)
{
	shell_typing_stop(sh);
	procs_forget(sh->procs, &sh->proc);
	drop_source(sh, &sh->terminal);
	drop_source(sh, &sh->control);
	buf_clear(&sh->heard);
	buf_clear(&sh->to_terminal);
	buf_clear(&sh->to_control);
	sh->state = SHELL_NONE;
}

void shell_stop(struct shell *sh)
{
	if (sh->state == SHELL_NONE)
		return;
	/* Closing the terminal hangs up on its foreground; the shell itself may ignore that. */
	procs_signal(sh->procs, &sh->proc, SIGKILL, true);
	let_go(sh);
	screen_clear(&sh->screen);
}

void shell_send(struct shell *sh, struct source *to, struct buf *waiting, const char *bytes,
		size_t len)
{
	ssize_t n = 0;

	if (!waiting->len) {
		n = write(to->fd, bytes, len);
		/* A shell that ended is told of by its end; what is written to it is lost. */
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n < 0)
			n = 0;
	}
	if ((size_t)n < len)
		buf_add(waiting, bytes + n, len - (size_t)n);
	if (waiting->len)
		loop_want(sh->loop, to, EPOLLIN | EPOLLOUT);
}

void shell_send_rest(struct shell *sh, struct source *to, struct buf *waiting)
{
	ssize_t n = write(to->fd, waiting->data, waiting->len);

	if (n > 0) {
		waiting->len -= (size_t)n;
		memmove(waiting->data, waiting->data + n, waiting->len);
	}
	if (waiting->len && (n > 0 || errno == EAGAIN || errno == EINTR))
		return;
	buf_clear(waiting);
	loop_want(sh->loop, to, EPOLLIN);
}

static void send_lines(struct shell *sh, struct buf *lines)
{
	sh->to_control.limit = COMMAND_MAX;
	shell_send(sh, &sh->control, &sh->to_control, buf_str(lines), lines->len);
}

/* With the line that reports what came of it. */
static void send_command(struct shell *sh, struct buf *lines)
{
	shell_lines_report(lines, sh->sequence, sh->counts_first);
	sh->state = SHELL_BUSY;
	sh->begun = sh->typed = false;
	sh->asked = 0;
	screen_fresh_line(&sh->screen);
	send_lines(sh, lines);
}

void shell_run(struct shell *sh, const char *text, size_t len, bool whole)
{
	autobuf struct buf lines = { .limit = COMMAND_MAX };
	struct shell_line line = { .text = text,
				   .len = len,
				   .sequence = ++sh->sequence,
				   .tty = sh->tty,
				   .whole = whole,
				   .traced = sh->traced };

	shell_lines_run(&lines, &line);
	send_command(sh, &lines);
}

void shell_press(struct shell *sh, char byte)
{
	autobuf struct buf lines = { 0 };

	shell_lines_key(&lines, byte, ++sh->sequence);
	send_command(sh, &lines);
	sh->begun = true;
	if (byte == 3) /* as the terminal would have echoed it */
		screen_feed(&sh->screen, "^C", 2);
}

void shell_ask(struct shell *sh)
{
	autobuf struct buf lines = { 0 };

	if (sh->state == SHELL_IDLE) {
		shell_press(sh, '\0');
	} else if (sh->state == SHELL_BUSY && sh->asked < ASKED_MAX) {
		sh->asked++;
		shell_lines_report(&lines, sh->sequence, sh->counts_first);
		send_lines(sh, &lines);
	}
}

static void ended(struct shell *sh)
{
	bool was_up = sh->state != SHELL_STARTING;

	let_go(sh);
	if (!was_up)
		(void)err_code(&sh->failure, ECHILD,
			       "the shell ended while it started: look at ~/.bashrc");
	sh->event(sh, was_up ? SHELL_ENDED : SHELL_FAILED);
}

/* Read what is there, at most `max` times. Returns false when nothing more will come now. */
static bool read_terminal(struct shell *sh, unsigned max)
{
	char bytes[8192];

	while (max--) {
		ssize_t n = read(sh->terminal.fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			/* Every other end is closed; the process may live on without a terminal. */
			drop_source(sh, &sh->terminal);
			return false;
		}
		if (sh->state == SHELL_STARTING)
			continue; /* prompts, and what ~/.bashrc had to say */
		screen_feed(&sh->screen, bytes, (size_t)n);
		if (sh->output)
			sh->output(sh, bytes, (size_t)n);
	}
	return true;
}

static void answer_terminal(struct shell *sh)
{
	if (!sh->screen.answer_len)
		return;
	shell_type(sh, sh->screen.answer, sh->screen.answer_len);
	sh->screen.answer_len = 0;
}

static void terminal_ready(struct source *source, uint32_t events)
{
	struct shell *sh = container_of(source, struct shell, terminal);

	if (events & EPOLLOUT && sh->to_terminal.len)
		shell_send_rest(sh, &sh->terminal, &sh->to_terminal);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	(void)read_terminal(sh, TURN_READS);
	answer_terminal(sh);
	if (sh->screen.changed && sh->state == SHELL_BUSY) {
		sh->screen.changed = false;
		sh->event(sh, SHELL_OUTPUT);
	}
}

static void replace(char **text, const char *with)
{
	char *copy = strdup(with);

	if (!copy)
		return; /* what was said before is better than nothing */
	free(*text);
	*text = copy;
}

static void take_report(struct shell *sh, const struct shell_said *said)
{
	struct err e = { 0 };
	uint64_t n;

	sh->report.exit_code = str_u64(said->field[2], 0, 255, &n, &e) == 0 ? (int)n : 1;
	sh->report.background = str_u64(said->field[3], 1, INT32_MAX, &n, &e) == 0 ? (long)n : -1;
	sh->traced = strchr(said->field[4], 'x');
	replace(&sh->report.cwd, said->field[5]);
	replace(&sh->report.python, said->field[6]);
}

/* All that was written to the terminal before the report is in it now: the kernel moves it before
 * a read says that there is nothing. A job in the background may go on for ever, though. */
static void done(struct shell *sh)
{
	bool starting = sh->state == SHELL_STARTING;

	if (sh->terminal.fd >= 0)
		(void)read_terminal(sh, TURN_READS);
	shell_typing_done(sh);
	sh->screen.changed = false;
	sh->screen.answer_len = 0;
	sh->state = SHELL_IDLE;
	sh->event(sh, starting ? SHELL_UP : SHELL_DONE);
}

static void heard_begin(struct shell *sh, const struct shell_said *said)
{
	if (sh->state != SHELL_BUSY || said->sequence != sh->sequence)
		return;
	sh->begun = true;
	shell_typing_begun(sh);
}

/* Not of an earlier command, whose report was asked for twice. */
static void heard_end(struct shell *sh, const struct shell_said *said)
{
	if (said->sequence != sh->sequence || sh->state == SHELL_IDLE)
		return;
	take_report(sh, said);
	done(sh);
}

static void heard_loss(struct shell *sh, const struct shell_said *said)
{
	autobuf struct buf lines = { 0 };

	if (said->sequence != sh->sequence || sh->state != SHELL_BUSY || sh->asked >= ASKED_MAX)
		return;
	sh->asked++;
	shell_lines_again(&lines, sh->sequence);
	send_lines(sh, &lines);
}

static int64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

static void heard_written(struct shell *sh, const struct shell_said *said)
{
	struct shell_written *w = &sh->written;
	int64_t sum = value_of(said->field[2], "\nwchar: ") - sh->heard_total;
	int64_t stored = value_of(said->field[2], "\nwrite_bytes: ");

	w->bytes = sum > w->sum ? sum - w->sum : 0;
	w->stored = stored > w->stored_sum ? stored - w->stored_sum : 0;
	w->sum = sum;
	w->stored_sum = stored;
	/* The first is of its own start. */
	if (said->sequence > 1)
		sh->event(sh, SHELL_WROTE);
}

/* One thing said off the front of what was heard; whoever hears of it may end the shell. */
static bool hear_one(struct shell *sh)
{
	struct shell_said said;
	struct buf heard = sh->heard;
	long len = shell_lines_said(&heard, &said);

	if (len == 0)
		return false;
	sh->heard = (struct buf) { 0 };
	if (len > 0) {
		buf_add(&sh->heard, heard.data + len, heard.len - (size_t)len);
		if (said.kind == 'b')
			heard_begin(sh, &said);
		else if (said.kind == 'e')
			heard_end(sh, &said);
		else if (said.kind == 'l')
			heard_loss(sh, &said);
		else
			heard_written(sh, &said);
		sh->heard_total += len;
	}
	buf_clear(&heard); /* all of it, where it is nothing that the shell says */
	return len > 0;
}

static void hear(struct shell *sh)
{
	if (sh->heard.len > REPORT_MAX) {
		shell_stop(sh);
		sh->wait_status = SIGKILL;
		sh->event(sh, SHELL_ENDED);
		return;
	}
	while (hear_one(sh))
		;
}

static void control_ready(struct source *source, uint32_t events)
{
	struct shell *sh = container_of(source, struct shell, control);
	char bytes[4096];
	ssize_t n;

	if (events & EPOLLOUT && sh->to_control.len)
		shell_send_rest(sh, &sh->control, &sh->to_control);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = read(source->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* It ends, or has become another program: init will tell which. */
		drop_source(sh, &sh->control);
		return;
	}
	sh->heard.limit = 2 * REPORT_MAX;
	buf_add(&sh->heard, bytes, (size_t)n);
	hear(sh);
}

/* The shell is there: take its ends, and set it up. */
static int meet(struct shell *sh, struct ctl_started *m, struct err *e)
{
	autobuf struct buf line = { 0 };
	unsigned number;

	if (m->n_fds != 2)
		return err_code(e, EPROTO, "shell: %u descriptors instead of 2", m->n_fds);
	sh->pid = m->pid;
	sh->terminal.fd = take_fd(&m->fds[0]);
	sh->control.fd = take_fd(&m->fds[1]);
	if (ioctl(sh->terminal.fd, TIOCGPTN, &number) < 0)
		return err_errno(e, "shell: terminal");
	(void)snprintf(sh->tty, sizeof(sh->tty), "/dev/pts/%u", number);
	if (fcntl(sh->terminal.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    fcntl(sh->control.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_errno(e, "shell: descriptors");
	if (loop_add(sh->loop, &sh->terminal, e) < 0 || loop_add(sh->loop, &sh->control, e) < 0)
		return -e->code;
	shell_lines_start(&line);
	sh->sequence = 1;
	sh->traced = false;
	send_command(sh, &line);
	sh->state = SHELL_STARTING;
	return 0;
}

static void failed(struct shell *sh)
{
	shell_stop(sh);
	sh->event(sh, SHELL_FAILED);
}

/* A root file system of the user's own choice may have no bash. */
static void not_started(struct shell *sh, const struct ctl_failed *why)
{
	if (why->exec && why->code == ENOENT)
		(void)err_code(
			&sh->failure, ENOENT,
			"commands are run by bash, and this session's root file system has none");
	else
		(void)err_code(&sh->failure, why->code, "%s", why->text);
	failed(sh);
}

static void answered(struct proc *p, struct ctl_message *m)
{
	struct shell *sh = container_of(p, struct shell, proc);

	if (m->kind == CTL_STARTED) {
		sh->failure = (struct err) { 0 };
		sh->written = (struct shell_written) { 0 };
		sh->heard_total = 0;
		if (meet(sh, &m->started, &sh->failure) < 0)
			failed(sh);
	} else if (m->kind == CTL_FAILED) {
		not_started(sh, &m->failed);
	} else {
		sh->wait_status = m->exited.wait_status;
		if (sh->terminal.fd >= 0)
			(void)read_terminal(sh, TURN_READS);
		ended(sh);
	}
}
