/* SPDX-License-Identifier: MIT */
/* batch.h - objects by `git cat-file --batch`, one process for all of them. */
#pragma once

#include "git/objects.h"

struct batch;

must_check int batch_open(const struct repo *r, struct batch **out, struct err *e);
void batch_close(struct batch *b);

/* -ENOENT when git does not have the object, -EFBIG beyond `max` bytes. */
must_check int batch_read(struct batch *b, const char *hex, size_t max, struct object *out,
			  struct err *e);
