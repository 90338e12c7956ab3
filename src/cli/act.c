/* SPDX-License-Identifier: MIT */
/* act.c - `ohsandbox act`: actions for a living session, and what it observed, one JSON line each. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "launch/client.h"
#include "launch/session_json.h"
#include "session/session.h"

#define CONNECT_MS 5000
#define CONTENT_MAX (64u << 20)
#define LINE_MAX_BYTES (64u << 20)

struct act_args {
	bool text;
	uint64_t timeout_ms; /* 0: none */
};

static int take_timeout(void *into, const char *value, struct err *e)
{
	return str_duration(value, &((struct act_args *)into)->timeout_ms, e);
}

static const struct opt options[] = {
	{ "text", 0, OPT_FLAG, offsetof(struct act_args, text), NULL,
	  "print the observation's content alone", NULL },
	{ "timeout", 't', OPT_CALL, 0, "TIME", "wait no longer for an answer", take_timeout },
	{ .kind = OPT_END },
};

struct act {
	const struct act_args *args;
	const struct record *record;
	int fd; /* connection; -1: none */
};

/* ---- the body of a request ------------------------------------------------------------------ */

static void open_action(struct json_out *o, const char *name)
{
	jo_object(o, NULL);
	jo_object(o, "action");
	jo_string(o, "action", name);
	jo_object(o, "args");
}

static void close_action(struct json_out *o)
{
	jo_end_object(o);
	jo_end_object(o);
	jo_end_object(o);
}

static int body_run(char **words, struct buf *body, struct err *e)
{
	autobuf struct buf command = { 0 };
	struct json_out o = { .buf = body };

	if (!words[0])
		return err_code(e, EINVAL, "run: a command is missing");
	for (char **w = words; *w; w++)
		buf_printf(&command, "%s%s", w == words ? "" : " ", *w);
	open_action(&o, "run");
	jo_string(&o, "command", buf_str(&command));
	close_action(&o);
	return buf_check(&command, e);
}

static int body_read(char **words, struct buf *body, struct err *e)
{
	struct json_out o = { .buf = body };

	if (!words[0] || words[1])
		return err_code(e, EINVAL, "read: takes one path");
	open_action(&o, "read");
	jo_string(&o, "path", words[0]);
	close_action(&o);
	return 0;
}

static int body_write(char **words, struct buf *body, struct err *e)
{
	autobuf struct buf content = { .limit = CONTENT_MAX + 1 };
	struct json_out o = { .buf = body };

	if (!words[0] || words[1])
		return err_code(e, EINVAL,
				"write: takes one path; the content comes on standard input");
	if (io_read_all(STDIN_FILENO, CONTENT_MAX, &content, e) < 0)
		return err_wrap(e, "standard input");
	open_action(&o, "write");
	jo_string(&o, "path", words[0]);
	jo_string_n(&o, "content", buf_str(&content), content.len);
	close_action(&o);
	return 0;
}

static const struct {
	const char *name;
	int (*body)(char **words, struct buf *body, struct err *e);
} actions[] = {
	{ "run", body_run },
	{ "read", body_read },
	{ "write", body_write },
};

static int body_of_words(char **words, struct buf *body, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (str_eq(words[0], actions[i].name))
			return actions[i].body(words + 1, body, e);
	return err_code(
		e, EINVAL,
		"'%s' is none of run, read, write; others go as JSON lines on standard input",
		words[0]);
}

