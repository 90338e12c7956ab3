/* SPDX-License-Identifier: MIT */
/* helper.h - files are read and written by a process with the workload's ids, in its group, under
 * its filter: so every check of permission is the kernel's, and memory is charged to the workload.
 *
 * Both ends of what the server and that process say to each other are in helper.c. The workload
 * may kill or stop it. A stopped one is told to go on. After a killed one another is started, and
 * the request repeated where it was not begun, or only reads; else it fails. */
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
	struct file_request request; /* in hand */
	size_t sent;		     /* bytes of it */
	struct file_reply reply;     /* so far */
	struct buf head;	     /* of the reply */
	unsigned part;		     /* of the reply, that is being read */
	bool busy, repeated;
	uint64_t patience_ms, give_up_ms, nudge_ms;
	/* The request is done. What of the reply it does not take is freed. */
	void (*done)(struct helper *h, struct file_reply *reply);
	/* It could not be done. */
	void (*failed)(struct helper *h, const struct err *why);
};

void helper_init(struct helper *h, struct procs *procs, uint64_t patience_ms);

/* Begin one request; `done` or `failed` follows, until when the texts in it must stay. One at a
 * time. */
void helper_ask(struct helper *h, const struct file_request *request);

/* The other end's whole life: serve until end-of-file. */
void helper_main(int socket) __attribute__((noreturn));
