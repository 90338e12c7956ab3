/* SPDX-License-Identifier: MIT */
/* stop.c - `ohsandbox stop`: the end of a session, and of its layers unless they are to be kept. */
#include <stddef.h>

#include "base/log.h"
#include "cli/cli.h"
#include "launch/stop.h"
#include "plan/strv.h"
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

static int add_id(const char *id, void *arg, struct err *e)
{
	return strv_add(arg, id, e);
}

static int stop_all(int state, char *const *ids, bool keep)
{
	int status = EXIT_OK;

	for (; ids && *ids; ids++) {
		struct err e = { 0 };

		if (stop_session(state, *ids, keep, &e) == 0)
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