/* A line is an action, or a whole request body. */
static int body_of_line(const char *line, size_t len, struct buf *body, struct err *e)
{
	static const struct json_limits limits = { .bytes = LINE_MAX_BYTES,
						   .depth = 32,
						   .values = 100000 };
	autojson struct json_doc *doc = NULL;
	const struct json *action;

	if (json_parse(line, len, &limits, &doc, e) < 0)
		return -e->code;
	action = json_root(doc)->type == JSON_OBJECT ? json_get(json_root(doc), "action") : NULL;
	if (!action)
		return err_code(e, EINVAL, "no object with an 'action' in it");
	if (action->type == JSON_OBJECT) {
		buf_add(body, line, len);
		return 0;
	}
	buf_puts(body, "{\"action\":");
	buf_add(body, line, len);
	buf_putc(body, '}');
	return 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void add_text(const struct json *value, struct buf *out)
{
	if (value && value->type == JSON_STRING)
		buf_add(out, value->string.bytes, value->string.len);
	if (out->len && out->data[out->len - 1] != '\n')
		buf_putc(out, '\n');
}

static int show(const struct act *a, int status, const struct buf *reply, struct err *e)
{
	static const struct json_limits limits = { .bytes = CLIENT_BODY_MAX,
						   .depth = 64,
						   .values = 1000000 };
	autojson struct json_doc *doc = NULL;
	autobuf struct buf out = { .limit = CLIENT_BODY_MAX + 2 };
	const struct json *detail;

	/* Foreign: it is checked, also where it is handed on as it is. */
	if (json_parse(buf_str(reply), reply->len, &limits, &doc, e) < 0)
		return err_wrap(e, "the executor's answer");
	if (status != 200) {
		detail = json_root(doc)->type == JSON_OBJECT ? json_get(json_root(doc), "detail")
							     : NULL;
		return err_code(e, EPROTO, "the executor answers %d: %.200s", status,
				detail && detail->type == JSON_STRING ? detail->string.bytes : "");
	}
	if (a->args->text && json_root(doc)->type == JSON_OBJECT)
		add_text(json_get(json_root(doc), "content"), &out);
	else {
		buf_add(&out, buf_str(reply), reply->len);
		buf_putc(&out, '\n');
	}
	if (buf_check(&out, e) < 0)
		return -e->code;
	if (out.len && io_write_all(STDOUT_FILENO, out.data, out.len, e) < 0)
		return err_wrap(e, "standard output");
	return 0;
}

static int send_action(struct act *a, const struct buf *body, struct err *e)
{
	struct client_request r = { .method = "POST",
				    .path = "/execute_action",
				    .key = a->record->key,
				    .body = body->data,
				    .body_len = body->len,
				    .timeout_ms = -1 };
	autobuf struct buf reply = { 0 };
	bool again = false;
	int status;

	if (buf_check(body, e) < 0)
		return -e->code;
	if (a->args->timeout_ms)
		r.timeout_ms = a->args->timeout_ms > INT32_MAX ? INT32_MAX
							       : (int)a->args->timeout_ms;
	if (a->fd < 0)
		a->fd = client_connect(INADDR_LOOPBACK, a->record->host_port, CONNECT_MS, e);
	if (a->fd < 0)
		return a->fd;
	status = client_exchange(a->fd, &r, &reply, &again, e);
	if (!again)
		drop_fd(&a->fd);
	return status < 0 ? status : show(a, status, &reply, e);
}

static int act_lines(struct act *a, struct err *e)
{
	autofree char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		autobuf struct buf body = { .limit = LINE_MAX_BYTES + 64 };

		if (line[n - 1] == '\n')
			n--;
		if (n == 0)
			continue;
		if (body_of_line(line, (size_t)n, &body, e) < 0 || send_action(a, &body, e) < 0)
			return -e->code;
	}
	return ferror(stdin) ? err_errno(e, "standard input") : 0;
}

static int act(struct act *a, char **words, struct err *e)
{
	autobuf struct buf body = { .limit = CONTENT_MAX * 2ul };

	if (!a->record->host_port)
		return err_code(e, ECONNREFUSED, "session %s has no port on this host",
				a->record->id);
	if (!words[0])
		return act_lines(a, e);
	if (body_of_words(words, &body, e) < 0)
		return -e->code;
	return send_action(a, &body, e);
}

static int find(int state, const char *id, struct session **s, struct err *e)
{
	int alive;

	if (session_open(state, id, false, s, e) < 0)
		return -e->code;
	alive = session_is_alive(state, (*s)->record.id, e);
	if (alive >= 0 && str_eq(session_state_name(&(*s)->record, alive), "paused"))
		return err_code(e, ESRCH, "session %s is paused: 'ohsandbox resume %s' wakes it",
				(*s)->record.id, (*s)->record.id);
	if (alive == 0)
		return err_code(e, ESRCH, "session %s was kept, but does not run", (*s)->record.id);
	return alive < 0 ? alive : 0;
}

static int act_main(const struct command *c, int argc, char **argv)
{
	struct act_args args = { 0 };
	struct session *s = NULL;
	struct err e = { 0 };
	struct act a = { .args = &args, .fd = -1 };
	autoclose int state = -1;
	int status, r, n = cli_options(c, argc, argv, &args, &status);

	if (n < 0)
		return status;
	if (n == 0)
		return cli_usage(c, "takes the id of a session");
	state = cli_state(&e);
	r = state < 0 ? state : find(state, argv[0], &s, &e);
	if (r == 0) {
		a.record = &s->record;
		r = act(&a, argv + 1, &e);
	}
	drop_fd(&a.fd);
	session_close(s);
	return r < 0 ? cli_fail(c, &e) : EXIT_OK;
}

const struct command command_act = {
	.name = "act",
	.operands = "ID [run COMMAND | read PATH | write PATH]",
	.summary =
		"Send an action, or JSON lines of actions, to a session, and print what it observed",
	.examples =
		"  ohsandbox act 3fa9 run 'make -j2 && ./test'\n"
		"  ohsandbox act --text 3fa9 read /workspace/README.md\n"
		"  ohsandbox act 3fa9 write notes.txt < notes.txt\n"
		"  echo '{\"action\":\"run\",\"args\":{\"command\":\"pwd\"}}' | ohsandbox act 3fa9\n",
	.options = options,
	.first_operand_ends = true,
	.main = act_main,
};
