/* SPDX-License-Identifier: MIT */
/* tidy.c - see tidy.h. */
#include "api/tidy.h"

#include "base/log.h"
#include "session/session.h"
#include "session/spare.h"

#define TIDY_AFTER_MS 300 /* they rest for some of that */
#define TIDY_MOST 64	  /* a daemon that is to end waits for this job */

static int run(struct job *j, int out, const int *fds, struct err *e)
{
	const struct server *s = j->arg;
	autoclose int state = state_open(s->state_path, e);
	int r = state < 0 ? state : 1;

	(void)out;
	(void)fds;
	for (unsigned n = 0; r > 0 && n < TIDY_MOST; n++)
		r = spare_tidy(state, -1, e);
	return r < 0 ? r : 0;
}

static void done(struct job *j)
{
	struct server *s = j->arg;

	/* What stays is removed by whoever needs the room. */
	if (j->result->error.code)
		log_debug("%s", j->result->error.text);
	s->tidying = false;
	if (s->untidy)
		tidy_later(s);
}

static void begin(struct timer *timer)
{
	struct server *s = container_of(timer, struct server, tidy);
	struct job *j = s->draining ? NULL : job_new(run, done, s);

	if (!j)
		return; /* starts do some of it */
	s->untidy = false;
	s->tidying = true;
	job_start(&s->calls, j);
}

void tidy_later(struct server *s)
{
	s->untidy = true;
	if (!s->tidying && !s->tidy.armed)
		loop_arm(&s->loop, &s->tidy, loop_now() + TIDY_AFTER_MS);
}

void tidy_init(struct server *s)
{
	s->tidy.fire = begin;
}
