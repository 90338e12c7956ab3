/* SPDX-License-Identifier: MIT */
/* session.c - a session's directory: made, written to, listed; see session.h.
 *
 * The lock of sessions/ is held shared while a directory is without its record: what has none, and is
 * not being made, is left over from a start that was killed. Finding and reading one is in
 * open.c, a session's own locks are in lock.c. */
#include "session/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "plan/request_json.h"
#include "session/record.h"
#include "session/session_parts.h"
#include "session/spare.h"

#define RECORD_NEXT SESSION_RECORD ".new" /* what io_replace_file() writes it to */
#define NOTE_BYTES 8192
#define REQUEST "request.json"
#define JOURNAL_ENOUGH (64 << 10)

/* A system call failed below the state directory. A full disk is the user's to cure, so it is told
 * which one. */
int session_failed(int state, const char *id, const char *what, struct err *e)
{
	int code = errno;
	struct err ignored;
	autofree char *path = fs_path_of(state, &ignored);

	if (code == ENOSPC || code == EDQUOT)
		return err_code(
			e, code,
			"session %s: %s: no space left in '%s': free some, or name another directory "
			"by OHS_STATE_DIR",
			id, what, path ? path : "the state directory");
	errno = code;
	return err_errno(e, "session %s: %s in '%s'", id, what,
			 path ? path : "the state directory");
}

bool session_is_id(const char *name, size_t min, size_t max)
{
	size_t n = strspn(name, "0123456789abcdef");

	return !name[n] && n >= min && n <= max;
}

#ifndef FS_TOPDIR_FL
#define FS_TOPDIR_FL 0x00020000 /* of every kernel, and of newer headers */
#endif

/* ext4 is told that what lies below has nothing to do with each other. It keeps the sessions' inodes
 * apart then; without a journal it looks past each that was deleted nearby in the last minutes. */
static void spread(int sessions)
{
	unsigned int flags = 0; /* the kernel takes an int, whatever the request's name says */

	if (ioctl(sessions, FS_IOC_GETFLAGS, &flags) < 0)
		return;
	flags |= FS_TOPDIR_FL;
	(void)ioctl(sessions, FS_IOC_SETFLAGS, &flags); /* another file system needs none of it */
}

int sessions_open(int state, struct err *e)
{
	int fd = openat(state, "sessions", SESSION_DIR_FLAGS);

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(state, "sessions", 0700) < 0 && errno != EEXIST)
			return session_failed(state, "directory", "create 'sessions'", e);
		fd = openat(state, "sessions", SESSION_DIR_FLAGS);
		if (fd >= 0)
			spread(fd);
	}
	return fd < 0 ? session_failed(state, "directory", "open 'sessions'", e) : fd;
}

int sessions_hold(int state, struct err *e)
{
	autoclose int fd = sessions_open(state, e);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_SH) < 0)
		return session_failed(state, "directory", "lock 'sessions'", e);
	return take_fd(&fd);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	auto_close(&s->lock);
	auto_close(&s->journal);
	auto_close(&s->dir);
	auto_close(&s->state);
	record_clear(&s->record);
	free(s);
}

/* The session owns a descriptor of STATE of its own. */
struct session *session_alloc(int state, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		(void)err_code(e, ENOMEM, "out of memory");
		return NULL;
	}
	s->dir = s->lock = s->journal = -1;
	s->state = fcntl(state, F_DUPFD_CLOEXEC, 3);
	if (s->state < 0) {
		(void)err_errno(e, "duplicate the state directory's descriptor");
		session_close(s);
		return NULL;
	}
	return s;
}

