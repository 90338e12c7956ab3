/* SPDX-License-Identifier: MIT */
/* str.h - texts: compared, and parsed whole or refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

bool str_eq(const char *a, const char *b);
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* A decimal number of digits alone, within [min, max]. -EINVAL or -ERANGE
 * with *e naming the text; *out untouched then. */
must_check int str_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct err *e);

/* A size in bytes: digits with an optional fraction of no more than three places and one of
 * K M G T (powers of 1024, optionally followed by "iB" or "B"). "0" is a size; "-1", "1e9G"
 * and "" are refused. */
must_check int str_size(const char *text, uint64_t *bytes, struct err *e);

/* A duration in milliseconds: "500ms", "30s", "5m", "2h", or a bare number of seconds with an
 * optional fraction. */
must_check int str_duration(const char *text, uint64_t *ms, struct err *e);

/* A positive decimal number with at most three places, in thousandths: "1.5" gives 1500. */
must_check int str_milli(const char *text, uint64_t *milli, struct err *e);

/* Equal, in a time that does not depend on where the texts differ. */
bool str_eq_secret(const char *a, const char *b);

/* Is every byte printable ASCII other than space? For names that go into paths and links. */
bool str_is_name(const char *text, size_t max_len);

/* strdup that fills *e; NULL on failure. */
char *str_dup(const char *text, struct err *e);

/* asprintf that returns the text or NULL with *e filled; the caller frees it. */
char *str_fmt(struct err *e, const char *fmt, ...) printf_like(2, 3);
