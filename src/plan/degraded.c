/* SPDX-License-Identifier: MIT */
/* degraded.c - names of the walls and limits a host may lack. */
#include "plan/policy.h"

static const struct {
	unsigned bit;
	const char *name;
} names[] = {
	{ DEGRADED_MEMORY, "memory" }, { DEGRADED_SWAP, "swap" },	{ DEGRADED_CPUS, "cpus" },
	{ DEGRADED_PIDS, "pids" },     { DEGRADED_NETWORK, "network" }, { DEGRADED_IDS, "ids" },
};

const char *degraded_name(unsigned bit)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].bit == bit)
			return names[i].name;
	return NULL;
}
