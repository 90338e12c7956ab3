/* SPDX-License-Identifier: MIT */
/* cli.c - what every command does alike. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/lifecycle.h"
#include "session/session.h"

int cli_help(const struct command *c)
{
	autobuf struct buf out = { 0 };

	buf_printf(&out, "usage: ohsandbox %s [OPTION...]%s%s\n\n%s.\n\noptions:\n", c->name,
		   c->operands ? " " : "", c->operands ? c->operands : "", c->summary);
	opts_describe(c->options, &out);
	if (c->examples)
		buf_printf(&out, "\nexamples:\n%s", c->examples);
	return cli_print(c, &out);
}

int cli_options(const struct command *c, int argc, char **argv, void *into, int *status)
{
	struct err e = { 0 };
	int n = opts_parse(c->options, c->first_operand_ends, argc, argv, into, &e);

	if (n == OPTS_HELP)
		*status = cli_help(c);
	else if (n < 0)
		*status = cli_usage(c, "%s", e.text);
	return n;
}

const char *cli_cure(const struct err *e)
{
	/* The kernel's word alone: where we have given a reason of our own, that is the last word. */
	const char *words = strerror(e->code);
	size_t len = strlen(e->text), n = strlen(words);

	if ((e->code != ENOSYS && e->code != EPERM) || len < n || !str_eq(e->text + len - n, words))
		return "";
	return " (something around this command forbids it, or the kernel lacks it: 'ohsandbox doctor' looks for both)";
}

int cli_fail(const struct command *c, const struct err *e)
{
	log_error("%s%s", e->text, cli_cure(e));
	return c && c->runs_something ? EXIT_OURS : EXIT_FAILED;
}

int cli_usage(const struct command *c, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("%s: %s ('ohsandbox %s --help' says more)", c->name, text, c->name);
	return c->runs_something ? EXIT_OURS : EXIT_USAGE;
}

int cli_print(const struct command *c, const struct buf *out)
{
	struct err e = { 0 };

	if (buf_check(out, &e) < 0)
		return cli_fail(c, &e);
	if (out->len && io_write_all(STDOUT_FILENO, out->data, out->len, &e) < 0) {
		(void)err_wrap(&e, "standard output");
		return cli_fail(c, &e);
	}
	return EXIT_OK;
}

int cli_state(struct err *e)
{
	autoclose int state = state_open(NULL, e);

	if (state < 0)
		return state;
	if (lifecycle_sweep(state, e) < 0)
		return err_wrap(e, "taking down what a dead session left");
	return take_fd(&state);
}
