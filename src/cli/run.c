/* SPDX-License-Identifier: MIT */
/* run.c - `ohsandbox run`: one command in a new session, which goes away with it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/session_args.h"
#include "launch/decide.h"
#include "launch/lifecycle.h"
#include "launch/relay.h"
#include "launch/supervise.h"
#include "plan/strv.h"
#include "session/remove.h"

#define DIFFERS_BUDGET_US 400 /* the command starts meanwhile; a start must not wait for a look */

static int take_json_fd(void *into, const char *value, struct err *e)
{
	struct session_args *a = into;
	uint64_t fd;

	if (str_u64(value, 0, 1 << 20, &fd, e) < 0)
		return -e->code;
	if (fcntl((int)fd, F_GETFD) < 0)
		return err_code(e, EBADF, "descriptor %s is not open", value);
	a->json_fd = (int)fd;
	a->json = true;
	return 0;
}

static const struct opt options[] = {
	SESSION_OPTIONS,
	SESSION_FLAG("json", 0, json, "one JSON object at the end, on standard error"),
	SESSION_CALL("json-fd", 0, take_json_fd, "N", "the same, on this descriptor"),
	SESSION_FLAG("no-tty", 'T', no_tty, "pipes, also where there is a terminal"),
	{ .kind = OPT_END },
};

/* All that one run holds. */
struct run {
	const struct command *command;
	struct session_args args;
	struct report report;
	struct decision decision;
	struct launch launch;
	struct relay relay;
	struct outcome outcome;
	int session_ends[3]; /* of the command's streams, until they are sent */
	int state;
};

/* The order to start the command. */
static int fill_start(struct launch *l, struct ctl_start *start, struct err *e)
{
	struct run *run = l->command_arg;

	*start = (struct ctl_start) { .tag = SUPERVISE_TAG,
				      .flags = CTL_START_LAST,
				      .argv = run->args.request.argv };
	if (l->plan->as_root)
		start->flags |= CTL_START_ROOT;
	if (run->args.request.tty) {
		start->flags |= CTL_START_TTY;
		run->relay.wants_tty = true;
		relay_window(&start->rows, &start->cols);
		return 0;
	}
	if (relay_pipes(&run->relay, launch_workload_uid(l), launch_workload_gid(l),
			run->session_ends, e) < 0)
		return -e->code;
	memcpy(start->fds, run->session_ends, sizeof(start->fds));
	start->n_fds = 3;
	return 0;
}

/* Our copies would keep the pipes open for ever. */
static void close_session_ends(struct run *run)
{
	for (int i = 0; i < 3; i++)
		drop_fd(&run->session_ends[i]);
}

/* Where the host has a command that the session has not. */
static char *on_host(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path && !strchr(name, '/')) {
		size_t n = strcspn(path, ":");
		struct err e = { 0 };
		autofree char *file = str_fmt(&e, "%.*s/%s", (int)n, path, name);
		struct stat st;

		if (file && n && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(file, X_OK) == 0)
			return take_ptr(&file);
		path += n + (path[n] == ':');
	}
	return NULL;
}

static void explain(struct run *run)
{
	const struct outcome *o = &run->outcome;
	const char *name = run->args.request.argv[0], *rootfs = run->args.request.rootfs;
	autofree char *host = NULL;

	run->report.error = o->failure;
	if (!o->exec_failed)
		return;
	if (o->failure.code == ENOENT && !rootfs)
		host = on_host(name);
	/* What the host has could not be loaded there, and a tree may lack what loads a program. */
	if (o->failure.code == ENOENT && rootfs)
		(void)err_code(&run->report.error, ENOENT,
			       "'%s' is not in '%s', or the interpreter that it names is not", name,
			       rootfs);
	else if (host)
		(void)err_code(
			&run->report.error, ENOENT,
			"'%s' is not in the session; the host has it at '%s': see --toolchains and --mount",
			name, host);
	else if (o->failure.code == ENOENT)
		(void)err_code(&run->report.error, ENOENT, "'%s' is not in the session", name);
	else
		(void)err_code(&run->report.error, o->failure.code, "'%s' cannot be executed: %s",
			       name, strerror(o->failure.code));
}

