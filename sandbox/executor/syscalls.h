/* SPDX-License-Identifier: MIT */
/* syscalls.h - names of this machine's system calls. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* NULL for a number that the headers this was built with do not know. */
const char *syscall_name(uint32_t number);

/* Made from the kernel's header by local.mk: "NUMBER NAME" and a NUL, again and again. A table of
 * pointers would have to be relocated, and be memory of every session's own. */
extern const char syscall_names[];
extern const size_t syscall_names_len;
