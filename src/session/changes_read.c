/* SPDX-License-Identifier: MIT */
/* changes_read.c - a session's layers opened and walked, by who may read them.
 *
 * What an ordinary user's session left may belong to subordinate ids, or be shut against its owner:
 * then the walk is done by a helper that is root of these ids, and each change comes as a packet. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "session/changes_parts.h"
#include "session/idhelper.h"

#define UPPER "layers/workspace/upper"

static void stack_close(struct stack *s)
{
	while (s->n)
		(void)close(s->root[--s->n]); /* only walked through */
}

static int stack_add(struct stack *s, int dir, const char *path, struct err *e)
{
	int fd;

	if (s->n == STACK_LAYERS_MAX)
		return err_code(e, E2BIG, "more than %d layers", STACK_LAYERS_MAX);
	fd = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open layer '%s'", path);
	s->root[s->n++] = fd;
	return 0;
}

static int open_layers(const struct session *s, struct stack *out, struct err *e)
{
	const struct record *r = &s->record;

	out->user_xattrs = r->ids != IDS_ROOT;
	if (stack_add(out, s->dir, UPPER, e) < 0)
		return -e->code;
	for (char **l = r->layers_workspace; l && *l; l++)
		if (stack_add(out, s->state, *l, e) < 0)
			return -e->code;
	/* A directory that is no repository is its own lower layer. */
	if (out->n == 1 && str_eq(r->workspace_kind, "dir") && r->path)
		return stack_add(out, s->state, r->path, e);
	return 0;
}

struct job {
	const struct stack *stack;
	bool skip_git;
	unsigned flags;
	int (*each)(const struct change *c, void *arg);
	void *arg;
	int ours, theirs; /* to a helper */
};

static int walk(const struct job *j, struct err *e)
{
	struct err none = { 0 };
	int result;

	*e = none;
	result = changes_walk(j->stack, j->skip_git, j->flags, j->each, j->arg, e);
	if (result < 0 && !e->code)
		return err_code(e, -result, "stopped"); /* by who reads them */
	return result;
}

static int pass_on(const struct change *c, void *arg)
{
	const struct job *j = arg;
	struct err ignored;

	return change_send(j->theirs, c, &ignored);
}

/* In the helper process. */
static int helper_walk(void *arg, struct err *e)
{
	struct job j = *(const struct job *)arg;

	drop_fd(&j.ours);
	j.each = pass_on;
	j.arg = &j;
	return walk(&j, e);
}

static int take_all(const struct job *j, struct err *e)
{
	autofree struct change_packet *room = malloc(sizeof(*room));
	int result;

	if (!room)
		return err_code(e, ENOMEM, "out of memory");
	for (;;) {
		struct change c;
		int answer;

		result = change_receive(j->ours, room, &c, e);
		if (result <= 0)
			return result;
		answer = j->each(&c, j->arg);
		auto_close(&c.before);
		auto_close(&c.after);
		if (answer < 0)
			return err_code(e, -answer, "stopped");
	}
}

static int walk_by_helper(struct session *s, struct job *j, struct err *e)
{
	const struct record *r = &s->record;
	struct idhelper helper;
	struct err later = { 0 };
	int pair[2], result;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "make a socket pair");
	j->ours = pair[0];
	j->theirs = pair[1];
	result = idhelper_start(&r->session_uids, &r->session_gids, helper_walk, j, &helper, e);
	drop_fd(&j->theirs);
	if (result == 0) {
		result = take_all(j, e);
		drop_fd(&j->ours); /* a helper whose changes nobody wants ends by it */
		if (idhelper_finish(&helper, &later) < 0 && result == 0) {
			*e = later;
			result = -e->code;
		}
	}
	drop_fd(&j->ours);
	return result;
}

static bool needs_helper(const struct record *r)
{
	return r->ids != IDS_ROOT && r->session_uids.n && r->session_gids.n;
}

static int start_job(struct session *s, struct stack *stack, struct job *j, struct err *e)
{
	j->stack = stack;
	j->skip_git = str_eq(s->record.workspace_kind, "repo");
	j->ours = j->theirs = -1;
	return open_layers(s, stack, e);
}

int changes_read(struct session *s, unsigned flags, int (*each)(const struct change *c, void *arg),
		 void *arg, struct err *e)
{
	struct stack stack __attribute__((cleanup(stack_close))) = { 0 };
	struct job j = { .flags = flags, .each = each, .arg = arg };
	int result = start_job(s, &stack, &j, e);

	if (result == 0)
		result = needs_helper(&s->record) ? walk_by_helper(s, &j, e) : walk(&j, e);
	return result < 0 ? err_wrap(e, "changes of session %s", s->record.id) : 0;
}

static int count(const struct change *c, void *arg)
{
	struct change_counts *n = arg;

	if (c->kind == CHANGE_ADDED)
		n->added++;
	else if (c->kind == CHANGE_DELETED)
		n->deleted++;
	else
		n->changed++;
	return 0;
}

/* At the end of every run. The helper takes milliseconds, and is seldom needed: try without. */
int changes_count(struct session *s, struct change_counts *out, struct err *e)
{
	struct stack stack __attribute__((cleanup(stack_close))) = { 0 };
	struct change_counts n = { 0 };
	struct job j = { .each = count, .arg = &n };
	int result = start_job(s, &stack, &j, e);

	if (result == 0)
		result = walk(&j, e);
	if (result < 0 && (e->code == EACCES || e->code == EPERM) && stack.n &&
	    needs_helper(&s->record)) {
		log_debug("session %s: %s: again as the root of its ids", s->record.id, e->text);
		n = (struct change_counts) { 0 };
		result = walk_by_helper(s, &j, e);
	}
	if (result < 0)
		return err_wrap(e, "changes of session %s", s->record.id);
	*out = n;
	return 0;
}
