/* SPDX-License-Identifier: MIT */
/* wake.c - see wake.h.
 *
 * V0's client holds its one lock while it acts, and again while it resumes what has answered an action
 * with 503: it would wait for itself. So who means the session waits here until it is back. Then a
 * process of its own moves the bytes of that one exchange, whatever becomes of the daemon; the client's
 * next connection is the executor's own. */
#include "api/wake.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "api/operation.h"
#include "api/server.h"
#include "base/json_out.h"
#include "base/log.h"
#include "launch/client.h"

#define CONNECT_MS 5000
#define LINGER_MS 2000
#define PIECE_BYTES 65536
#define CLOSES "Connection: close\r\n"

struct wake {
	struct hearer hearer;
	struct server *server;
	struct runtime *runtime; /* while there is `conn`: its port goes with it */
	struct timer soon;
	struct conn *conn; /* NULL: it went away, or is `client` */
	int client;
	uint16_t port;
	struct buf bytes; /* what has come of the request */
	struct err error;
};

static void wake_free(struct wake *w)
{
	if (w->bytes.data)
		explicit_bzero(w->bytes.data, w->bytes.len); /* a key is in it */
	buf_clear(&w->bytes);
	drop_fd(&w->client);
	free(w);
}

void wake_head(struct http_text head, struct buf *out)
{
	const char *end = memchr(head.at, '\n', head.len);
	size_t first = end ? (size_t)(end - head.at) + 1 : head.len;

	buf_add(out, head.at, first);
	buf_puts(out, CLOSES);
	/* Where somebody else's key was wiped, bytes of zero are left, which no server takes. */
	for (size_t i = first; i < head.len; i++)
		buf_putc(out, head.at[i] ? head.at[i] : ' ');
}

/* --- the exchange, in a process of its own --------------------------------------------------- */

/* Bytes of one direction. */
struct way {
	int from, to;
	const char *bytes;
	size_t have;
	bool over;
	char piece[PIECE_BYTES];
};

static short wanted(const struct way *in, const struct way *out)
{
	return (short)((!in->over && !in->have ? POLLIN : 0) | (out->have ? POLLOUT : 0));
}

static void move(struct way *w, short from_events, short to_events)
{
	ssize_t n;

	if (!w->have && !w->over && from_events) {
		n = recv(w->from, w->piece, sizeof(w->piece), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			w->over = true;
		w->bytes = w->piece;
		w->have = n > 0 ? (size_t)n : 0;
	} else if (w->have && to_events) {
		n = send(w->to, w->bytes, w->have, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			w->over = true; /* who refuses a body may have answered all the same */
			w->have = 0;
		}
		w->bytes += n > 0 ? n : 0;
		w->have -= n > 0 ? (size_t)n : 0;
	}
}

/* Until the session's side ends its answer. */
static void exchange(struct way *there, struct way *back)
{
	struct pollfd polls[2];

	while (!back->over || back->have) {
		short of_client = wanted(there, back), of_session = wanted(back, there);

		/* Who has said his last word would be ready for ever. */
		polls[0] = (struct pollfd) { of_client ? there->from : -1, of_client, 0 };
		polls[1] = (struct pollfd) { of_session ? there->to : -1, of_session, 0 };
		if (poll(polls, 2, -1) < 0)
			continue;
		move(there, polls[0].revents, polls[1].revents);
		move(back, polls[1].revents, polls[0].revents);
	}
}

/* What the client still sends is thrown away for a moment, or the reset would overtake the answer. */
static void linger(int client)
{
	struct pollfd p = { .fd = client, .events = POLLIN };
	uint64_t until = loop_now() + LINGER_MS, now;
	char thrown_away[4096];

	(void)shutdown(client, SHUT_WR); /* it may have gone */
	while ((now = loop_now()) < until && poll(&p, 1, (int)(until - now)) > 0)
		if (recv(client, thrown_away, sizeof(thrown_away), MSG_DONTWAIT) <= 0)
			return;
}

static int relay(const struct wake *w, int client, struct err *e)
{
	autoclose int session = client_connect(INADDR_LOOPBACK, w->port, CONNECT_MS, e);
	autofree struct way *ways = calloc(2, sizeof(*ways));

	if (session < 0)
		return session;
	if (!ways)
		return err_code(e, ENOMEM, "no memory");
	ways[0].from = ways[1].to = client;
	ways[0].to = ways[1].from = session;
	ways[0].bytes = w->bytes.data;
	ways[0].have = w->bytes.len;
	exchange(&ways[0], &ways[1]);
	return 0;
}

/* No 503, on which a client would resume the session itself, in vain. */
static void say_why(int client, const struct err *e)
{
	autobuf struct buf body = { 0 }, text = { 0 };
	struct json_out o = { .buf = &body };

	jo_object(&o, NULL);
	jo_string(&o, "detail", e->text);
	jo_end_object(&o);
	buf_printf(&text,
		   "HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
		   "Content-Length: %zu\r\n" CLOSES "\r\n%s",
		   body.len, buf_str(&body));
	/* It fits, or nobody reads it. */
	(void)!send(client, buf_str(&text), text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int run(struct job *j, int out, const int *fds, struct err *e)
{
	const struct wake *w = j->arg;

	(void)out;
	*e = w->error;
	if (e->code || relay(w, fds[0], e) < 0)
		say_why(fds[0], e);
	linger(fds[0]);
	return e->code ? -e->code : 0;
}

/* --- in the daemon --------------------------------------------------------------------------- */

static void run_done(struct job *j)
{
	wake_free(j->arg);
}

static void told(struct hearer *h, const struct err *e)
{
	struct wake *w = container_of(h, struct wake, hearer);
	struct job *j = job_new(run, run_done, w);

	if (!j) {
		wake_free(w);
		return;
	}
	w->error = *e;
	j->fds[0] = w->client;
	job_start(&w->server->calls, j);
}

/* The connection is taken out of the hands of those who have called wake_begin(); and the port is given
 * away with all that are left on it. */
static void detach(struct timer *timer)
{
	struct wake *w = container_of(timer, struct wake, soon);
	struct err e = { 0 };

	if (w->conn)
		w->client = conn_detach(w->conn, &w->bytes, &e);
	if (w->client >= 0)
		operate_for(w->runtime, OPERATION_RESUME, &w->hearer);
	else
		wake_free(w);
}

void wake_begin(struct runtime *r, uint16_t port, struct conn *c)
{
	const struct http_request *q = conn_request(c);
	struct wake *w;

	/* Clients' libraries connect again by themselves to what they listen to; that is nobody's wish. */
	if (q->has_upgrade || r->server->draining) {
		conn_reply_detail(c, 503, "the session sleeps: any other request wakes it");
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		conn_reply_detail(c, 500, "no memory");
		return;
	}
	log_info("session %s (%s): is wanted: %.*s %.*s", r->id, r->name, (int)q->method.len,
		 q->method.at, (int)q->path.len, q->path.at);
	*w = (struct wake) { .hearer.told = told,
			     .server = r->server,
			     .runtime = r,
			     .soon.fire = detach,
			     .client = -1,
			     .port = port };
	wake_head(conn_head_bytes(c), &w->bytes);
	conn_hold(c, &w->conn);
	loop_arm(&r->server->loop, &w->soon, loop_now());
}
