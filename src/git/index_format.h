/* SPDX-License-Identifier: MIT */
/* index_format.h - the layout of git's index that index.c and index_in.c share. */
#pragma once

#include <stddef.h>

#define INDEX_MAX ((size_t)2 << 30)
#define INDEX_HEADER_BYTES 12
#define INDEX_STAT_BYTES 40 /* of an entry, before its id */
#define INDEX_NAME_MASK 0x0fffu
#define INDEX_EXTENDED 0x4000u
#define INDEX_SKIP_WORKTREE 0x4000u /* in the second word of flags */

/* NULs behind a name: one to eight, so that the entry's length is a multiple of eight. */
static inline size_t index_padding(size_t len)
{
	return 8 - len % 8;
}
