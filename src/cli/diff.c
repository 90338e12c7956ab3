/* SPDX-License-Identifier: MIT */
/* diff.c - `ohsandbox diff`: what a session changed in its workspace. */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json_out.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/diff_patch.h"
#include "session/changes.h"
#include "session/session.h"

struct diff_args {
	bool names, stat, patch, json, zero;
};

static const struct opt options[] = {
	{ "name-only", 0, OPT_FLAG, offsetof(struct diff_args, names), NULL,
	  "paths alone, without A, M or D", NULL },
	{ "stat", 0, OPT_FLAG, offsetof(struct diff_args, stat), NULL,
	  "how many lines of each file", NULL },
	{ "patch", 'p', OPT_FLAG, offsetof(struct diff_args, patch), NULL,
	  "a patch, as git writes it", NULL },
	{ "json", 0, OPT_FLAG, offsetof(struct diff_args, json), NULL, "one object", NULL },
	{ "null", 'z', OPT_FLAG, offsetof(struct diff_args, zero), NULL,
	  "paths as they are, a NUL behind each instead of quotes", NULL },
	{ .kind = OPT_END },
};

struct listing {
	const struct diff_args *args;
	struct buf *out;
	struct json_out jo;
	struct change_counts n;
};

static void tally(struct change_counts *n, char kind)
{
	if (kind == CHANGE_ADDED)
		n->added++;
	else if (kind == CHANGE_DELETED)
		n->deleted++;
	else
		n->changed++;
}

/* A name that is no UTF-8 is there twice: as JSON can show it, and exactly, with escapes. */
static void json_path(struct json_out *o, const char *path)
{
	autobuf struct buf quoted = { 0 };

	jo_string(o, "path", path);
	if (utf8_check(path, strlen(path)) == strlen(path))
		return;
	diff_quote(&quoted, path);
	jo_string(o, "path_quoted", buf_str(&quoted));
}

static int json_one(const struct change *c, void *arg)
{
	struct listing *l = arg;
	char kind[2] = { c->kind, '\0' }, mode[16];

	tally(&l->n, c->kind);
	(void)snprintf(mode, sizeof(mode), "%06o", c->mode);
	jo_object(&l->jo, NULL);
	jo_string(&l->jo, "kind", kind);
	json_path(&l->jo, c->path);
	jo_string(&l->jo, "mode", mode);
	jo_u64(&l->jo, "size", c->size);
	jo_end_object(&l->jo);
	return l->out->failed ? -ENOMEM : 0;
}

static int print_one(const struct change *c, void *arg)
{
	struct listing *l = arg;

	if (!l->args->names)
		buf_printf(l->out, "%c ", c->kind);
	if (l->args->zero) {
		buf_add(l->out, c->path, strlen(c->path) + 1);
	} else {
		diff_quote(l->out, c->path);
		buf_putc(l->out, '\n');
	}
	return l->out->failed ? -ENOMEM : 0;
}

static int print_json(struct session *s, struct listing *l, struct err *e)
{
	l->jo = (struct json_out) { .buf = l->out };
	jo_object(&l->jo, NULL);
	jo_string(&l->jo, "id", s->record.id);
	jo_array(&l->jo, "changes");
	if (changes_read(s, 0, json_one, l, e) < 0)
		return -e->code;
	jo_end_array(&l->jo);
	jo_u64(&l->jo, "added", l->n.added);
	jo_u64(&l->jo, "changed", l->n.changed);
	jo_u64(&l->jo, "deleted", l->n.deleted);
	jo_end_object(&l->jo);
	buf_putc(l->out, '\n');
	return 0;
}

static int collect(struct session *s, const struct diff_args *a, struct buf *out, struct err *e)
{
	struct listing l = { .args = a, .out = out };

	if (a->json)
		return print_json(s, &l, e);
	if (a->stat)
		return diff_stat(s, out, e);
	return changes_read(s, 0, print_one, &l, e);
}

/* Whoever read our output has had enough: nothing is left to say. */
static bool output_is_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLNVAL);
}

static int show(const struct command *c, struct session *s, const struct diff_args *a)
{
	autobuf struct buf out = { .limit = (size_t)1 << 30 };
	struct err e = { 0 };

	if (a->patch) {
		if (diff_patch(s, &e) == 0)
			return EXIT_OK;
		return output_is_gone() ? EXIT_FAILED : cli_fail(c, &e);
	}
	if (collect(s, a, &out, &e) < 0 || buf_check(&out, &e) < 0)
		return cli_fail(c, &e);
	return cli_print(c, &out);
}

static int diff_main(const struct command *c, int argc, char **argv)
{
	struct diff_args a = { 0 };
	struct session *s = NULL;
	autoclose int state = -1;
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n != 1)
		return cli_usage(c, "takes one id of a session");
	if (a.stat + a.patch + a.json > 1 || ((a.names || a.zero) && (a.stat || a.patch || a.json)))
		return cli_usage(
			c, "--stat, --patch, --json and the list of names exclude each other");
	state = cli_state(&e);
	if (state < 0 || session_open(state, argv[0], false, &s, &e) < 0)
		return cli_fail(c, &e);
	status = show(c, s, &a);
	session_close(s);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.operands = "ID",
	.summary = "Show what a session changed in its workspace",
	.examples =
		"  ohsandbox diff 3fa9\n  ohsandbox diff --stat 3fa9\n  ohsandbox diff --patch 3fa9 >changes.patch\n",
	.options = options,
	.main = diff_main,
};
