/* SPDX-License-Identifier: MIT */
/* start.c - `ohsandbox start`: a session that stays, reached by its executor. */
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/session_args.h"
#include "launch/decide.h"
#include "launch/session_json.h"
#include "launch/start.h"

static const struct opt options[] = {
	SESSION_OPTIONS,
	SESSION_CALL("name", 0, session_take_name, "NAME",
		     "call it so, in every command that takes an id"),
	SESSION_FLAG("json", 0, json, "the default, and the only form"),
	{ .kind = OPT_END },
};

struct start {
	const struct command *command;
	struct session_args args;
	struct report report;
	struct decision decision;
	struct launch launch;
	int state;
};

static int bring_up(struct start *s, struct err *e)
{
	s->state = decision_state(&s->decision, &s->report.laps, e);
	if (s->state < 0)
		return s->state;
	launch_init(&s->launch, s->state, s->decision.plan);
	if (!s->args.quiet)
		decision_warn(&s->decision);
	return start_session(&s->launch, &s->report.laps, e);
}

static int show(const struct start *s)
{
	autobuf struct buf out = { 0 };
	struct json_out o = { .buf = &out };

	if (s->args.verbose) {
		report_times(&s->report, &out);
		(void)!write(STDERR_FILENO, buf_str(&out), out.len); /* nobody is left to tell */
		buf_reset(&out);
	}
	session_json(&o, NULL, &s->launch.session->record, true, true);
	buf_putc(&out, '\n');
	return cli_print(s->command, &out);
}

static int start_all(struct start *s, struct err *e)
{
	struct err later = { 0 };
	int status;

	if (session_args_decide(&s->args, &s->report.laps, &s->decision, e) < 0)
		return cli_fail(s->command, e);
	if (s->args.dry_run) {
		autobuf struct buf out = { 0 };

		plan_show(s->decision.plan, &out);
		return cli_print(s->command, &out);
	}
	if (bring_up(s, e) < 0)
		return cli_fail(s->command, e);
	status = show(s);
	/* Nobody knows its name: it would stay for ever. */
	if (status != EXIT_OK && lifecycle_down(s->launch.session, true, &later) < 0)
		log_error("%s", later.text);
	return status;
}

static int start_main(const struct command *c, int argc, char **argv)
{
	struct start s = { .command = c, .state = -1 };
	struct err e = { 0 };
	int n, status;

	report_init(&s.report);
	session_args_init(&s.args);
	n = cli_options(c, argc, argv, &s.args, &status);
	if (n > 0)
		status = cli_usage(c, "takes no operand; 'run' runs a command");
	else if (n == 0)
		status = start_all(&s, &e);
	if (s.launch.plan)
		launch_clear(&s.launch);
	decision_clear(&s.decision);
	session_args_clear(&s.args);
	drop_fd(&s.state);
	return status;
}

const struct command command_start = {
	.name = "start",
	.summary = "Start a session that stays, and print how to reach it",
	.examples = "  ohsandbox start --memory 2G\n"
		    "  ID=$(ohsandbox start --net nat | jq -r .id)\n"
		    "  ohsandbox act $ID run 'make check'\n"
		    "  ohsandbox stop $ID\n",
	.options = options,
	.main = start_main,
};
