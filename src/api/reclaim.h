/* SPDX-License-Identifier: MIT */
/* reclaim.h - what is idle, old, or frozen for long gives its memory back. */
#pragma once

#include "api/server.h"

/* Look at all sessions; called about every second. */
void reclaim_turn(struct server *s);
