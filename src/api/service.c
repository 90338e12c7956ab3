/* SPDX-License-Identifier: MIT */
/* service.c - see service.h.
 *
 * A short action puts the program in the background and is over: actions are done one after the other,
 * and nobody's must wait for it. What it writes, and how it ended, it leaves in files of the session's,
 * which are the session's word and no more. */
#include "api/service.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/outcome.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "base/str.h"
#include "launch/client.h"

#define CONNECT_MS 2000
#define READY_MS 120000 /* a large Python program on a busy machine */
#define TURN_MS 100
#define TURNS_A_CHECK 5
#define ACTION_MS 20000
#define TAIL_BYTES 250 /* of what it wrote, in an error */
#define TAIL_MAX 16384
#define REPLY_MAX (8 * TAIL_MAX) /* with that in it, escaped */
#define PLACE "/tmp/.ohsandbox-program"
/* Whoever killed it may have killed the shell that waited for it, which says so. */
#define HAS_ENDED "{ test -e " PLACE "/status || ! kill -0 $(cat " PLACE "/pid) 2>/dev/null; }"

/* --- the command ----------------------------------------------------------------------------- */

/* 'it'"'"'s': as one word for the shell. */
static void quote(struct buf *out, const char *word)
{
	buf_putc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_puts(out, "'\"'\"'");
		else
			buf_putc(out, *word);
	}
	buf_putc(out, '\'');
}

/* One compound command, as the executor wants it. A second order finds that it runs, or that it has
 * ended; then it is started once more. The action's terminal goes with its shell, and whatever shares
 * it is told so by a hang-up, which must be ignored before there is anything to hear it. */
static void command_of(const struct label *l, struct buf *out)
{
	buf_puts(out, "{ trap '' HUP; test ! -d " PLACE " || ! " HAS_ENDED " || rm -rf " PLACE
		      "; mkdir " PLACE " 2>/dev/null || exit 0; ");
	if (l->directory) {
		buf_puts(out, "mkdir -p ");
		quote(out, l->directory);
		buf_puts(out, " && cd ");
		quote(out, l->directory);
		buf_puts(out, " || exit; ");
	}
	buf_puts(out, "(");
	for (char *const *word = l->program; *word; word++) {
		quote(out, *word);
		buf_putc(out, ' ');
	}
	buf_puts(out, "; echo $? >" PLACE "/status) </dev/null >>" PLACE
		      "/log 2>&1 & echo $! >" PLACE "/pid; }");
}

static int body_of(const char *command, struct buf *out, struct err *e)
{
	struct json_out o = { .buf = out };

	jo_object(&o, NULL);
	jo_object(&o, "action");
	jo_string(&o, "action", "run");
	jo_object(&o, "args");
	jo_string(&o, "command", command);
	jo_bool(&o, "is_static", true);
	jo_bool(&o, "blocking", true);
	jo_end_object(&o);
	jo_u64(&o, "timeout", ACTION_MS / 1000);
	jo_end_object(&o);
	jo_end_object(&o);
	return buf_check(out, e);
}

/* Run a command in the session; what it printed is appended to `out`. Returns its exit status. */
static int run(const struct record *r, const char *command, struct buf *out, struct err *e)
{
	autobuf struct buf body = { 0 }, reply = { .limit = REPLY_MAX };
	struct client_request post = { .method = "POST",
				       .path = "/execute_action",
				       .key = r->key,
				       .timeout_ms = ACTION_MS };
	autoclose int fd = -1;
	int status, exit_status = 0;
	bool again;

	if (body_of(command, &body, e) < 0)
		return -e->code;
	post.body = buf_str(&body);
	post.body_len = body.len;
	fd = client_connect(INADDR_LOOPBACK, r->host_port, CONNECT_MS, e);
	if (fd < 0)
		return fd;
	status = client_exchange(fd, &post, &reply, &again, e);
	if (status < 0)
		return status;
	if (outcome_read(buf_str(&reply), reply.len, out, &exit_status, e) < 0)
		return -e->code;
	return exit_status < 0 ? err_code(e, ETIMEDOUT, "a command in the session does not end")
			       : exit_status;
}

/* --- until it answers ------------------------------------------------------------------------ */

