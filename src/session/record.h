/* SPDX-License-Identifier: MIT */
/* record.h - struct record as JSON and back. Pure: bytes in, struct out. */
#pragma once

#include "session/session.h"

#define RECORD_VERSION 1
#define RECORD_BYTES_MAX (1u << 20) /* of record.json */
#define JOURNAL_BYTES_MAX (1u << 20)

/* What `paused` says. */
#define RECORD_FROZEN "frozen"
#define RECORD_ON_DISK "disk"

bool record_pause_ok(const char *text);

/* Append the record's JSON. Check `out` afterwards. */
void record_write(const struct record *r, struct buf *out);

/* The record, its strings on the heap. Untouched on failure. */
must_check int record_parse(const char *text, size_t len, struct record *r, struct err *e);

/* Apply the journal's lines (see session.h): later ones win, a torn last line is ignored. */
must_check int record_apply_journal(struct record *r, const char *text, size_t len, struct err *e);

/* A deep copy. */
must_check int record_copy(const struct record *r, struct record *out, struct err *e);
void record_clear(struct record *r);
