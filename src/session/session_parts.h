/* SPDX-License-Identifier: MIT */
/* session_parts.h - what session.c and lock.c share. */
#pragma once

#include "session/session.h"

#define SESSION_ID_DIGITS 12

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
