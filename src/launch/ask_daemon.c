/* SPDX-License-Identifier: MIT */
/* ask_daemon.c - see ask_daemon.h. */
#include "launch/ask_daemon.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/json.h"
#include "base/json_out.h"
#include "base/str.h"
#include "launch/client.h"

#define ANSWER_MS 60000
#define TURNS 30 /* it answers after some seconds that it is starting still */
#define ANSWER_MAX (1u << 20)

static int connect_daemon(int state, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(e, "socket");
	/* The directory's own name may be longer than an address. */
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" DAEMON_SOCKET, state);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return err_code(e, ECONNREFUSED, "there is no daemon");
	return take_fd(&fd);
}

/* 1: it is there; 0: not yet. */
static int has_resumed(int status, const struct buf *answer, struct err *e)
{
	autojson struct json_doc *doc = NULL;
	const struct json *state, *detail;

	if (json_parse(buf_str(answer), answer->len, &JSON_LIMITS_DEFAULT, &doc, e) < 0)
		return err_wrap(e, "the daemon's answer");
	state = json_get(json_root(doc), "status");
	detail = json_get(json_root(doc), "detail");
	if (status != 200)
		return err_code(e, EIO, "%s",
				detail && detail->type == JSON_STRING ? detail->string.bytes
								      : "the daemon refuses it");
	return state && state->type == JSON_STRING && str_eq(state->string.bytes, "running");
}

int ask_daemon_resume(int state, const char *id, struct err *e)
{
	for (int turn = 0; turn < TURNS; turn++) {
		autobuf struct buf body = { 0 }, answer = { .limit = ANSWER_MAX };
		autoclose int fd = connect_daemon(state, e);
		struct json_out o = { .buf = &body };
		struct client_request post = { .method = "POST",
					       .path = "/resume",
					       .timeout_ms = ANSWER_MS };
		bool again;
		int status, resumed;

		if (fd < 0)
			return fd;
		jo_object(&o, NULL);
		jo_string(&o, "runtime_id", id);
		jo_end_object(&o);
		if (buf_check(&body, e) < 0)
			return -e->code;
		post.body = buf_str(&body);
		post.body_len = body.len;
		status = client_exchange(fd, &post, &answer, &again, e);
		if (status < 0)
			return err_code(e, ECONNRESET, "the daemon ended meanwhile: %s", e->text);
		resumed = has_resumed(status, &answer, e);
		if (resumed)
			return resumed < 0 ? resumed : 0;
	}
	return err_code(e, ETIMEDOUT, "the daemon does not bring session %s back", id);
}
