/* SPDX-License-Identifier: MIT */
/* hidden.h - a layer of whiteouts over a directory of the host: what not everybody may read is gone.
 *
 * As root the host's /usr and others are read through the session's ids: host root's files are the
 * session root's. So whatever only root (or a group) may read on the host would be readable
 * inside. A look through the directory finds those files; the layer hides them. It is used again
 * until the packages or the directory's upper levels change, for an hour at most.
 *
 *	STATE/cache/hidden-<name>.index		how the directory looked, and which layer serves
 *	STATE/cache/hidden-<digest>/		whiteouts, and the directories above them */
#pragma once

#include "base/err.h"

/* Find or make the layer for `dir`, called `name` in the cache. Its path relative to `state` in
 * *layer, which the caller frees; NULL where nothing has to be hidden. */
must_check int hidden_up(int state, const char *dir, const char *name, char **layer, struct err *e);
