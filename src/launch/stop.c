/* SPDX-License-Identifier: MIT */
/* stop.c - see stop.h. */
#include "launch/stop.h"

#include "launch/lifecycle.h"
#include "session/remove.h"

/* Its processes end first: who holds its lock (init, or a supervisor that then takes it down
 * itself) lets go, and what is left is ours. */
static int end(struct session *s, bool keep, struct err *e)
{
	if (session_claim(s, true, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	/* From here on it is not one to be brought back, whoever takes it down. */
	if ((s->record.paused || s->record.persists) && session_note(s, e, "stops") < 0)
		return -e->code;
	if (keep && !s->record.keep && session_note(s, e, "keep") < 0)
		return -e->code;
	if (lifecycle_end(s, e) < 0)
		return e->code == ENOENT ? 0 : -e->code; /* its starter has taken it down */
	if (!session_exists(s))
		return 0;
	if (lifecycle_down(s, !keep, e) < 0)
		return -e->code;
	return keep ? layers_keep(s, e) : 0;
}

int stop_session(int state, const char *id, bool keep, struct err *e)
{
	struct session *s = NULL;
	int r;

	if (session_open(state, id, false, &s, e) < 0)
		return -e->code;
	r = end(s, keep, e);
	session_close(s);
	return r;
}
