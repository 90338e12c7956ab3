/* SPDX-License-Identifier: MIT */
/* terminal.h - a terminal for a process of the workload, made by that process itself. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Make a pty that is the caller's controlling terminal; the caller leads a session without one. Its
 * node in /dev/pts belongs to who opens it: so with the ids of whoever shall have it. Without a
 * size it has none. Both ends are the caller's. */
must_check int terminal_make(uint16_t rows, uint16_t cols, int *master, int *slave, struct err *e);
