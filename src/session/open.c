/* SPDX-License-Identifier: MIT */
/* open.c - a session is found, by its name, its id or the beginning of that, and read; see session.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/plan.h"
#include "session/record.h"
#include "session/session_parts.h"

#define NO_SESSION "no session '%s': 'ohsandbox list' shows them"

/* The one session whose id begins so. */
static int find_prefix(int sessions, const char *prefix, char id[SESSION_ID_DIGITS + 1],
		       struct err *e)
{
	int copy = openat(sessions, ".", SESSION_DIR_FLAGS);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	id[0] = '\0';
	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of sessions");
	}
	while ((d = readdir(dir))) {
		if (!session_is_id(d->d_name, SESSION_ID_DIGITS, SESSION_ID_DIGITS) ||
		    !str_starts(d->d_name, prefix))
			continue;
		if (id[0])
			return err_code(e, ENOTUNIQ,
					"'%s' begins the ids of %s and %s: name more of it", prefix,
					id, d->d_name);
		memcpy(id, d->d_name, SESSION_ID_DIGITS + 1);
	}
	return id[0] ? 0 : err_code(e, ENOENT, NO_SESSION, prefix);
}

/* A line that a killed writer left torn would spoil the next one. */
static int mend_journal(const struct session *s, const struct buf *text, struct err *e)
{
	const char *last = text->len ? memrchr(text->data, '\n', text->len) : NULL;
	size_t whole = last ? (size_t)(last + 1 - text->data) : 0;

	if (whole != text->len && ftruncate(s->journal, (off_t)whole) < 0)
		return session_failed(s->state, s->record.id, "mend the journal", e);
	return 0;
}

int session_load(struct session *s, const char *id, struct err *e)
{
	autobuf struct buf text = { 0 }, journal = { 0 };

	if (io_read_file(s->dir, SESSION_RECORD, RECORD_BYTES_MAX, &text, e) < 0 ||
	    record_parse(buf_str(&text), text.len, &s->record, e) < 0)
		return err_wrap(e, "session %s", id);
	if (strcmp(s->record.id, id) != 0)
		return err_code(e, EINVAL, "session %s: its record is that of '%s'", id,
				s->record.id);
	if (io_read_file(s->dir, "journal", JOURNAL_BYTES_MAX, &journal, e) < 0 ||
	    record_apply_journal(&s->record, buf_str(&journal), journal.len, e) < 0)
		return err_wrap(e, "session %s", id);
	s->journal = openat(s->dir, "journal", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (s->journal < 0)
		return session_failed(s->state, id, "open the journal", e);
	return s->lock >= 0 || s->claimed ? mend_journal(s, &journal, e) : 0;
}

/* 1: the session of this name. What looks like a whole id is never one. */
static int find_name(int state, const char *name, char id[SESSION_ID_DIGITS + 1])
{
	char path[sizeof("names/") + REQUEST_NAME_MAX];
	ssize_t n;

	if (!request_name_ok(name))
		return 0;
	(void)snprintf(path, sizeof(path), "names/%s", name);
	n = readlinkat(state, path, id, SESSION_ID_DIGITS + 1);
	if (n != SESSION_ID_DIGITS)
		return 0;
	id[n] = '\0';
	return session_is_id(id, SESSION_ID_DIGITS, SESSION_ID_DIGITS);
}

bool session_is_named(int state, const char *name)
{
	char id[SESSION_ID_DIGITS + 1];

	return session_is_id(name, SESSION_ID_DIGITS, SESSION_ID_DIGITS) ||
	       find_name(state, name, id);
}

static int open_found(struct session *s, const char *found, bool lock, struct err *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "sessions/%s", found);
	s->dir = openat(s->state, path, SESSION_DIR_FLAGS);
	if (s->dir < 0)
		return session_failed(s->state, found, "open its directory", e);
	if (lock && session_lock_as(s, found, false, e) < 0)
		return -e->code;
	return session_load(s, found, e);
}

/* 1, or 0 where its name has become another's, or nobody's. */
static int open_named(struct session *s, const char *name, bool lock, struct err *e)
{
	char found[SESSION_ID_DIGITS + 1];

	if (!find_name(s->state, name, found))
		return 0;
	if (open_found(s, found, lock, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	if (str_eq(s->record.name, name))
		return 1;
	drop_fd(&s->dir);
	drop_fd(&s->lock);
	drop_fd(&s->journal);
	record_clear(&s->record);
	return 0;
}

static int open_by_id(struct session *s, const char *id, bool lock, struct err *e)
{
	autoclose int sessions = sessions_open(s->state, e);
	char found[SESSION_ID_DIGITS + 1];

	if (sessions < 0)
		return sessions;
	if (!session_is_id(id, 1, SESSION_ID_DIGITS)) {
		if (request_name_ok(id))
			return err_code(e, ENOENT, NO_SESSION, id);
		return err_code(e, EINVAL,
				"'%.40s' is no id of a session: 1 to %d hexadecimal digits", id,
				SESSION_ID_DIGITS);
	}
	/* A whole one needs no look at all the others. */
	if (session_is_id(id, SESSION_ID_DIGITS, SESSION_ID_DIGITS) &&
	    faccessat(sessions, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		memcpy(found, id, sizeof(found));
	else if (find_prefix(sessions, id, found, e) < 0)
		return -e->code;
	return open_found(s, found, lock, e);
}

int session_open(int state, const char *id, bool lock, struct session **out, struct err *e)
{
	autosession struct session *s = session_alloc(state, e);
	int r;

	if (!s)
		return -e->code;
	r = open_named(s, id, lock, e);
	if (r == 0)
		r = open_by_id(s, id, lock, e);
	if (r < 0)
		return r;
	*out = take_ptr(&s);
	return 0;
}

/* The record is replaced as a file, the journal grows: so their inode and size tell, and the times are
 * only for what was rewritten in place. */
static uint64_t stamp_of(const struct stat *st)
{
	return (uint64_t)st->st_ino * 0x9e3779b97f4a7c15u ^
	       (uint64_t)st->st_size * 0xff51afd7ed558ccdu ^
	       ((uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec);
}

uint64_t session_stamp(int state, const char *id)
{
	static const char *const files[] = { SESSION_RECORD, "journal" };
	char path[sizeof("sessions//") + SESSION_ID_DIGITS + sizeof(SESSION_RECORD)];
	uint64_t stamp = 0;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct stat st;

		(void)snprintf(path, sizeof(path), "sessions/%s/%s", id, files[i]);
		if (fstatat(state, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		stamp = stamp * 31 + stamp_of(&st);
	}
	return stamp ? stamp : 1;
}
