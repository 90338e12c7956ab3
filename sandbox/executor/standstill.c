/* SPDX-License-Identifier: MIT */
/* standstill.c - see standstill.h. */
#include "sandbox/executor/standstill.h"

#include "sandbox/executor/server.h"

int standstill_admit(struct server *s, const struct http_request *r, const char **why)
{
	static const char *const heard[] = { "/alive", "/server_info", STANDSTILL_PAUSE,
					     STANDSTILL_RESUME };
	struct http_text segment;

	if (!s->loop.stands)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(heard); i++)
		if (http_path_fits(r->path, heard[i], &segment))
			return 0;
	*why = "The session is paused.";
	return 503;
}

static void tell_init(struct server *s, enum ctl_kind kind)
{
	struct ctl_message m = { .kind = kind };
	struct err e = { 0 };

	if (ctl_send(s->procs.link.fd, &m, &e) < 0)
		s->procs.broken = true;
}

/* Init first: it must not end anything that we would still wait for. */
void standstill_pause(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char paused[] = "{\"paused\":true}";

	(void)body;
	(void)len;
	tell_init(s, CTL_STAND);
	loop_stand(&s->loop);
	conn_reply(c, 200, NULL, paused, sizeof(paused) - 1);
}

void standstill_resume(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char goes_on[] = "{\"paused\":false}";

	(void)body;
	(void)len;
	loop_go(&s->loop);
	tell_init(s, CTL_GO);
	conn_reply(c, 200, NULL, goes_on, sizeof(goes_on) - 1);
}
