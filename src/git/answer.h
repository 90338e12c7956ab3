/* SPDX-License-Identifier: MIT */
/* answer.h - what ohsandbox-git says to who started it; the lines are in session/gitrun.h. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_out.h"

struct answer {
	struct buf text;
	struct json_out json;
	struct buf warnings; /* lines */
	uint64_t last_progress;
};

/* Begin the one object. Add members with jo_*(&a->json, ...). */
void answer_begin(struct answer *a);

/* A line the user should read, such as what was left out. */
void answer_warn(struct answer *a, const char *fmt, ...) printf_like(2, 3);

/* Say how far the work is, now and then: `done` counts up. */
void answer_progress(struct answer *a, uint64_t done, uint64_t total);

/* Write the object, or instead of it the error. Returns the exit status. */
int answer_end(struct answer *a, const struct err *error);
