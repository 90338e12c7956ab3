/* SPDX-License-Identifier: MIT */
/* act_ipython.h - what is known of the Python that runs cells, and of the cell in hand. */
#pragma once

#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/kernel.h"

enum act_cell_limits {
	ACT_CELL_MS = 120000,	   /* for one cell, where the action names no time */
	ACT_INTERRUPTED_MS = 2000, /* for an interrupted cell to end: clients wait five seconds */
};

struct act_cells {
	struct server *server;
	struct kernel kernel;
	struct job *job;  /* the cell in hand, or NULL */
	char *cwd;	  /* where the kernel was last sent to; heap */
	bool fresh;	  /* it has run no cell yet */
	bool interrupted; /* the cell in hand took too long, or was cancelled */
	bool cancelled;
	char ended[100]; /* how a kernel ended that no reply has told of; or "" */
	struct timer timer;
};

void act_cells_init(struct act_cells *c, struct server *s);

/* End the cell in hand. */
void act_cells_cancel(struct act_cells *c);
