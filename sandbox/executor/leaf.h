/* SPDX-License-Identifier: MIT */
/* leaf.h - init's hand on the groups of commands: put a process in, move one, end all in one.
 *
 * A process enters a leaf as it is born. One that lives is moved by its number, which takes the
 * kernel some ten milliseconds after any idle gap: so only the persistent shell is, and only after a
 * command that left something running behind it. */
#pragma once

#include <sys/types.h>

#include "sandbox/ctl.h"

struct init;

/* What clone3() needs to have the child born in this leaf (v2), or -1. */
int leaf_dir(const struct ctl_boot *b, unsigned leaf);

/* The calling process, which was just forked, enters (v1). */
must_check int leaf_enter(const struct ctl_boot *b, unsigned leaf, struct err *e);

/* In which leaf does this process stand? -EAGAIN where none has it: it has ended, or was moved while
 * this looked. 0 where there are no leaves. */
must_check int leaf_of(const struct ctl_boot *b, pid_t pid, unsigned *leaf);

/* The server asks: CTL_MOVE, CTL_CLEAR. `leader` is the process that it is about, 0 for
 * none. The answer is sent, at once or later. */
void leaf_move(struct init *i, const struct ctl_ask *ask, pid_t leader);
void leaf_clear(struct init *i, const struct ctl_ask *ask, pid_t leader);
