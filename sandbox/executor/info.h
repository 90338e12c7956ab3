/* SPDX-License-Identifier: MIT */
/* info.h - what the server tells of itself. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Opened while files may still be opened; -1 where there is none. */
struct info {
	int statm, root;
	uint64_t started_ms, cpu_us, cpu_at_ms;
	uint64_t memory_bytes; /* of the machine */
	char hostname[65];
};

void info_open(struct info *i);

/* The JSON object of /server_info. */
void info_show(struct info *i, uint64_t idle_since_ms, struct buf *out);
