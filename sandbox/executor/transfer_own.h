/* SPDX-License-Identifier: MIT */
/* transfer_own.h - what transfer.c (a process and its answer) and its users, which know what is
 * moved, share. Nobody else includes it. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "http/conn.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/transfer.h"
#include "sandbox/executor/transfer_wire.h"

/* What is particular to one endpoint. */
struct transfer_kind {
	enum transfer_op op;
	/* The process takes bytes: at its start, and whenever it has taken all it was sent. */
	void (*room)(struct transfer *t);
	/* It has done what was asked, and the client is there. Reply, and end; transfer_stream()
	 * where there is a body. */
	void (*done)(struct transfer *t);
	/* It could not; NULL: that is an error of the server's. Reply, if somebody is there, and end. */
	void (*failed)(struct transfer *t, unsigned status, const char *text);
	void (*free)(struct transfer *t);
};

/* One request on its way. The head of what an endpoint keeps. */
struct transfer {
	const struct transfer_kind *kind;
	struct transfers *all;
	struct transfer *next;
	struct conn *conn; /* until the reply begins; NULL if the client went away */
	struct conn_stream stream;
	struct proc proc;
	struct source socket; /* fd -1 until the process is there */
	struct timer timer;
	uint64_t give_up_ms, nudge_ms;
	bool runs, told; /* the process was asked for; the head of its answer is here */
	struct buf out;	 /* to the process, not yet written */
	struct buf in;	 /* from it: the head of its answer, then its text */
	struct transfer_answer answer;
	uint64_t left; /* of the body */
	char *bytes;   /* TRANSFER_PIECE_MAX of it */
};

/* Begin: the last that a handler does, for it may fail at once. `t` is zeroed but for what the
 * endpoint keeps. */
void transfer_begin(struct transfer *t, struct transfers *all, const struct transfer_kind *kind,
		    const char *path, const char *name);

/* Wait for what is right now: for the answer, and for room while bytes are kept in `out`. */
void transfer_watch(struct transfer *t);

/* The process has moved: it has this long for what is next. */
void transfer_moved(struct transfer *t, uint64_t patience_ms);

/* Reply with the body that the process gives. */
void transfer_stream(struct transfer *t, const char *type, const char *lines);

/* End it; with a text as an error of the server (500), as far as nothing was replied. */
void transfer_fail(struct transfer *t, const char *text);
void transfer_end(struct transfer *t);
