/* SPDX-License-Identifier: MIT */
/* session_parts.h - what session.c, open.c and lock.c share. */
#pragma once

#include "session/session.h"

#define SESSION_ID_DIGITS 12
#define SESSION_RECORD "record.json"
#define SESSION_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* One without anything but a descriptor of STATE, which is its own. NULL with *e. */
struct session *session_alloc(int state, struct err *e);

static inline void auto_session(struct session **s)
{
	session_close(*s);
}
#define autosession __attribute__((cleanup(auto_session)))

/* Open STATE/sessions, made where it is missing. */
must_check int sessions_open(int state, struct err *e);

/* Is it hexadecimal, of so many digits? */
bool session_is_id(const char *name, size_t min, size_t max);

/* A system call failed below the state directory; errno says how. */
int session_failed(int state, const char *id, const char *what, struct err *e);

/* Read record and journal of the session whose directory is open. */
must_check int session_load(struct session *s, const char *id, struct err *e);

/* The parts of the lock that a session which is being made has. */
must_check int session_lock_new(struct session *s, struct err *e);

/* session_lock() of one whose record has not been read. */
must_check int session_lock_as(struct session *s, const char *id, bool wait, struct err *e);
