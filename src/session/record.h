/* SPDX-License-Identifier: MIT */
/* record.h - struct record as JSON and back. Pure: bytes in, struct out. */
#pragma once

#include "session/session.h"

void record_write(const struct record *r, struct buf *out);
must_check int record_parse(const char *text, size_t len, struct record *r, struct err *e);

/* Apply the journal's lines: later ones win, a torn last line is ignored. */
must_check int record_apply_journal(struct record *r, const char *text, size_t len, struct err *e);
void record_clear(struct record *r);
