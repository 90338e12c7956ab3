/* SPDX-License-Identifier: MIT */
/* helper.h - files are read and written by a process with the workload's ids, in its group, under
 * its filter: so every check of permission is the kernel's, and memory is charged to the workload.
 *
 * Both ends of what the server and that process say to each other are in helper.c. The workload
 * may kill or stop it: then it is started again, and the action in hand fails. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/file.h"
#include "sandbox/executor/procs.h"

/* The server's end. */
struct helper {
	struct procs *procs;
	struct proc proc;
	struct source socket; /* fd -1 while there is none */
	struct timer timer;
	struct buf out; /* of the request, not yet written */
	struct buf in;	/* of the reply, so far */
	bool busy;
	uint64_t patience_ms;
	/* The request is done: its outcome and what it gave. */
	void (*done)(struct helper *h, const struct file_outcome *outcome, struct buf *content);
	/* It could not be done. */
	void (*failed)(struct helper *h, const struct err *why);
};

void helper_init(struct helper *h, struct procs *procs, uint64_t patience_ms);

/* Begin one request; `done` or `failed` follows. One at a time. */
void helper_ask(struct helper *h, const struct file_request *request);

/* The other end's whole life: serve until end-of-file. */
void helper_main(int socket) __attribute__((noreturn));
