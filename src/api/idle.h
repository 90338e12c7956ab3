/* SPDX-License-Identifier: MIT */
/* idle.h - since when nobody has wanted anything of sessions, asked of many at once.
 *
 * A session answers for itself, and what it says is foreign: one that does not answer, or goes on
 * answering, costs the others nothing but its place for a moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct runtime;

enum idle_limits {
	IDLE_AT_ONCE = 128,
	IDLE_TIMEOUT_MS = 2000, /* of each */
	IDLE_ANSWER_MAX = 64 * 1024,
};

#define IDLE_UNKNOWN UINT64_MAX

struct idle_ask {
	uint16_t port, other; /* where to ask, and where it is asked if nothing is told there; 0 */
	uint64_t idle_ms;     /* what was told; IDLE_UNKNOWN */
	bool silent;	      /* nothing at all came from the first */
};

/* What to ask of this one: an agent server tells it as our own does; of a program that does not, only
 * what goes through the executor is known. */
struct idle_ask idle_ask_of(const struct runtime *r);

/* Ask, in the time that the slowest takes, or some of them where there are very many. */
void idle_ask_all(struct idle_ask *asks, size_t n);

/* "idle_time" out of the answer so far, in milliseconds. 1, 0 where more bytes are needed, or -EPROTO
 * where it says nothing of it. Pure. */
must_check int idle_parse(const char *bytes, size_t len, uint64_t *idle_ms, struct err *e);
