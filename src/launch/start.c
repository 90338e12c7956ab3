/* SPDX-License-Identifier: MIT */
/* start.c - see start.h. */
#include "launch/start.h"

#include <netinet/in.h>
#include <poll.h>

#include "base/log.h"
#include "launch/client.h"
#include "launch/net.h"
#include "launch/supervise.h"

#define READY_MS 30000
#define ALIVE_BYTES 4096 /* of an answer whose status says all */
#define ADOPT_TURN_MS 20
#define ENDING_MS 1000 /* from the end of the one to that of the other */

/* Whoever has lent the listener holds it too: its end is not heard there, only by its socket to us. Nor
 * must a caller wait who wants the session no more. */
static bool is_heard(const struct launch *l, int fd)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN },
			      { .fd = l->ctl },
			      { .fd = l->signals, .events = POLLIN } };

	return poll(p, ARRAY_LEN(p), READY_MS) > 0 && p[0].revents;
}

/* It is ready when it answers, not when it says so: a request to the listener that the caller will
 * use waits in its queue until the server is there. */
static int ask_alive(const struct launch *l, struct err *e)
{
	const struct client_request alive = { .method = "GET",
					      .path = "/alive",
					      .timeout_ms = READY_MS };
	uint16_t port = l->session->record.host_port;
	autoclose int fd = client_connect(INADDR_LOOPBACK, port, READY_MS, e);
	autobuf struct buf body = { .limit = ALIVE_BYTES };
	bool again;
	int status;

	if (fd < 0 || client_send(fd, &alive, e) < 0)
		return -e->code;
	if (!is_heard(l, fd))
		return err_code(e, ETIMEDOUT, "nothing is heard of it at port %u", port);
	status = client_answer(fd, READY_MS, &body, &again, e);
	if (status >= 0 && status != 200)
		return err_code(e, EPROTO, "/alive answers %d", status);
	return status < 0 ? status : 0;
}

/* A signal that came meanwhile says that nobody wants the session any more. */
static bool is_cancelled(const struct launch *l)
{
	struct pollfd p = { .fd = l->signals, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* An executor that ends closes what it listened on, and its socket to us. */
static int wait_until_alive(struct launch *l, struct err *e)
{
	struct pollfd ctl = { .fd = l->ctl };

	launch_leave_listeners(l);
	if (ask_alive(l, e) == 0)
		return 0;
	if (is_cancelled(l))
		return err_code(e, EINTR, "interrupted");
	if (poll(&ctl, 1, ENDING_MS) > 0 && (ctl.revents & POLLHUP))
		return supervise_no_word(e);
	return err_wrap(e, "the session's executor");
}

/* What the caller will be told comes last: until then a dead session is one that nobody knows of. */
static int leave_alone(struct launch *l, struct err *e)
{
	if (session_hand_over(l->session, e) < 0)
		return -e->code;
	if (l->resumes)
		return session_note(l->session, e, "resumed");
	return l->plan->request->persists ? session_note(l->session, e, "persists") : 0;
}

static int undo(struct launch *l, struct err *e)
{
	return l->resumes ? lifecycle_rest(l->session, e) : lifecycle_down(l->session, true, e);
}

int start_session(struct launch *l, struct laps *laps, struct err *e)
{
	struct err later = { 0 };
	int r;

	l->stays = true;
	if (lifecycle_up(l, e) < 0)
		return -e->code;
	laps_add(laps, l->times, l->n_times);
	r = wait_until_alive(l, e);
	lap(laps, "alive");
	/* The address printed must answer at once, too: the link comes into use a moment after it is up. */
	if (r == 0)
		r = net_settle(&l->session->record, e);
	if (r == 0 && is_cancelled(l))
		r = err_code(e, EINTR, "interrupted");
	if (r == 0)
		r = session_note(l->session, e, "ready");
	if (r == 0)
		r = leave_alone(l, e);
	if (r == 0)
		return 0;
	if (undo(l, &later) < 0)
		log_error("%s", later.text);
	return -e->code;
}

/* Whoever starts it holds its lock, and takes it down himself where that fails; where he was killed it
 * is dead, and taken down by the sweep. */
int start_adopt(int state, const char *id, struct err *e)
{
	for (unsigned waited = 0; waited < READY_MS; waited += ADOPT_TURN_MS) {
		struct session *s = NULL;
		int alive = session_is_alive(state, id, e);
		bool ready;

		if (alive < 0)
			return alive;
		if (!alive)
			return lifecycle_sweep(state, e);
		if (session_open(state, id, false, &s, e) < 0)
			return -e->code;
		ready = s->record.ready;
		session_close(s);
		if (ready)
			return 0;
		(void)poll(NULL, 0, ADOPT_TURN_MS);
	}
	return err_code(e, ETIMEDOUT, "session %s does not answer", id);
}
