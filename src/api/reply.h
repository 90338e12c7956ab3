/* SPDX-License-Identifier: MIT */
/* reply.h - how the API answers, and what it writes of itself to the log. */
#pragma once

#include "api/operation.h"
#include "http/conn.h"

/* {"detail": text} with the status that callers understand for it. */
void reply_error(struct conn *c, const struct err *e);

/* A session, in the form that was asked for. */
void reply_runtime(struct conn *c, const struct runtime *r, enum answer_kind answer);

/* {} */
void reply_empty(struct conn *c);

/* One line for what was done with a session. */
void log_operation(const struct runtime *r, const char *what, uint64_t us, const struct err *e);

/* One line a request: see struct conns. */
void log_request(struct server *s, const char *what, int status, uint64_t us);
