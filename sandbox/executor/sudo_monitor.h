/* SPDX-License-Identifier: MIT */
/* sudo_monitor.h - who starts one command for `sudo`, and tells it how that goes.
 *
 * It is a process of the session like any other: the user that was asked for, with his
 * capabilities, in the caller's groups, behind the workload's filter. Whoever takes it over has what
 * `sudo` would have given him. */
#pragma once

#include "sandbox/ctl.h"
#include "sandbox/sudo.h"

void sudo_monitor(int connection, const struct ctl_boot *boot, enum sudo_door door)
	__attribute__((noreturn));
