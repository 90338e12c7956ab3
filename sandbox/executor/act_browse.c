/* SPDX-License-Identifier: MIT */
/* act_browse.c - the actions `browse` and `browse_interactive`, as of an executor without a browser.
 *
 * This is the place of one: a job comes in, an observation goes out. */
#include "sandbox/executor/act.h"
#include "sandbox/executor/server.h"

void act_browse(struct job *job)
{
	struct observation o = { .kind = OBSERVED_ERROR };

	buf_puts(&o.content, "Browser functionality is not supported or disabled.");
	dispatch_done(&job->server->dispatch, &o);
}
