/* SPDX-License-Identifier: MIT */
/* reply.c - see reply.h. */
#include "api/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/native.h"
#include "base/json_out.h"
#include "base/log.h"

/* What V0 and V1 do with each: anything but 2xx ends a start; 404 says "gone" of a session, 409 makes
 * V1's application server look again after a resume; 429 is tried again by V0. A file of the
 * host's that is missing is nothing that a client has named: ENOENT is the daemon's own failure. */
static const struct {
	int code, status;
} statuses[] = {
	{ EINVAL, 400 },   { ERR_NONE_SUCH, 404 }, { EACCES, 403 },	{ EPERM, 403 },
	{ ENOTUNIQ, 400 }, { EEXIST, 409 },	   { EBUSY, 409 },	{ EADDRINUSE, 409 },
	{ E2BIG, 400 },	   { EFBIG, 413 },	   { ENOSPC, 507 },	{ EDQUOT, 507 },
	{ ENOMEM, 503 },   { EAGAIN, 503 },	   { EMFILE, 503 },	{ ENFILE, 503 },
	{ EUSERS, 503 },   { ENOSYS, 501 },	   { EOPNOTSUPP, 501 }, { ECANCELED, 409 },
	{ ENOLCK, 503 },   { ESHUTDOWN, 503 },	   { ESRCH, 409 },	{ EIDRM, 410 },
};

static int status_of(const struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (statuses[i].code == e->code)
			return statuses[i].status;
	return 500;
}

void reply_error(struct conn *c, const struct err *e)
{
	conn_reply_detail(c, status_of(e), e->text);
}

void reply_empty(struct conn *c)
{
	conn_reply(c, 200, NULL, "{}", 2);
}

void reply_runtime(struct conn *c, const struct runtime *r, enum answer_kind answer)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	if (answer == ANSWER_EMPTY) {
		reply_empty(c);
		return;
	}
	if (answer == ANSWER_NATIVE)
		native_json(&o, NULL, r);
	else
		runtime_json(&o, NULL, r);
	if (text.failed)
		conn_reply_detail(c, 503, "no memory");
	else
		conn_reply(c, 200, NULL, buf_str(&text), text.len);
}

/* --- the log --------------------------------------------------------------------------------- */

static void put_time(struct json_out *o)
{
	char text[100];
	struct timespec now;
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
		       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
		       tm.tm_sec, now.tv_nsec / 1000000);
	jo_string(o, "time", text);
}

static void put_line(const struct buf *line)
{
	/* Nobody is left to tell where the log cannot be written. */
	(void)!write(STDERR_FILENO, buf_str(line), line->len);
}

void log_operation(const struct runtime *r, const char *what, uint64_t us, const struct err *e)
{
	autobuf struct buf line = { 0 };
	struct json_out o = { .buf = &line };

	if (!r->server->config->log_json) {
		if (e->code)
			log_error("session %s (%s): %s: %s", r->id[0] ? r->id : "-", r->name, what,
				  e->text);
		else
			log_info("session %s (%s): %s: %.1f ms", r->id, r->name, what,
				 (double)us / 1000);
		return;
	}
	jo_object(&o, NULL);
	put_time(&o);
	jo_string(&o, "event", what);
	jo_string(&o, "session", r->id);
	jo_string(&o, "name", r->name);
	jo_real(&o, "ms", (double)us / 1000);
	if (e->code)
		jo_string(&o, "error", e->text);
	jo_end_object(&o);
	buf_putc(&line, '\n');
	put_line(&line);
}

void log_request(struct server *s, const char *what, int status, uint64_t us)
{
	autobuf struct buf line = { 0 };
	struct json_out o = { .buf = &line };

	metrics_request(&s->metrics, status);
	if (!s->config->log_json) {
		log_info("%s %d %.1f ms", what, status, (double)us / 1000);
		return;
	}
	jo_object(&o, NULL);
	put_time(&o);
	jo_string(&o, "event", "request");
	jo_string(&o, "request", what);
	jo_int(&o, "status", status);
	jo_real(&o, "ms", (double)us / 1000);
	jo_end_object(&o);
	buf_putc(&line, '\n');
	put_line(&line);
}
