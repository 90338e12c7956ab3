/* SPDX-License-Identifier: MIT */
/* leaves.h - which group a command runs in, and what is done when one is full.
 *
 * The first leaf is that of file actions, transfers and all that has none of its own. The persistent
 * shell, Python and a static command each start in an empty one. What the shell runs is born where it
 * stands, so it goes on to an empty leaf after a command that left something running: what that does
 * later is counted and bounded apart from the next command. Where no leaf is empty, commands share.
 *
 * The kernel ends what exhausts its leaf's memory. What exhausts its number of processes would go on
 * for ever: all of it is ended but the shell, which is interrupted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/executor/procs.h"

struct server;

struct leaf_use {
	struct server *server;
	struct proc ask; /* to clear it */
	bool clearing, interrupts;
	int64_t refused; /* forks, as last seen */
};

struct leaves {
	struct server *server;
	struct timer look; /* at refused forks: v1 has no event for them */
	struct leaf_use use[CTL_LEAVES];
	struct proc move;
	unsigned move_to;
	bool moving;
};

enum leaves_times {
	LEAVES_LOOK_MS = 100, /* while anything runs that could fork */
};

void leaves_init(struct leaves *l, struct server *s);

/* Something runs, or has been left running: look at it now and then. */
void leaves_watch(struct leaves *l);

/* An empty leaf for a process that is about to be started; 0 where none is. */
unsigned leaves_pick(const struct leaves *l);

/* After an action: let the shell go on to another leaf if it must. Actions wait until it has. */
void leaves_settle(struct leaves *l);

/* The leaf's count of refused forks was read, and says this. More than before, and it is cleared. */
void leaves_look(struct leaves *l, unsigned leaf, int64_t refused);

/* End everything in the leaf but this process of ours (NULL: no exception). Where there are no leaves,
 * what is in the foreground of the shell's terminal. Actions wait until it is done. A shell that is spared
 * and busy is interrupted then: it may be what started them, in a loop. */
void leaves_clear(struct leaves *l, unsigned leaf, const struct proc *spare);
