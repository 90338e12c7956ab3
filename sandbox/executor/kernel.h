/* SPDX-License-Identifier: MIT */
/* kernel.h - a Python that runs cells, told what to run and heard of what came of it.
 *
 * A bare `python3` of the session is given our program (kernel.py) over its stdin, a stream socket
 * that nothing it starts inherits. Over this channel go cells, and images and the ends of cells come
 * back; all text comes over a pipe, in order, whoever wrote it. A cell can get at both: it may say,
 * close or flood what it wants, and harms nothing but its own answer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/cell_text.h"
#include "sandbox/executor/kernel_wire.h"
#include "sandbox/executor/observation.h"
#include "sandbox/executor/procs.h"

enum kernel_state {
	KERNEL_NONE,	 /* not started, or ended */
	KERNEL_STARTING, /* asked for; until it says that it is up */
	KERNEL_IDLE,
	KERNEL_BUSY,
};

enum kernel_event {
	KERNEL_UP,     /* started, and idle */
	KERNEL_DONE,   /* the cell is done */
	KERNEL_ENDED,  /* it is no more; wait_status and `broken` tell how */
	KERNEL_FAILED, /* it could not be started; `failure`, and perhaps `text`, tell why */
};

struct kernel {
	struct procs *procs;
	struct loop *loop;
	enum kernel_state state;
	unsigned name; /* which of the names of Python is tried */
	struct proc proc;
	struct source channel, out, err; /* fd -1 while there is none */
	struct buf heard;		 /* over the channel, so far */
	struct buf to_channel;		 /* not yet written */
	uint32_t sequence, interrupts;
	bool deaf;   /* what the cell still says is not kept */
	bool broken; /* its channel was closed or garbled by a cell */
	struct timer hang_up;
	struct cell_text text;
	struct buf images[OBSERVED_IMAGES];
	unsigned n_images, images_lost;
	size_t image_bytes;
	char *python; /* heap; its path, once it was up */
	int wait_status;
	struct err failure; /* code ENOENT: there is no Python */
	void (*event)(struct kernel *k, enum kernel_event event);
};

void kernel_init(struct kernel *k, struct procs *procs,
		 void (*event)(struct kernel *, enum kernel_event));

/* Ask for it. KERNEL_UP or KERNEL_FAILED follows. */
must_check int kernel_start(struct kernel *k, struct err *e);

/* Run a cell in the idle kernel; its numbers are filled in. */
void kernel_run(struct kernel *k, struct kernel_cell *cell);

/* Move what was printed and shown since the last time into the observation. Returns whether there was
 * anything. */
bool kernel_take(struct kernel *k, struct observation *o);

/* Let the running cell end as by Ctrl-C. What it still has to say is not kept. */
void kernel_interrupt(struct kernel *k);

/* End it with the processes it started; no event follows. Back to KERNEL_NONE. */
void kernel_stop(struct kernel *k);
