/* SPDX-License-Identifier: MIT */
/* lock.c - who holds a session; see session.h.
 *
 * Its own lock says whether it lives; it is taken whole and exclusively by whoever takes it down, and
 * shared by those who keep it, a byte a role:
 *
 *	LOCK_USED	of the open file: a process of the session may still be there, if only to die
 *	LOCK_SUPERVISED	of our process: goes with it, whatever else has inherited the descriptor
 *	LOCK_LIVES	of the open file, once init has it: no supervisor is needed any more
 *
 * It can be asked about without being taken, so a look never makes another's attempt fail. The lock of
 * the session's directory is another: who pauses, resumes, stops or sweeps the session holds it, so
 * that each of them finds what the one before has left. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "session/record.h"
#include "session/session_parts.h"

enum { LOCK_USED, LOCK_SUPERVISED, LOCK_LIVES, LOCK_WHOLE };

static struct flock lock_part(int part, short type)
{
	if (part == LOCK_WHOLE)
		return (struct flock) { .l_type = type, .l_whence = SEEK_SET };
	return (struct flock) { .l_type = type, .l_whence = SEEK_SET, .l_start = part, .l_len = 1 };
}

static int lock_set(int fd, int part, short type, int how)
{
	struct flock l = lock_part(part, type);
	int r;

	do {
		r = fcntl(fd, how, &l);
	} while (r < 0 && errno == EINTR);
	return r;
}

int session_lock_new(struct session *s, struct err *e)
{
	if (lock_set(s->lock, LOCK_USED, F_RDLCK, F_OFD_SETLK) < 0 ||
	    lock_set(s->lock, LOCK_SUPERVISED, F_RDLCK, F_SETLK) < 0)
		return session_failed(s->state, s->record.id, "take the lock", e);
	return 0;
}

int session_lock_as(struct session *s, const char *id, bool wait, struct err *e)
{
	autoclose int fd = openat(s->dir, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return session_failed(s->state, id, "open the lock", e);
	if (lock_set(fd, LOCK_WHOLE, F_WRLCK, wait ? F_OFD_SETLKW : F_OFD_SETLK) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return err_code(e, EBUSY, "session %s lives: 'ohsandbox stop %s' ends it",
					id, id);
		return session_failed(s->state, id, "take the lock", e);
	}
	s->lock = take_fd(&fd);
	return 0;
}

int session_lock(struct session *s, bool wait, struct err *e)
{
	return s->lock >= 0 ? 0 : session_lock_as(s, s->record.id, wait, e);
}

int session_hand_over(struct session *s, struct err *e)
{
	if (lock_set(s->lock, LOCK_LIVES, F_RDLCK, F_OFD_SETLK) < 0)
		return session_failed(s->state, s->record.id, "hand the lock over", e);
	return 0;
}

/* Never without a part that says it lives: nobody sweeps it meanwhile. Init inherits the descriptor, so it
 * is a new one that cannot write. Our process's own part comes when the other descriptor has been
 * closed: to close any of a file drops it. */
int session_enliven(struct session *s, struct err *e)
{
	autoclose int fd = openat(s->dir, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return session_failed(s->state, s->record.id, "open the lock", e);
	if (lock_set(s->lock, LOCK_WHOLE, F_RDLCK, F_OFD_SETLK) < 0 ||
	    lock_set(fd, LOCK_USED, F_RDLCK, F_OFD_SETLK) < 0 ||
	    lock_set(fd, LOCK_LIVES, F_RDLCK, F_OFD_SETLK) < 0)
		return session_failed(s->state, s->record.id, "share the lock", e);
	drop_fd(&s->lock);
	s->lock = take_fd(&fd);
	if (lock_set(s->lock, LOCK_SUPERVISED, F_RDLCK, F_SETLK) < 0 ||
	    lock_set(s->lock, LOCK_LIVES, F_UNLCK, F_OFD_SETLK) < 0)
		return session_failed(s->state, s->record.id, "share the lock", e);
	return 0;
}

/* 1 or 0; the part need not be ours to be asked about. */
static int lock_is_held(int fd, int part)
{
	struct flock l = lock_part(part, F_WRLCK);

	return fcntl(fd, F_OFD_GETLK, &l) < 0 ? -1 : l.l_type != F_UNLCK;
}

/* Is one of two parts held? */
static int asks(int state, const char *id, int one, int other, struct err *e)
{
	autoclose int fd = -1;
	char path[64];
	int held;

	if (!session_is_id(id, SESSION_ID_DIGITS, SESSION_ID_DIGITS))
		return err_code(e, EINVAL, "'%.40s' is no id of a session", id);
	(void)snprintf(path, sizeof(path), "sessions/%s/lock", id);
	fd = openat(state, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : session_failed(state, id, "open the lock", e);
	held = lock_is_held(fd, one);
	if (held == 0 && other != one)
		held = lock_is_held(fd, other);
	return held < 0 ? session_failed(state, id, "ask about the lock", e) : held;
}

int session_is_alive(int state, const char *id, struct err *e)
{
	return asks(state, id, LOCK_SUPERVISED, LOCK_LIVES, e);
}

int session_is_supervised(int state, const char *id, struct err *e)
{
	return asks(state, id, LOCK_SUPERVISED, LOCK_SUPERVISED, e);
}

int session_claim(struct session *s, bool wait, struct err *e)
{
	struct record fresh = { .slot = SESSION_NO_SLOT };
	char id[sizeof(s->record.id)];
	int r, supervised;

	do {
		r = flock(s->dir, LOCK_EX | (wait ? 0 : LOCK_NB));
	} while (r < 0 && errno == EINTR);
	if (r < 0 && errno == EWOULDBLOCK)
		return err_code(e, EBUSY, "session %s is being paused, resumed or stopped",
				s->record.id);
	if (r < 0)
		return session_failed(s->state, s->record.id, "claim it", e);
	if (!session_exists(s))
		return err_code(e, ENOENT, "session %s has ended", s->record.id);
	/* Whoever held it before has changed what we have read. */
	memcpy(id, s->record.id, sizeof(id));
	record_clear(&s->record);
	s->record = fresh;
	drop_fd(&s->journal);
	supervised = session_is_supervised(s->state, id, e);
	if (supervised < 0)
		return supervised;
	s->claimed = !supervised;
	return session_load(s, id, e);
}
