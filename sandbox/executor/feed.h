/* SPDX-License-Identifier: MIT */
/* feed.h - the output of a running command, as it comes, for whoever listens: server-sent events.
 *
 *	event: screen	{"text": ...}	what its terminal shows so far; first, where there is anything
 *	event: output	{"text": ...}	what was written to the terminal since, control sequences and all
 *	event: lost	{"bytes": N}	so much was not sent: the listener is slower than the command
 *	event: done	{"state": ..., "exit_code": ...}	and the end of the stream
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct actions;
struct conn;
struct entry;
struct feed;
struct server;

enum feed_limits {
	FEEDS_MAX = 16,
	FEED_BREATH_MS = 15000, /* a comment this often: whoever is in between sees that it lives */
};

/* The begin of a character whose end has not been written yet. */
struct feed_joint {
	char bytes[4];
	unsigned n;
};

struct feeds {
	struct server *server;
	struct feed *first;
	unsigned n;
	struct timer breath;
	struct feed_joint shell, once; /* of the two terminals */
};

void feeds_init(struct feeds *f, struct server *s);

/* GET /actions/ID/output: answer with what this action's command says from now on. */
void feed_open(struct feeds *f, const struct entry *en, struct conn *c);

/* The action has ended: so do its streams. */
void feeds_end(struct feeds *f, const struct entry *en);
