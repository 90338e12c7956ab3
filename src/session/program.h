/* SPDX-License-Identifier: MIT */
/* program.h - the programs that belong to ohsandbox: executor, git, firewall, sudo. */
#pragma once

#include "base/err.h"

/* Open "ohsandbox-<name>" with O_PATH: next to our own program first (a build tree, a relocated
 * installation), then in the libexec directory. It can be executed by the descriptor and by
 * nothing else. Returns an fd; -ENOENT names both places. */
must_check int program_open(const char *name, struct err *e);