static uint16_t published(const struct record *r, uint16_t inside)
{
	for (unsigned i = 0; i < r->n_ports; i++)
		if (r->ports[i].inside == inside)
			return r->ports[i].host;
	return 0;
}

/* The status of an answer that has begun; 0 where it is none. The program's server may be any, so
 * nothing more is asked of it than its first words. */
static int status_of(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t until = clock_ms() + CONNECT_MS;
	char text[] = "HTTP/1.1 200";
	size_t n = 0;

	while (n < sizeof(text) - 1 && clock_ms() < until && poll(&p, 1, CONNECT_MS) > 0) {
		ssize_t got = recv(fd, text + n, sizeof(text) - 1 - n, MSG_DONTWAIT);

		if (got <= 0)
			return 0;
		n += (size_t)got;
	}
	if (n < sizeof(text) - 1 || !str_starts(text, "HTTP/1.") || text[8] != ' ')
		return 0;
	return atoi(text + 9);
}

/* Any answer that is no error of its own: some have no /health. */
static bool answers(uint16_t port)
{
	const struct client_request get = { .method = "GET",
					    .path = "/health",
					    .timeout_ms = CONNECT_MS };
	struct err e = { 0 };
	autoclose int fd = client_connect(INADDR_LOOPBACK, port, CONNECT_MS, &e);
	int status = 0;

	if (fd >= 0 && client_send(fd, &get, &e) == 0)
		status = status_of(fd);
	return status >= 200 && status < 500;
}

/* 1 where it has ended, with the tail of what it wrote; 0 while it has not. */
static int has_ended(const struct record *r, struct buf *tail, struct err *e)
{
	int status = run(r, HAS_ENDED " && { tail -c 2000 " PLACE "/log; true; }", tail, e);

	return status < 0 ? status : status == 0;
}

/* On one line, for an error: the last of it says the most. */
static void last_words(const struct buf *tail, char out[TAIL_BYTES + 1])
{
	size_t skip = tail->len > TAIL_BYTES ? tail->len - TAIL_BYTES : 0;

	memcpy(out, buf_str(tail) + skip, tail->len - skip);
	out[tail->len - skip] = '\0';
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

static int check(const struct record *r, const struct label *l, struct buf *tail, struct err *e)
{
	char last[TAIL_BYTES + 1];
	int ended;

	buf_reset(tail);
	ended = has_ended(r, tail, e);
	if (ended <= 0)
		return ended;
	last_words(tail, last);
	return err_code(e, ECHILD, "'%.60s' has ended%s%s", l->program[0], last[0] ? ": " : "",
			last);
}

bool service_answers(const struct record *r, const struct label *l)
{
	return !l->program || answers(published(r, l->program_port));
}

int service_check(const struct record *r, const struct label *l, struct err *e)
{
	autobuf struct buf tail = { .limit = TAIL_MAX };

	return l->program ? check(r, l, &tail, e) : 0;
}

int service_start(const struct record *r, const struct label *l, struct err *e)
{
	autobuf struct buf command = { 0 }, said = { .limit = TAIL_MAX };
	int status;

	if (!l->program)
		return 0;
	command_of(l, &command);
	if (buf_check(&command, e) < 0)
		return -e->code;
	status = run(r, buf_str(&command), &said, e);
	if (status < 0)
		return err_wrap(e, "start '%.60s'", l->program[0]);
	if (status > 0)
		return err_code(e, ECHILD, "'%.60s' cannot be started: %.200s", l->program[0],
				buf_str(&said));
	return 1;
}

int service_await(const struct record *r, const struct label *l, struct buf *log, struct err *e)
{
	uint64_t until = clock_ms() + READY_MS;

	log->limit = TAIL_MAX;
	for (unsigned turn = 1; l->program && clock_ms() < until; turn++) {
		if (service_answers(r, l))
			return 0;
		if (turn % TURNS_A_CHECK == 0 && check(r, l, log, e) < 0)
			return -e->code;
		(void)poll(NULL, 0, TURN_MS);
	}
	return l->program ? err_code(e, ETIMEDOUT, "'%.60s' does not answer at its port %u",
				     l->program[0], l->program_port)
			  : 0;
}
