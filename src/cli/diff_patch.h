/* SPDX-License-Identifier: MIT */
/* diff_patch.h - the contents behind a session's changes, compared by ohsandbox-git. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "session/session.h"

/* Write a patch to standard output. */
must_check int diff_patch(struct session *s, struct err *e);

/* Append a line with a small graph for each change, and a sum. */
must_check int diff_stat(struct session *s, struct buf *out, struct err *e);

/* Append a foreign name: as it is where it is harmless, else in quotes with escapes, as git does. */
void diff_quote(struct buf *out, const char *name);
