/* SPDX-License-Identifier: MIT */
/* slot_ids.h - which slots' ids somebody else on this host uses already.
 *
 * Read from the files alone: what only a name service knows is not seen, but distributions and
 * directory services keep out of 0x70000000 to 0x7FFFFFFF. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { SLOT_ID_FILES = 4 };

/* Kept in the slot table between looks: what the files looked like, and what they said. */
struct slot_id_facts {
	struct {
		uint64_t inode, size;
		int64_t mtime_ns, ctime_ns;
	} seen[SLOT_ID_FILES];
	bool known;
	uint8_t blocked[4096 / 8];
};

/* Read the files again if one of them has changed. */
must_check int slot_ids_refresh(struct slot_id_facts *facts, struct err *e);

bool slot_ids_blocked(const struct slot_id_facts *facts, uint32_t slot);

/* Mark what one file's text claims. Lines are "name:first:count" (`subid`), or of passwd or group with
 * the id in the third field. Lines that are neither claim nothing. Pure. */
void slot_ids_parse(struct slot_id_facts *facts, const char *text, bool subid);
