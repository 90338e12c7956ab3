/* SPDX-License-Identifier: MIT */
/* list.c - `ohsandbox list` and `ohsandbox show`. */
#include <stddef.h>

#include "base/str.h"
#include "cli/cli.h"
#include "launch/session_json.h"
#include "session/session.h"

struct list_args {
	bool json;
};

static const struct opt list_options[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct list_args, json), NULL, "an array of objects",
	  NULL },
	{ .kind = OPT_END },
};

struct listing {
	int state;
	bool json;
	struct buf *out;
	struct json_out jo;
	unsigned n;
};

static void words(struct buf *out, char *const *list)
{
	for (; list && *list; list++)
		buf_printf(out, " %s", *list);
}

static void one_line(struct buf *out, const struct record *r, bool alive)
{
	buf_printf(out, "%-12s %-8s %-21s %-12s %s", r->id, session_state_name(r, alive),
		   r->created ? r->created : "-", r->name ? r->name : "-", r->path ? r->path : "-");
	if (r->commit && *r->commit)
		buf_printf(out, "@%.10s", r->commit);
	words(out, r->command);
	buf_putc(out, '\n');
}

static int each(const char *id, void *arg, struct err *e)
{
	struct listing *l = arg;
	struct session *s = NULL;
	int alive = session_is_alive(l->state, id, e);

	if (alive < 0)
		return alive;
	/* It may have gone since the directory was read. */
	if (session_open(l->state, id, false, &s, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	l->n++;
	if (l->json)
		session_json(&l->jo, NULL, &s->record, alive, false);
	else
		one_line(l->out, &s->record, alive);
	session_close(s);
	return 0;
}

static int print_list(const struct command *c, bool json, struct err *e)
{
	autobuf struct buf out = { 0 };
	struct listing l = { .json = json, .out = &out, .jo = { .buf = &out } };
	autoclose int state = cli_state(e);
	int r;

	if (state < 0)
		return cli_fail(c, e);
	l.state = state;
	if (json)
		jo_array(&l.jo, NULL);
	else
		buf_printf(&out, "%-12s %-8s %-21s %-12s %s\n", "ID", "STATE", "CREATED", "NAME",
			   "WORKSPACE, COMMAND");
	r = session_each(state, each, &l, e);
	if (r < 0)
		return cli_fail(c, e);
	if (json) {
		jo_end_array(&l.jo);
		buf_putc(&out, '\n');
	}
	return cli_print(c, &out);
}

static int list_main(const struct command *c, int argc, char **argv)
{
	struct list_args a = { 0 };
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n > 0)
		return cli_usage(c, "takes no operand");
	return print_list(c, a.json, &e);
}

static const struct opt show_options[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct list_args, json), NULL, "on one line", NULL },
	{ .kind = OPT_END },
};

static int print_one(const struct command *c, const char *id, bool compact, struct err *e)
{
	autobuf struct buf out = { 0 };
	struct json_out o = { .buf = &out, .pretty = !compact };
	autoclose int state = cli_state(e);
	struct session *s = NULL;
	int alive;

	if (state < 0 || session_open(state, id, false, &s, e) < 0)
		return cli_fail(c, e);
	alive = session_is_alive(state, s->record.id, e);
	if (alive >= 0)
		session_json(&o, NULL, &s->record, alive, true);
	session_close(s);
	if (alive < 0)
		return cli_fail(c, e);
	buf_putc(&out, '\n');
	return cli_print(c, &out);
}

static int show_main(const struct command *c, int argc, char **argv)
{
	struct list_args a = { 0 };
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n != 1)
		return cli_usage(c, "takes the id of one session");
	return print_one(c, argv[0], a.json, &e);
}

const struct command command_list = {
	.name = "list",
	.summary = "List the sessions that run, are paused or were kept",
	.examples = "  ohsandbox list\n  ohsandbox list --json | jq -r '.[].id'\n",
	.options = list_options,
	.main = list_main,
};

const struct command command_show = {
	.name = "show",
	.operands = "ID",
	.summary = "Show one session whole, its key too",
	.examples =
		"  ohsandbox show 3fa9\n  ohsandbox show --json 3fa9 | jq -r .session_api_key\n",
	.options = show_options,
	.main = show_main,
};
