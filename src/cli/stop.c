/* SPDX-License-Identifier: MIT */
/* stop.c - `ohsandbox stop`: the end of a session, and of its layers unless they are to be kept. */
#include <stddef.h>

#include "base/log.h"
#include "cli/cli.h"
#include "launch/lifecycle.h"
#include "plan/strv.h"
#include "session/remove.h"
#include "session/session.h"

struct stop_args {
	bool keep, all;
};

static const struct opt options[] = {
	{ "keep", 'k', OPT_FLAG, offsetof(struct stop_args, keep), NULL,
	  "keep its layers, for 'diff'", NULL },
	{ "all", 'a', OPT_FLAG, offsetof(struct stop_args, all), NULL, "every session", NULL },
	{ .kind = OPT_END },
};

/* Its processes end first: who holds its lock (init, or a supervisor that then takes it down
 * itself) lets go, and what is left is ours. */
static int end(struct session *s, bool keep, struct err *e)
{
	if (keep && !s->record.keep && session_note(s, e, "keep") < 0)
		return -e->code;
	if (lifecycle_kill(&s->record, e) < 0 || session_lock(s, true, e) < 0)
		return -e->code;
	if (!session_exists(s))
		return 0;
	if (lifecycle_down(s, !keep, e) < 0)
		return -e->code;
	return keep ? layers_keep(s, e) : 0;
}

static int stop_one(int state, const char *id, bool keep, struct err *e)
{
	struct session *s = NULL;
	int r;

	if (session_open(state, id, false, &s, e) < 0)
		return -e->code;
	r = end(s, keep, e);
	session_close(s);
	return r;
}

static int add_id(const char *id, void *arg, struct err *e)
{
	return strv_add(arg, id, e);
}

static int stop_all(int state, char *const *ids, bool keep)
{
	int status = EXIT_OK;

	for (; ids && *ids; ids++) {
		struct err e = { 0 };

		if (stop_one(state, *ids, keep, &e) == 0)
			continue;
		log_error("%s", e.text);
		status = EXIT_FAILED;
	}
	return status;
}

static int stop_main(const struct command *c, int argc, char **argv)
{
	struct stop_args a = { 0 };
	autostrv char **every = NULL;
	autoclose int state = -1;
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (a.all != (n == 0))
		return cli_usage(c, "takes ids of sessions, or --all");
	state = cli_state(&e);
	if (state < 0 || (a.all && session_each(state, add_id, &every, &e) < 0))
		return cli_fail(c, &e);
	return stop_all(state, a.all ? every : argv, a.keep);
}

const struct command command_stop = {
	.name = "stop",
	.operands = "ID...",
	.summary = "End sessions, and remove their layers unless they are to be kept",
	.examples =
		"  ohsandbox stop 3fa9\n  ohsandbox stop --keep 3fa9 && ohsandbox diff 3fa9\n  ohsandbox stop --all\n",
	.options = options,
	.main = stop_main,
};
