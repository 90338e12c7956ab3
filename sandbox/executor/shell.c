/* SPDX-License-Identifier: MIT */
/* shell.c - see shell.h. */
#include "sandbox/executor/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"

enum {
	REPORT_MAX = 64 * 1024, /* a working directory may be long, but not that long */
	REPORT_FIELDS = 5,
	TURN_READS = 64,	 /* of the terminal at one event: others get their turn */
	TYPED_MAX = 1024 * 1024, /* into a terminal that nobody reads */
	COMMAND_MAX = 128 << 20, /* quoted: at most four times a request's body */
};

/* Lines are fed by us: no history, no `!`. Prompts would stand in the output: PROMPT_COMMAND
 * clears them again after an activated environment has set one, and the report does where that is
 * gone. The report is read back by
 * take_report(), field by field. It keeps $? and $_ for the next command. */
static const char set_up[] =
	"set +H +o history; PS1=; PS2=; PROMPT_COMMAND='PS1=; PS2='; alias git='git --no-pager'; "
	"__ohs() { local s=$? p=; builtin hash python 2>/dev/null && p=${BASH_CMDS[python]}; "
	"PS1=; PS2=; builtin printf '%s\\0' \"$1\" \"$s\" \"${!-}\" \"$PWD\" \"$p\" >&0; return $s; }\n";

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
}

int shell_start(struct shell *sh, const char *cwd, struct err *e)
{
	static const char *const argv[] = { "bash", "--noediting", "-i", NULL };
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

/* Write what the descriptor takes now, keep the rest. */
static void send_on(struct shell *sh, struct source *to, struct buf *waiting, const char *bytes,
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

static void send_waiting(struct shell *sh, struct source *to, struct buf *waiting)
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

void shell_type(struct shell *sh, const char *bytes, size_t len)
{
	if (sh->terminal.fd < 0)
		return;
	sh->to_terminal.limit = TYPED_MAX;
	send_on(sh, &sh->terminal, &sh->to_terminal, bytes, len);
}

/* As $'...': one line, whatever the text holds. */
static void quote(struct buf *out, const char *text, size_t len)
{
	buf_puts(out, "$'");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			buf_puts(out, "\\n");
		else if (text[i] == '\'' || text[i] == '\\')
			buf_add(out, (char[]) { '\\', text[i] }, 2);
		else if (text[i]) /* a NUL would end the word; no command can hold one */
			buf_putc(out, text[i]);
	}
	buf_putc(out, '\'');
}

/* The empty line between ends whatever state a syntax error in eval left the parser in. */
static void send_report_line(struct shell *sh, struct buf *line)
{
	buf_printf(line, "\n\n{ __ohs %u \"$_\"; } 2>&-\n", ++sh->sequence);
	sh->to_control.limit = COMMAND_MAX;
	send_on(sh, &sh->control, &sh->to_control, buf_str(line), line->len);
	sh->state = SHELL_BUSY;
}

void shell_run(struct shell *sh, const char *text, size_t len)
{
	autobuf struct buf line = { .limit = COMMAND_MAX };

	buf_puts(&line, "eval -- ");
	quote(&line, text, len);
	buf_printf(&line, " 0<>%s", sh->tty);
	send_report_line(sh, &line);
}

void shell_ask(struct shell *sh)
{
	autobuf struct buf line = { 0 };

	send_report_line(sh, &line);
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
		screen_feed(&sh->screen, bytes, (size_t)n);
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
		send_waiting(sh, &sh->terminal, &sh->to_terminal);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	(void)read_terminal(sh, TURN_READS);
	answer_terminal(sh);
	if (sh->screen.changed && sh->state == SHELL_BUSY) {
		sh->screen.changed = false;
		sh->event(sh, SHELL_OUTPUT);
	}
}

/* The fields of a whole report, one after the other; false while it is not whole. */
static bool split_report(const struct buf *heard, const char *field[REPORT_FIELDS])
{
	const char *at = buf_str(heard), *end = at + heard->len;

	for (unsigned i = 0; i < REPORT_FIELDS; i++) {
		const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

		if (!nul)
			return false;
		field[i] = at;
		at = nul + 1;
	}
	return true;
}

static void replace(char **text, const char *with)
{
	char *copy = strdup(with);

	if (!copy)
		return; /* what was said before is better than nothing */
	free(*text);
	*text = copy;
}

static void take_report(struct shell *sh, const char *const field[REPORT_FIELDS])
{
	struct err e = { 0 };
	uint64_t n;

	sh->report.exit_code = str_u64(field[1], 0, 255, &n, &e) == 0 ? (int)n : 1;
	sh->report.background = str_u64(field[2], 1, INT32_MAX, &n, &e) == 0 ? (long)n : -1;
	replace(&sh->report.cwd, field[3]);
	replace(&sh->report.python, field[4]);
}

/* All that was written to the terminal before the report is in it now: the kernel moves it before
 * a read says that there is nothing. A job in the background may go on for ever, though. */
static void done(struct shell *sh)
{
	if (sh->terminal.fd >= 0)
		(void)read_terminal(sh, TURN_READS);
	sh->screen.changed = false;
	sh->screen.answer_len = 0;
	if (sh->state == SHELL_STARTING) {
		screen_clear(&sh->screen); /* prompts and what ~/.bashrc had to say */
		sh->state = SHELL_IDLE;
		sh->event(sh, SHELL_UP);
		return;
	}
	sh->state = SHELL_IDLE;
	sh->event(sh, SHELL_DONE);
}

static void hear(struct shell *sh)
{
	const char *field[REPORT_FIELDS];
	uint64_t sequence = 0;
	struct err e = { 0 };

	if (sh->heard.len > REPORT_MAX) {
		shell_stop(sh);
		sh->wait_status = SIGKILL;
		sh->event(sh, SHELL_ENDED);
		return;
	}
	if (!split_report(&sh->heard, field))
		return;
	if (str_u64(field[0], 0, UINT32_MAX, &sequence, &e) < 0 || sequence != sh->sequence) {
		buf_clear(&sh->heard);
		return; /* not of the command in hand */
	}
	take_report(sh, field);
	buf_clear(&sh->heard);
	done(sh);
}

static void control_ready(struct source *source, uint32_t events)
{
	struct shell *sh = container_of(source, struct shell, control);
	char bytes[4096];
	ssize_t n;

	if (events & EPOLLOUT && sh->to_control.len)
		send_waiting(sh, &sh->control, &sh->to_control);
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
	buf_puts(&line, set_up);
	send_report_line(sh, &line);
	sh->state = SHELL_STARTING;
	return 0;
}

static void failed(struct shell *sh)
{
	shell_stop(sh);
	sh->event(sh, SHELL_FAILED);
}

static void answered(struct proc *p, struct ctl_message *m)
{
	struct shell *sh = container_of(p, struct shell, proc);

	if (m->kind == CTL_STARTED) {
		sh->failure = (struct err) { 0 };
		if (meet(sh, &m->started, &sh->failure) < 0)
			failed(sh);
	} else if (m->kind == CTL_FAILED) {
		(void)err_code(&sh->failure, m->failed.code, "%s", m->failed.text);
		failed(sh);
	} else {
		sh->wait_status = m->exited.wait_status;
		if (sh->terminal.fd >= 0)
			(void)read_terminal(sh, TURN_READS);
		ended(sh);
	}
}
