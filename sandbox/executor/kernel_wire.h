/* SPDX-License-Identifier: MIT */
/* kernel_wire.h - what the executor and the program that runs cells (kernel.py) say to each other.
 *
 * Numbers are of four bytes, the high one first. What comes back is foreign: a cell can write to
 * the channel whatever it wants. Pure: no I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/executor/action.h"

enum kernel_limits {
	KERNEL_REPLY_MAX = 8 << 20, /* bytes: of an image; kernel.py has the same */
	KERNEL_PATH_MAX = 4096,	    /* of the path of a Python */
	KERNEL_HEAD_BYTES = 5,
};

/* One cell to run. */
struct kernel_cell {
	uint32_t sequence;   /* comes back when it is done */
	uint32_t interrupts; /* sent to this Python so far */
	const char *cwd;     /* to go to before; "": stay */
	struct text first;   /* to run before; may be nothing */
	struct text code;
};

void kernel_cell_encode(const struct kernel_cell *cell, struct buf *out);

enum kernel_said {
	KERNEL_SAID_UP = 'h',	 /* text: the path of this Python */
	KERNEL_SAID_IMAGE = 'i', /* text: a PNG, or so it says */
	KERNEL_SAID_DONE = 'd',	 /* sequence: of the cell */
};

struct kernel_reply {
	enum kernel_said said;
	struct text text; /* into the bytes given */
	uint32_t sequence;
};

/* The first reply in these bytes: how many of them it takes and *r filled, 0 where it is not whole
 * yet, or -EPROTO where it can be none. */
must_check long kernel_reply_decode(const char *bytes, size_t len, struct kernel_reply *r);
