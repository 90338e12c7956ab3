/* SPDX-License-Identifier: MIT */
/* spare.h - emptied directories of layers, kept for the next session.
 *
 * Making and deleting forty directories a session is a good part of its cost; most of all on ext4
 * without a journal, which looks past every inode that was deleted in the last five seconds. So what
 * a session left untouched is not deleted.
 *
 *	STATE/cache/spare/<time>/	what was sessions/ID/layers; the time since when, in hexadecimal */
#pragma once

#include "base/err.h"

/* Put a spare set into the session's directory as "layers". 1, or 0 where there is none. */
must_check int spare_take(int state, int session, struct err *e);

/* Take the session's "layers" away, as spare ones. Whatever in them is not as it was made is removed.
 * 1; or 0 where there are enough, or something cannot be removed by us: they are still there then. */
must_check int spare_give(int state, int session, struct err *e);
