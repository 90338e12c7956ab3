/* SPDX-License-Identifier: MIT */
/* sudo_command.h - from a request of `sudo` to the exec of the command. */
#pragma once

#include <sys/types.h>

#include "sandbox/ctl.h"
#include "sandbox/sudo.h"

/* Start it as leader of a process group of its own. `slave` is the terminal that stands for the
 * descriptors that did not come; -1: there is none. Waits until it has exec'd. Returns its pid, or
 * a negative errno with *e filled. */
must_check pid_t sudo_command_start(const struct sudo_request *r, const struct ctl_boot *boot,
				    int slave, struct err *e);

/* The environment: what came with the request, then what the session gives to every process. The
 * list is the caller's, its texts are not. */
char **sudo_command_env(char *const *request, char *const *session);
