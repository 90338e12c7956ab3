/* SPDX-License-Identifier: MIT */
/* name.c - see name.h. */
#include "session/name.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

static bool points_to(int names, const char *name, char id[13])
{
	ssize_t n = readlinkat(names, name, id, 13);

	id[n > 0 && n < 13 ? n : 0] = '\0';
	return n > 0 && n < 13;
}

/* 1 where the session `id` lives or is paused, and is called so. */
static int holds(int state, const char *id, const char *name, struct err *e)
{
	struct session *s = NULL;
	int r = session_open(state, id, false, &s, e);

	if (r < 0)
		return e->code == ENOENT || e->code == EINVAL ? 0 : r;
	if (str_eq(s->record.name, name))
		r = s->record.paused || s->record.persists ? 1 : session_is_alive(state, id, e);
	session_close(s);
	return r;
}

int name_take(const struct session *s, struct err *e)
{
	const char *name = s->record.name;
	autoclose int names = name ? fs_mkdir_open(s->state, "names", 0700, e) : -1;
	char id[13];
	int held;

	if (!name)
		return 0;
	if (names < 0)
		return -e->code;
	/* Whoever else takes or gives back a name waits: looking and writing are one step. */
	if (flock(names, LOCK_EX) < 0)
		return err_errno(e, "lock the directory of names");
	if (points_to(names, name, id)) {
		held = str_eq(id, s->record.id) ? 0 : holds(s->state, id, name, e);
		if (held < 0)
			return held;
		if (held)
			return err_code(e, EEXIST, "the name '%s' is session %s's", name, id);
	}
	if (unlinkat(names, name, 0) < 0 && errno != ENOENT)
		return err_errno(e, "name '%s'", name);
	return symlinkat(s->record.id, names, name) < 0 ? err_errno(e, "name '%s'", name) : 0;
}

void name_drop(const struct session *s)
{
	const char *name = s->record.name;
	struct err ignored;
	autoclose int names = name ? fs_mkdir_open(s->state, "names", 0700, &ignored) : -1;
	char id[13];

	/* What stays behind names a session that is gone, and counts for nothing. */
	if (names < 0 || flock(names, LOCK_EX) < 0)
		return;
	if (points_to(names, name, id) && str_eq(id, s->record.id))
		(void)unlinkat(names, name, 0);
}

/* The link first: it counts for nothing as long as the journal does not say the same. */
static int give(struct session *s, const char *name, struct err *e)
{
	int alive = session_is_alive(s->state, s->record.id, e);

	if (alive < 0)
		return alive;
	if (!alive)
		return err_code(e, ENOENT, "session %s has ended", s->record.id);
	if (s->record.name || s->record.paused)
		return err_code(e, EBUSY, "session %s is not held ready any more", s->record.id);
	s->record.name = str_dup(name, e);
	if (!s->record.name || name_take(s, e) < 0)
		return -e->code;
	if (session_note(s, e, "persists") == 0 && session_note(s, e, "name %s", name) == 0)
		return 0;
	name_drop(s);
	return -e->code;
}

int name_give(int state, const char *id, const char *name, struct err *e)
{
	struct session *s = NULL;
	int r = session_open(state, id, false, &s, e);

	if (r == 0)
		r = session_claim(s, false, e);
	if (r == 0)
		r = give(s, name, e);
	session_close(s);
	return r;
}
