/* SPDX-License-Identifier: MIT */
/* runtimes.h - the daemon's runtimes: found by name or id, and held against the records on the disk. */
#pragma once

#include "api/runtime.h"
#include "api/server.h"

/* By session_id or by runtime_id. NULL: none that is known; the disk is looked at too.
 * None that is held ready is anybody's to ask for. */
struct runtime *runtimes_find(struct server *s, const char *name);

/* Take in what has appeared on the disk, and let go of what others have taken away. */
must_check int runtimes_refresh(struct server *s, struct err *e);

/* Read the record of one again. -ENOENT: it is gone. */
must_check int runtimes_reload(struct runtime *r, struct err *e);

/* What the record of one says that is on its way; it stays as it stands. */
must_check int runtimes_peek(struct runtime *r, struct err *e);

/* A new one, in the list. NULL: no memory. */
struct runtime *runtimes_add(struct server *s, const char *name);

/* One that was held ready is somebody's from now on, and called so: `name` is taken over. */
void runtimes_name(struct runtime *r, char *name);

/* How many there are that live or can be brought back; `all`: with those that are held ready. */
unsigned runtimes_count(const struct server *s, bool all);

/* Out of the list, and freed. Nobody must be waiting for it. */
void runtimes_remove(struct runtime *r);

/* Keep what failed only so long, and only so many. */
void runtimes_forget_failed(struct server *s);