static void note_left_out(const struct run *run)
{
	const struct request *q = &run->args.request;
	struct err e = { 0 };

	/* A look that fails says nothing about the run. */
	if (q->kind == WORKSPACE_REPO && !q->dirty && !q->rev && !run->args.quiet &&
	    worktree_differs(run->launch.plan, DIFFERS_BUDGET_US, &e) > 0)
		log_info("uncommitted changes are left out; --dirty carries them over");
}

/* What the groups and the upper layer tell, now that nothing of the workload lives. */
static int take_stock(struct run *run, struct err *e)
{
	struct report *r = &run->report;
	struct session *s = run->launch.session;
	struct usage u = { 0 };

	if (s->record.n_groups && cgroup_usage(&s->record, &u, e) < 0)
		return -e->code;
	r->cpu_ms = u.cpu_ms ? u.cpu_ms : run->outcome.cpu_us / 1000;
	r->peak_memory_bytes = u.peak_memory_bytes ? u.peak_memory_bytes
						   : run->outcome.peak_rss_bytes;
	r->hit_memory = u.hit_memory;
	r->hit_pids = u.hit_pids;
	r->hit_cpu = u.hit_cpu;
	lap(&r->laps, "usage");
	if (changes_count(s, &r->changes, e) < 0)
		return err_wrap(e, "what changed");
	r->has_changes = true;
	lap(&r->laps, "changes");
	return 0;
}

/* Wait for the end of all processes, and take stock: at once where the workload has ended by itself,
 * while the kernel takes the rest down. */
static int end(struct run *run, struct err *e)
{
	const struct session *s = run->launch.session;
	bool ended = !s->record.stays && cgroup_workload_ended(&s->record);
	struct err later = { 0 };
	int r = ended ? take_stock(run, e) : 0;

	if (ended)
		cgroup_shed(&s->record);
	if (supervise_end(&run->launch, &run->relay, r < 0 ? &later : e) < 0 && r == 0)
		r = -e->code;
	lap(&run->report.laps, "end");
	if (!ended && take_stock(run, r < 0 ? &later : e) < 0 && r == 0)
		r = -e->code;
	return r;
}

static int watch(struct run *run, struct err *e)
{
	uint64_t timeout = run->launch.plan->limits.timeout_ms;
	struct err later = { 0 };
	int r;

	note_left_out(run);
	r = supervise(&run->launch, &run->relay, run->launch.signals,
		      timeout == LIMIT_NONE ? 0 : timeout, &run->outcome, e);
	lap(&run->report.laps, "command");
	report_outcome(&run->report, &run->outcome);
	if (run->outcome.not_started)
		explain(run);
	if (end(run, r < 0 ? &later : e) < 0 && r == 0)
		r = -e->code;
	return r;
}

static int bring_up(struct run *run, struct err *e)
{
	run->state = decision_state(&run->decision, &run->report.laps, e);
	if (run->state < 0)
		return run->state;
	launch_init(&run->launch, run->state, run->decision.plan);
	run->launch.command = fill_start;
	run->launch.command_arg = run;
	if (!run->args.quiet)
		decision_warn(&run->decision);
	if (lifecycle_up(&run->launch, e) < 0)
		return -e->code;
	close_session_ends(run);
	memcpy(run->report.id, run->launch.session->record.id, sizeof(run->report.id));
	laps_add(&run->report.laps, run->launch.times, run->launch.n_times);
	return 0;
}

static int live(struct run *run, struct err *e)
{
	struct err later = { 0 };
	int r;

	if (bring_up(run, e) < 0)
		return -e->code;
	r = watch(run, e);
	relay_restore(&run->relay);
	run->report.kept = run->args.request.keep && run->report.has_changes;
	if (lifecycle_down(run->launch.session, !run->report.kept, r < 0 ? &later : e) < 0 &&
	    r == 0)
		r = -e->code;
	lap(&run->report.laps, "down");
	supervise_drain(&run->relay, run->launch.signals, &run->outcome);
	if (run->relay.failed.code && r == 0) {
		*e = run->relay.failed;
		r = -e->code;
	}
	return r;
}

