/* SPDX-License-Identifier: MIT */
/* start.c - `ohsandbox start`: a session that stays, reached by its executor. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "cli/report.h"
#include "cli/session_args.h"
#include "cli/session_json.h"
#include "launch/client.h"
#include "launch/lifecycle.h"
#include "launch/net.h"
#include "launch/supervise.h"

#define READY_MS 30000
#define ENDING_MS 1000 /* from the end of the one to that of the other */

static const struct opt options[] = {
	SESSION_OPTIONS,
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

/* It is ready when it answers, not when it says so: a request to the listener that the caller will
 * use waits in its queue until the server is there. */
static int ask_alive(const struct record *r, struct err *e)
{
	const struct client_request alive = { .method = "GET",
					      .path = "/alive",
					      .timeout_ms = READY_MS };
	autoclose int fd = client_connect(INADDR_LOOPBACK, r->host_port, READY_MS, e);
	autobuf struct buf body = { 0 };
	bool again;
	int status;

	if (fd < 0)
		return fd;
	status = client_exchange(fd, &alive, &body, &again, e);
	if (status >= 0 && status != 200)
		return err_code(e, EPROTO, "/alive answers %d", status);
	return status < 0 ? status : 0;
}

/* An executor that ends closes what it listened on, and its socket to us. */
static int wait_until_alive(struct launch *l, struct err *e)
{
	struct pollfd ctl = { .fd = l->ctl };

	launch_leave_listeners(l);
	if (ask_alive(&l->session->record, e) == 0)
		return 0;
	if (poll(&ctl, 1, ENDING_MS) > 0 && (ctl.revents & POLLHUP))
		return supervise_no_word(e);
	return err_wrap(e, "the session's executor");
}

/* A signal that came meanwhile says that nobody wants the session any more. */
static bool is_cancelled(const struct start *s)
{
	struct pollfd p = { .fd = s->launch.signals, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int bring_up(struct start *s, struct err *e)
{
	struct launch *l = &s->launch;
	struct err later = { 0 };
	int r;

	s->state = decision_state(&s->decision, &s->report, e);
	if (s->state < 0)
		return s->state;
	launch_init(l, s->state, s->decision.plan);
	l->stays = true;
	if (!s->args.quiet)
		decision_warn(&s->decision);
	if (lifecycle_up(l, e) < 0)
		return -e->code;
	report_stages(&s->report, l->times, l->n_times);
	r = wait_until_alive(l, e);
	report_stage(&s->report, "alive");
	/* The address printed must answer at once, too: the link comes into use a moment after it is up. */
	if (r == 0)
		r = net_settle(&l->session->record, e);
	if (r == 0 && is_cancelled(s))
		r = err_code(e, EINTR, "interrupted");
	if (r == 0)
		r = session_hand_over(l->session, e);
	if (r == 0)
		return 0;
	if (lifecycle_down(l->session, true, &later) < 0)
		log_error("%s", later.text);
	return -e->code;
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

	if (decide(&s->args, &s->report, &s->decision, e) < 0)
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
