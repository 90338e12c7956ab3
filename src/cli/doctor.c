/* SPDX-License-Identifier: MIT */
/* doctor.c - `ohsandbox doctor`: what this host offers and lacks, what each lack means for a session
 * and what cures it. Things that only trying finds out are tried, in children that leave nothing. */
#include "cli/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/json_out.h"
#include "cli/cli.h"
#include "session/session.h"

struct doctor_args {
	bool json;
};

static const struct opt doctor_options[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct doctor_args, json), NULL, "one object", NULL },
	{ .kind = OPT_END },
};

static const struct check *const tables[] = { doctor_kernel_checks, doctor_host_checks,
					      doctor_net_checks };

static const char *const verdict_names[] = { "ok", "less", "fatal" };

void finding_fine(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->found, sizeof(f->found), fmt, ap);
	va_end(ap);
}

void finding_lack(struct finding *f, enum verdict verdict, const char *means, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->found, sizeof(f->found), fmt, ap);
	va_end(ap);
	f->verdict = verdict;
	f->means = means;
}

void finding_cure(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->cure, sizeof(f->cure), fmt, ap);
	va_end(ap);
}

static void child(int report, int (*act)(const void *arg, struct err *e), const void *arg)
	__attribute__((noreturn));

static void child(int report, int (*act)(const void *arg, struct err *e), const void *arg)
{
	struct err e = { 0 };
	int ret = act(arg, &e);

	/* The parent sees a short answer where this fails, and says so. */
	_exit(ret < 0 && write(report, &e, sizeof(e)) != (ssize_t)sizeof(e) ? 2 : ret < 0);
}

int doctor_try(int (*act)(const void *arg, struct err *e), const void *arg, struct err *e)
{
	autoclose int from = -1, to = -1;
	struct err answer = { 0 };
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	from = ends[0];
	to = ends[1];
	pid = fork();
	if (pid < 0)
		return err_errno(e, "fork");
	if (pid == 0)
		child(to, act, arg);
	drop_fd(&to);
	got = io_read_full(from, &answer, sizeof(answer), e);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (got == (ssize_t)sizeof(answer)) {
		*e = answer;
		return -e->code;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_code(e, ECHILD, "the child that tried it ended without a word");
	return 0;
}

static void say(struct buf *out, const struct check *check, const struct finding *f)
{
	buf_printf(out, "%-6s %-22s %s\n", verdict_names[f->verdict], check->name, f->found);
	if (f->means)
		buf_printf(out, "       %-22s it means: %s\n", "", f->means);
	if (*f->cure)
		buf_printf(out, "       %-22s the cure: %s\n", "", f->cure);
}

static void say_json(struct json_out *o, const struct check *check, const struct finding *f)
{
	jo_object(o, NULL);
	jo_string(o, "name", check->name);
	jo_string(o, "verdict", verdict_names[f->verdict]);
	jo_string(o, "found", f->found);
	jo_string(o, "means", f->means);
	jo_string(o, "cure", *f->cure ? f->cure : NULL);
	jo_end_object(o);
}

/* Every check in turn; returns the worst of all. */
static enum verdict walk(const struct doctor *d, struct buf *out, struct json_out *json)
{
	enum verdict worst = VERDICT_FINE;

	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (const struct check *check = tables[t]; check->name; check++) {
			struct finding f = { 0 };

			check->look(d, &f);
			if (f.verdict > worst)
				worst = f.verdict;
			if (json)
				say_json(json, check, &f);
			else
				say(out, check, &f);
		}
	return worst;
}

static enum verdict report(const struct doctor *d, bool as_json, struct buf *out)
{
	struct json_out o = { .buf = out, .pretty = true };
	enum verdict worst;

	if (as_json) {
		jo_object(&o, NULL);
		jo_string(&o, "user", d->host->user_name);
		jo_array(&o, "checks");
	}
	worst = walk(d, out, as_json ? &o : NULL);
	if (as_json) {
		jo_end_array(&o);
		jo_bool(&o, "sessions", worst != VERDICT_FATAL);
		jo_end_object(&o);
		buf_putc(out, '\n');
	} else {
		buf_printf(out, "%s\n",
			   worst == VERDICT_FATAL  ? "sessions cannot run here"
			   : worst == VERDICT_LESS ? "sessions run here, with what is said above"
						   : "sessions run here");
	}
	return worst;
}

static int examine(const struct command *c, bool as_json, struct err *e)
{
	autobuf struct buf out = { 0 };
	struct doctor d = { .state = -1 };
	autofree char *state_path = NULL;
	autoclose int state = -1;
	enum verdict worst;
	int status;

	if (state_default_path(&state_path, e) < 0 || host_probe(state_path, &d.host, e) < 0)
		return cli_fail(c, e);
	/* What dead sessions left goes first: what is found then is there to stay. */
	state = cli_state(&d.state_error);
	d.state = state;
	worst = report(&d, as_json, &out);
	host_free(d.host);
	status = cli_print(c, &out);
	return status == EXIT_OK && worst == VERDICT_FATAL ? EXIT_FAILED : status;
}

static int doctor_main(const struct command *c, int argc, char **argv)
{
	struct doctor_args a = { 0 };
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n > 0)
		return cli_usage(c, "takes no operand");
	return examine(c, a.json, &e);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "Say what this host offers, what it lacks, and the cure",
	.examples = "  ohsandbox doctor\n  sudo ohsandbox doctor\n"
		    "  ohsandbox doctor --json | jq '.checks[] | select(.verdict != \"ok\")'\n",
	.options = doctor_options,
	.main = doctor_main,
};
