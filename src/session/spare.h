/* SPDX-License-Identifier: MIT */
/* spare.h - directories of ended sessions, kept for the next ones.
 *
 * Making and deleting some fifty files and directories a session is a good part of its cost; most of
 * all on ext4 without a journal, which looks past every inode that was deleted in the last minutes,
 * or where each block that is freed is discarded at once. So the directory of a session that left its
 * layers untouched is not deleted.
 *
 *	STATE/cache/vacant/TIME	what was sessions/ID; the time since when, in hexadecimal
 *	STATE/cache/vacant/TIME.tidy	without what the kernel left in it, to be taken
 *
 * The kernel unmounts what a dead session had a little later than its death is seen, and what it
 * leaves in a work directory costs as much to remove as all else: a later start does both, the
 * waiting and the work, while it waits for its child and for no longer: each directory may take the
 * disk milliseconds. A daemon does it beside its starts (api/tidy.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Make a tidy one sessions/ID. 1, or 0 where there is none. -EEXIST where the id is taken. */
must_check int spare_take(int state, int sessions, const char *id, struct err *e);

/* Remove the layers of a session's directory that are not as they were made; what the kernel puts
 * into a work directory does not count. True when the rest may be kept. */
bool spare_fit(int session);

/* Keep sessions/ID, which must be fit and retired. 1, or 0 where there are enough: it is still there. */
must_check int spare_give(int state, int sessions, const char *id, struct err *e);

/* Tidy the one that has rested longest. 1, or 0 where none has rested or another process is at it; or
 * where it was left half done, because there is something to read at `until` (-1: nothing ever is) and
 * the shelf is not so full that it cannot wait. */
must_check int spare_tidy(int state, int until, struct err *e);

/* Remove all of them, and say how many. Sessions that are being made are not disturbed. */
must_check int spare_clear(int state, struct err *e);

/* How many there are. */
must_check int spare_count(int state, struct err *e);
