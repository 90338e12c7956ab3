/* SPDX-License-Identifier: MIT */
/* call.c - see call.h. */
#include "api/call.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/reply.h"
#include "base/str.h"
#include "session/session.h"

#define DYING_MS 2000 /* from the end of its executor to that of the session */
#define DYING_TURN_MS 20
#define SAID_MAX 4096
#define PREFIX "ohsandbox: " /* of what a program of ours says */

static void call_free(struct call *call)
{
	struct call **at = &call->server->call;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
	drop_fd(&call->said);
	explicit_bzero(call->key, sizeof(call->key));
	free(call->text);
	free(call);
}

/* What a program of ours said last, instead of how it ended. */
static void hear(const struct call *call, struct err *e)
{
	char text[SAID_MAX + 1], *last;
	ssize_t n = pread(call->said, text, SAID_MAX, 0);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	text[n] = '\0';
	last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	if (str_starts(last, PREFIX))
		last += strlen(PREFIX);
	(void)err_code(e, e->code, "%s", last);
}

static void call_done(struct job *j)
{
	struct call *call = j->arg;
	struct err e = j->result->error;

	if (j->output.failed) /* whatever became of it then */
		(void)err_code(&e, EFBIG, "the answer is larger than %d bytes", JOB_OUTPUT_MAX);
	else if (e.code && call->said >= 0)
		hear(call, &e);
	if (e.code && !session_stamp(call->server->state, call->id))
		(void)err_code(&e, EIDRM, "the session was stopped meanwhile");
	if (call->conn && e.code)
		reply_error(call->conn, &e);
	else if (call->conn)
		conn_reply(call->conn, 200, call->type, buf_str(&j->output), j->output.len);
	call_free(call);
}

static void call_left(struct conn_mind *m)
{
	job_cancel(container_of(m, struct call, mind)->job);
}

/* Is there a place for one more? Else the client has its answer. */
static bool has_place(const struct runtime *r, struct conn *c)
{
	unsigned n = 0, own = 0;

	for (const struct call *call = r->server->call; call; call = call->next) {
		n++;
		own += str_eq(call->id, r->id);
	}
	if (own >= CALLS_SESSION_MAX)
		conn_reply_detail(c, 429, "too much is asked of this session at once");
	else if (n >= CALLS_MAX)
		conn_reply_detail(c, 503, "too much is asked of all sessions at once");
	return own < CALLS_SESSION_MAX && n < CALLS_MAX;
}

static struct call *call_new(const struct runtime *r, const struct call *like, struct err *e)
{
	struct call *call = malloc(sizeof(*call));

	if (!call) {
		(void)err_code(e, ENOMEM, "no memory");
		return NULL;
	}
	*call = *like;
	memcpy(call->id, r->id, sizeof(call->id));
	memcpy(call->key, r->key, sizeof(call->key));
	call->port = r->port;
	call->server = r->server;
	call->state_path = r->server->state_path;
	call->mind.left = call_left;
	call->said = -1;
	return call;
}

static struct job *job_of(struct call *call,
			  int (*run)(struct job *, int, const int *, struct err *), struct err *e)
{
	struct job *j;

	if (call->is_program) {
		call->said = memfd_create("said", MFD_CLOEXEC);
		if (call->said < 0) {
			(void)err_errno(e, "a place for errors");
			return NULL;
		}
	}
	j = job_new(run, call_done, call);
	if (j)
		j->fds[0] = call->said;
	else
		(void)err_code(e, ENOMEM, "no memory");
	return j;
}

void call_begin(struct runtime *r, struct conn *c, struct call like,
		int (*run)(struct job *, int, const int *, struct err *))
{
	struct err e = { 0 };
	struct call *call;

	if (!has_place(r, c)) {
		free(like.text);
		return;
	}
	call = call_new(r, &like, &e);
	if (!call) {
		free(like.text);
		reply_error(c, &e);
		return;
	}
	call->job = job_of(call, run, &e);
	if (!call->job) {
		call_free(call);
		reply_error(c, &e);
		return;
	}
	call->next = r->server->call;
	r->server->call = call;
	conn_hold(c, &call->conn);
	conn_mind(c, &call->mind);
	job_start(&r->server->calls, call->job);
}

int call_explain(const struct call *call, struct err *e)
{
	autoclose int state = -1;
	struct err other = { 0 };

	if (e->code == ETIMEDOUT)
		return -e->code; /* what does not answer lives */
	state = state_open(call->state_path, &other);
	for (unsigned waited = 0; state >= 0 && waited < DYING_MS; waited += DYING_TURN_MS) {
		if (session_is_alive(state, call->id, &other) == 0)
			return err_code(e, ESRCH, "the session does not run any more");
		(void)poll(NULL, 0, DYING_TURN_MS);
	}
	return -e->code;
}
