/* SPDX-License-Identifier: MIT */
/* tidy.h - the directories of ended sessions are made ready for the next ones, beside all else.
 *
 * A start does that too (session/spare.h), but only for as long as it waits for its child: to take
 * away what the kernel leaves in a layer may make the disk discard a block for each directory. */
#pragma once

#include "api/server.h"

void tidy_init(struct server *s);

/* A session's directory may have been laid by: see to it when it has rested. */
void tidy_later(struct server *s);
