/* SPDX-License-Identifier: MIT */
/* pause.c - `ohsandbox pause` and `ohsandbox resume`. */
#include "launch/pause.h"

#include <stddef.h>

#include "base/log.h"
#include "cli/cli.h"
#include "session/session.h"

struct pause_args {
	bool to_disk;
};

static const struct opt pause_options[] = {
	{ "to-disk", 0, OPT_FLAG, offsetof(struct pause_args, to_disk), NULL,
	  "end its processes; files, id, key and ports stay", NULL },
	{ .kind = OPT_END },
};

static int pause_one(int state, const char *id, const struct pause_args *a, struct err *e)
{
	return pause_session(state, id, a->to_disk ? PAUSE_DISK : PAUSE_FREEZE, e);
}

static int resume_one(int state, const char *id, const struct pause_args *a, struct err *e)
{
	struct laps laps;

	(void)a;
	laps_start(&laps);
	return resume_session(state, id, &laps, e);
}

static int each_of(const struct command *c, int argc, char **argv,
		   int (*one)(int state, const char *id, const struct pause_args *a, struct err *e))
{
	struct pause_args a = { 0 };
	autoclose int state = -1;
	struct err e = { 0 };
	int failed = EXIT_OK, status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n == 0)
		return cli_usage(c, "takes ids of sessions");
	state = cli_state(&e);
	if (state < 0)
		return cli_fail(c, &e);
	for (int i = 0; i < n; i++) {
		if (one(state, argv[i], &a, &e) >= 0)
			continue;
		log_error("%s", e.text);
		failed = EXIT_FAILED;
	}
	return failed;
}

static int pause_main(const struct command *c, int argc, char **argv)
{
	return each_of(c, argc, argv, pause_one);
}

static int resume_main(const struct command *c, int argc, char **argv)
{
	return each_of(c, argc, argv, resume_one);
}

const struct command command_pause = {
	.name = "pause",
	.operands = "ID...",
	.summary = "Let sessions stand still until they are resumed",
	.examples =
		"  ohsandbox pause 3fa9\n  ohsandbox pause --to-disk 3fa9 && ohsandbox diff 3fa9\n",
	.options = pause_options,
	.main = pause_main,
};

static const struct opt resume_options[] = {
	{ .kind = OPT_END },
};

const struct command command_resume = {
	.name = "resume",
	.operands = "ID...",
	.summary = "Bring paused sessions back, as they were",
	.examples = "  ohsandbox resume 3fa9\n",
	.options = resume_options,
	.main = resume_main,
};
