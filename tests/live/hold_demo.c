/* SPDX-License-Identifier: MIT */
/* hold_demo.c - listens on the port of a session that is paused to disk, as the daemon does, says so, and
 * brings the session back on these listeners when a line comes.
 *
 *	hold_demo ID PORT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/pause.h"
#include "session/session.h"

static int bring_back(int state, const char *id, const int *fds, unsigned n, struct err *e)
{
	struct laps laps;
	char line[8];

	(void)puts("held");
	(void)fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return err_code(e, EIO, "no line came");
	laps_start(&laps);
	return resume_session_on(state, id, fds, n, &laps, e);
}

int main(int argc, char **argv)
{
	int fds[LISTEN_LOOPBACK_MAX], n, r;
	struct err e = { 0 };
	int state = argc == 3 ? state_open(NULL, &e) : -1;

	n = state < 0 ? state : listen_loopback_again(fds, (uint16_t)atoi(argv[2]), &e);
	r = n < 0 ? n : bring_back(state, argv[1], fds, (unsigned)n, &e);
	while (n > 0)
		(void)close(fds[--n]);
	if (r < 0)
		(void)fprintf(stderr, "hold_demo: %s\n", e.text);
	return r < 0;
}
