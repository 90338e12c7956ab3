/* SPDX-License-Identifier: MIT */
/* syscalls.c - see syscalls.h. */
#include "sandbox/executor/syscalls.h"

#include <stdlib.h>
#include <string.h>

const char *syscall_name(uint32_t number)
{
	const char *at = syscall_names, *end = at + syscall_names_len;
	char *name;

	for (; at < end; at += strlen(at) + 1)
		if (strtoul(at, &name, 10) == number && *name == ' ')
			return name + 1;
	return NULL;
}
