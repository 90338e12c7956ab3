/* SPDX-License-Identifier: MIT */
/* events.h - who wants to hear what becomes of sessions, as server-sent events. */
#pragma once

#include "api/runtime.h"
#include "http/conn.h"

struct event_stream;

/* Reply with the events of all sessions, or of one by its name, from now on. */
void events_open(struct server *s, struct conn *c, const char *name);

/* It is in another state now. */
void events_tell(const struct runtime *r);

/* End all of them: the daemon goes. */
void events_close(struct server *s);