static char *now_utc(struct err *e)
{
	struct timespec now;
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	if (!gmtime_r(&now.tv_sec, &tm)) {
		(void)err_errno(e, "the clock's time has no date");
		return NULL;
	}
	return str_fmt(e, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static int record_store(struct session *s, struct err *e)
{
	autobuf struct buf text = { 0 };
	struct err cause;

	record_write(&s->record, &text);
	buf_putc(&text, '\n');
	if (buf_check(&text, e) < 0)
		return err_wrap(e, "session %s: record", s->record.id);
	if (io_replace_file(s->dir, SESSION_RECORD, text.data, text.len, 0600, &cause) < 0) {
		errno = cause.code;
		return session_failed(s->state, s->record.id, "write the record", e);
	}
	return 0;
}

/* What the journal says is in the record now. Read again on top of it, it says the same: it is emptied
 * only lest it grow without end. */
int session_save(struct session *s, struct err *e)
{
	struct stat st;

	if (record_store(s, e) < 0)
		return -e->code;
	if (fstat(s->journal, &st) == 0 && st.st_size > JOURNAL_ENOUGH &&
	    ftruncate(s->journal, 0) < 0)
		return session_failed(s->state, s->record.id, "empty the journal", e);
	return 0;
}

/* One that an ended session left in this directory is a newline long, and overwritten. */
int session_keep_request(struct session *s, const struct buf *text, struct err *e)
{
	autoclose int fd =
		openat(s->dir, REQUEST, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len)
		return session_failed(s->state, s->record.id, "write its request", e);
	return 0;
}

bool session_has_request(const struct session *s)
{
	return faccessat(s->dir, REQUEST, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int session_read_request(const struct session *s, struct buf *text, struct err *e)
{
	if (io_read_file(s->dir, REQUEST, REQUEST_BYTES_MAX, text, e) < 0)
		return err_wrap(e, "session %s", s->record.id);
	return 0;
}

void session_drop_request(struct session *s)
{
	(void)unlinkat(s->dir, REQUEST, 0); /* of a session that is over it is no use to anybody */
}

/* Its files. In a spare directory they are there already, and empty; somebody who still waits for the
 * lock of the session that had them: -EAGAIN. */
static int furnish(struct session *s, struct err *e)
{
	int how = O_CREAT | O_CLOEXEC | O_NOFOLLOW | (s->spare ? 0 : O_EXCL);
	const char *id = s->record.id;

	s->lock = openat(s->dir, "lock", O_RDONLY | how, 0600);
	if (s->lock < 0)
		return session_failed(s->state, id, "create the lock", e);
	if (session_lock_new(s, e) < 0)
		return -e->code;
	s->journal = openat(s->dir, "journal", O_WRONLY | O_APPEND | how, 0600);
	if (s->journal < 0)
		return session_failed(s->state, id, "create the journal", e);
	return record_store(s, e);
}

/* Its directory: one that an ended session left, or a new one. */
static int settle(struct session *s, int sessions, bool spare, struct err *e)
{
	const char *id = s->record.id;
	struct err cleanup;
	int taken = spare ? spare_take(s->state, sessions, id, e) : 0;

	if (taken < 0)
		return err_wrap(e, "session %s", id);
	s->spare = taken > 0;
	if (!taken && mkdirat(sessions, id, 0700) < 0)
		return session_failed(s->state, id, "create its directory", e);
	s->dir = openat(sessions, id, SESSION_DIR_FLAGS);
	if (s->dir >= 0 && furnish(s, e) == 0)
		return 0;
	if (s->dir < 0)
		(void)session_failed(s->state, id, "open its directory", e);
	drop_fd(&s->journal);
	drop_fd(&s->lock);
	drop_fd(&s->dir);
	/* The first error counts; what stays is swept as unborn. */
	if (fs_remove_tree(sessions, id, &cleanup) < 0)
		log_debug("session %s: %s", id, cleanup.text);
	return -e->code;
}

int session_new(int state, const struct record *r, struct session **out, struct err *e)
{
	autosession struct session *s = session_alloc(state, e);
	autoclose int sessions = -1;
	int made;

	if (!s)
		return -e->code;
	if (!session_is_id(r->id, SESSION_ID_DIGITS, SESSION_ID_DIGITS))
		return err_code(e, EINVAL, "session id '%.20s' is not %d hexadecimal digits", r->id,
				SESSION_ID_DIGITS);
	if (record_copy(r, &s->record, e) < 0)
		return -e->code;
	s->record.version = RECORD_VERSION;
	if (!s->record.created)
		s->record.created = now_utc(e);
	sessions = s->record.created ? sessions_hold(state, e) : -1;
	if (sessions < 0)
		return -e->code;
	made = settle(s, sessions, true, e);
	if (made == -EAGAIN)
		made = settle(s, sessions, false, e);
	if (made < 0)
		return made;
	*out = take_ptr(&s);
	return 0;
}

/* Write newlines over what a file holds, and leave one of them: nothing of it may outlive the session,
 * the key least of all. Not cut to nothing, which ext4 takes for the replacement of its content: it
 * would write the next content to the disk at once. */
static int blank(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	char lines[4096];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	memset(lines, '\n', sizeof(lines));
	for (off_t left = st.st_size; left > 0; left -= (off_t)sizeof(lines)) {
		size_t n = left < (off_t)sizeof(lines) ? (size_t)left : sizeof(lines);

		if (write(fd, lines, n) != (ssize_t)n)
			return -1;
	}
	return st.st_size > 1 ? ftruncate(fd, 1) : 0;
}

int session_retire(struct session *s, struct err *e)
{
	if (renameat(s->dir, SESSION_RECORD, s->dir, RECORD_NEXT) < 0)
		return session_failed(s->state, s->record.id, "take the record away", e);
	if (blank(s->dir, RECORD_NEXT) < 0 || blank(s->dir, "journal") < 0 ||
	    (blank(s->dir, REQUEST) < 0 && errno != ENOENT))
		return session_failed(s->state, s->record.id, "empty the record", e);
	drop_fd(&s->journal);
	/* Whoever has waited for it finds no session any more. */
	drop_fd(&s->lock);
	return 0;
}

int session_note(struct session *s, struct err *e, const char *fmt, ...)
{
	struct stat before;
	char line[NOTE_BYTES];
	va_list ap;
	ssize_t n;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (len <= 0 || (size_t)len >= sizeof(line) - 1 || memchr(line, '\n', (size_t)len))
		return err_code(e, EINVAL,
				"session %s: a note is one line of no more than %d bytes",
				s->record.id, NOTE_BYTES - 2);
	line[len++] = '\n';
	if (record_apply_journal(&s->record, line, (size_t)len, e) < 0)
		return err_wrap(e, "session %s: note", s->record.id);
	n = write(s->journal, line, (size_t)len);
	if (n == len)
		return 0;
	/* Half a line is on a full disk: away with it, or it spoils the next. */
	if (n > 0 && fstat(s->journal, &before) == 0 &&
	    ftruncate(s->journal, before.st_size - n) == 0)
		errno = ENOSPC;
	return session_failed(s->state, s->record.id, "write the journal", e);
}

bool session_exists(const struct session *s)
{
	char path[64];

	/* By its name: the directory may be another session's by now. */
	(void)snprintf(path, sizeof(path), "sessions/%s/" SESSION_RECORD, s->record.id);
	return faccessat(s->state, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Walk sessions/; `born` chooses those with a record or those without. */
static int each_dir(int sessions, bool born, int (*each)(const char *id, void *arg, struct err *e),
		    void *arg, struct err *e)
{
	int copy = openat(sessions, ".", SESSION_DIR_FLAGS);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;
	char path[64];

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of sessions");
	}
	while ((d = readdir(dir))) {
		int result;

		if (!session_is_id(d->d_name, SESSION_ID_DIGITS, SESSION_ID_DIGITS))
			continue;
		(void)snprintf(path, sizeof(path), "%.12s/" SESSION_RECORD, d->d_name);
		if ((faccessat(sessions, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) != born)
			continue;
		result = each(d->d_name, arg, e);
		if (result < 0)
			return result;
	}
	return 0;
}

int session_each(int state, int (*each)(const char *id, void *arg, struct err *e), void *arg,
		 struct err *e)
{
	autoclose int sessions = sessions_open(state, e);

	return sessions < 0 ? sessions : each_dir(sessions, true, each, arg, e);
}

static int remove_unborn(const char *id, void *arg, struct err *e)
{
	return fs_remove_tree(*(const int *)arg, id, e);
}

int session_sweep_unborn(int state, struct err *e)
{
	autoclose int sessions = sessions_open(state, e);

	if (sessions < 0)
		return sessions;
	if (flock(sessions, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : err_errno(e, "lock the directory of sessions");
	return each_dir(sessions, false, remove_unborn, &sessions, e);
}