/* The last words: never more than the one line, the stages, the object. */
static void say(const struct run *run)
{
	const struct report *r = &run->report;
	autobuf struct buf out = { 0 };
	struct err e = { 0 };

	if (r->error.code)
		log_error("%s%s", r->error.text, cli_cure(&r->error));
	else if (r->hit_timeout && !run->args.quiet)
		log_error("the time was over");
	if (run->args.verbose)
		report_times(r, &out);
	if (r->has_changes && !run->args.quiet) {
		buf_puts(&out, "ohsandbox: ");
		report_line(r, &out);
		buf_putc(&out, '\n');
	}
	/* Nobody is left to tell where these cannot be written. */
	(void)!write(STDERR_FILENO, buf_str(&out), out.len);
	if (!run->args.json)
		return;
	buf_reset(&out);
	report_json(r, &out);
	if (buf_check(&out, &e) < 0 ||
	    io_write_all(run->args.json_fd >= 0 ? run->args.json_fd : STDERR_FILENO, out.data,
			 out.len, &e) < 0)
		log_error("--json: %s", e.text);
}

static int finish(struct run *run, int result, const struct err *e)
{
	struct err later = { 0 };

	if (result < 0) {
		run->report.error = *e;
		/* What the command said of itself stands; ours is what would look like success. */
		if (!run->report.ran || run->report.status == EXIT_OK)
			run->report.status = EXIT_OURS;
	}
	say(run);
	if (run->report.kept && layers_keep(run->launch.session, &later) < 0)
		log_error("%s", later.text);
	return run->report.status;
}

static void run_clear(struct run *run)
{
	close_session_ends(run);
	relay_clear(&run->relay);
	if (run->launch.plan)
		launch_clear(&run->launch);
	decision_clear(&run->decision);
	session_args_clear(&run->args);
	drop_fd(&run->state);
}

static int dry_run(struct run *run)
{
	autobuf struct buf out = { 0 };

	plan_show(run->decision.plan, &out);
	return cli_print(run->command, &out);
}

/* Decide and do. 1 where the plan was all that was asked for. */
static int run_all(struct run *run, char **argv, struct err *e)
{
	run->args.request.tty = !run->args.no_tty && relay_has_terminal();
	run->args.request.ends_with_us = true;
	if (!argv[0])
		return err_code(e, EINVAL,
				"run: a command is missing ('ohsandbox run --help' says more)");
	if (strv_extend(&run->args.request.argv, argv, e) < 0 ||
	    session_args_decide(&run->args, &run->report.laps, &run->decision, e) < 0)
		return -e->code;
	if (run->args.dry_run)
		return 1;
	return live(run, e);
}

static int run_main(const struct command *c, int argc, char **argv)
{
	struct run run = { .command = c, .session_ends = { -1, -1, -1 }, .state = -1 };
	struct err e = { 0 };
	int result, status;

	report_init(&run.report);
	relay_init(&run.relay);
	session_args_init(&run.args);
	result = opts_parse(c->options, c->first_operand_ends, argc, argv, &run.args, &e);
	if (result == OPTS_HELP) {
		session_args_clear(&run.args);
		return cli_help(c);
	}
	if (result < 0)
		(void)err_wrap(&e, "run");
	else
		result = run_all(&run, argv, &e);
	status = result == 1 ? dry_run(&run) : finish(&run, result, &e);
	run_clear(&run);
	return status;
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARG...]",
	.summary = "Run a command in a new session, on a copy-on-write view of the repository",
	.examples = "  ohsandbox run -- make check\n"
		    "  ohsandbox run --rev v1.2 --memory 2G --timeout 10m -- cargo test\n"
		    "  ohsandbox run --dirty --keep -- ./script.sh && ohsandbox diff ID\n"
		    "  ohsandbox run --net nat --env NPM_TOKEN -- npm ci\n"
		    "  ohsandbox run --user root --net nat -- apt-get install -y jq\n"
		    "  ohsandbox run --json-fd 3 -- make 3>result.json\n",
	.options = options,
	.runs_something = true,
	.first_operand_ends = true,
	.main = run_main,
};
