/* SPDX-License-Identifier: MIT */
/* service.c - see service.h.
 *
 * It is an action of the session's, which waits for its end; nobody needs to hear of that, so the
 * connection is given up when the program answers. */
#include "api/service.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/json.h"
#include "base/json_out.h"
#include "base/str.h"
#include "launch/client.h"

#define CONNECT_MS 2000
#define READY_MS 120000 /* a large Python program on a busy machine */
#define TURN_MS 100
#define FOREVER_S 31536000.0 /* a year: the longest that the executor takes */
#define TAIL_BYTES 250	     /* of what it wrote, in an error */

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

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

static void command_of(const struct label *l, struct buf *out)
{
	if (l->directory) {
		buf_puts(out, "mkdir -p ");
		quote(out, l->directory);
		buf_puts(out, " && cd ");
		quote(out, l->directory);
		buf_puts(out, " && ");
	}
	buf_puts(out, "exec");
	for (char *const *word = l->program; *word; word++) {
		buf_putc(out, ' ');
		quote(out, *word);
	}
	buf_puts(out, " </dev/null");
}

static int body_of(const struct label *l, struct buf *out, struct err *e)
{
	autobuf struct buf command = { 0 };
	struct json_out o = { .buf = out };

	command_of(l, &command);
	jo_object(&o, NULL);
	jo_object(&o, "action");
	jo_string(&o, "action", "run");
	jo_object(&o, "args");
	jo_string(&o, "command", buf_str(&command));
	jo_bool(&o, "is_static", true);
	jo_bool(&o, "blocking", true);
	jo_end_object(&o);
	jo_real(&o, "timeout", FOREVER_S);
	jo_end_object(&o);
	jo_end_object(&o);
	return command.failed ? buf_check(&command, e) : buf_check(out, e);
}

static int order(const struct record *r, const struct label *l, struct err *e)
{
	autobuf struct buf body = { 0 };
	autoclose int fd = -1;
	struct client_request post = { .method = "POST",
				       .path = "/execute_action",
				       .key = r->key,
				       .timeout_ms = CONNECT_MS };

	if (body_of(l, &body, e) < 0)
		return -e->code;
	post.body = buf_str(&body);
	post.body_len = body.len;
	fd = client_connect(INADDR_LOOPBACK, r->host_port, CONNECT_MS, e);
	if (fd < 0 || client_send(fd, &post, e) < 0)
		return -e->code;
	return take_fd(&fd);
}

/* --- until it answers ------------------------------------------------------------------------ */

/* What it wrote last, on one line. */
static void tail(const struct buf *reply, char out[TAIL_BYTES + 1])
{
	autojson struct json_doc *doc = NULL;
	struct json_limits limits = { .bytes = CLIENT_BODY_MAX, .depth = 16, .values = 1000 };
	const struct json *content = NULL;
	struct err e = { 0 };
	size_t skip, n;

	out[0] = '\0';
	if (json_parse(buf_str(reply), reply->len, &limits, &doc, &e) == 0)
		content = json_get(json_root(doc), "content");
	if (doc && !content)
		content = json_get(json_root(doc), "detail"); /* the executor's own refusal */
	if (!content || content->type != JSON_STRING)
		return;
	skip = content->string.len > TAIL_BYTES ? content->string.len - TAIL_BYTES : 0;
	n = content->string.len - skip;
	memcpy(out, content->string.bytes + skip, n);
	out[n] = '\0';
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

static int has_ended(int fd, const struct label *l, struct err *e)
{
	autobuf struct buf reply = { 0 };
	char last[TAIL_BYTES + 1];
	bool again;
	int status = client_answer(fd, CONNECT_MS, &reply, &again, e);

	if (status < 0)
		return err_wrap(e, "the session's executor");
	tail(&reply, last);
	return err_code(e, ECHILD, "'%.60s' has ended at once%s%s", l->program[0],
			last[0] ? ": " : "", last);
}

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
	char text[] = "HTTP/1.1 200";
	size_t n = 0;

	while (n < sizeof(text) - 1 && poll(&p, 1, CONNECT_MS) > 0) {
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

int service_start(const struct record *r, const struct label *l, struct err *e)
{
	uint64_t until = now_ms() + READY_MS;
	uint16_t port = l->program ? published(r, l->program_port) : 0;
	autoclose int fd = -1;

	if (!l->program)
		return 0;
	fd = order(r, l, e);
	if (fd < 0)
		return fd;
	while (now_ms() < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, TURN_MS) > 0)
			return has_ended(fd, l, e);
		if (answers(port))
			return 0;
	}
	return err_code(e, ETIMEDOUT, "'%.60s' does not answer at its port %u", l->program[0],
			l->program_port);
}
