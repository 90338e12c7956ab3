/* SPDX-License-Identifier: MIT */
/* sudo_porter.h - who takes the connections at a door, and starts a monitor for each.
 *
 * A porter is a fork of init with its identity. It reads nothing of what came: the door says who
 * the monitor becomes, the kernel says who asks. */
#pragma once

#include "sandbox/executor/start.h"
#include "sandbox/sudo.h"

#define SUDO_PORTER_MAX 4 /* connections that one takes; then init looks around */

void sudo_porter(const struct starter *s, int listener, enum sudo_door door)
	__attribute__((noreturn));
