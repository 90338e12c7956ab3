/* SPDX-License-Identifier: MIT */
/* request_json.h - a resolved request, and the policy it was decided with, as JSON and back. Pure.
 *
 * With these two and the facts of the host the same plan is made again, whatever has become of the
 * caller's environment and of the policy's files meanwhile: a paused session is brought back so. */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

#define REQUEST_BYTES_MAX ((size_t)16 << 20)

/* The policy's part of it. */
struct request_policy {
	char *path;
	struct policy_texts texts;
};

/* Append the JSON of a request that request_resolve() has seen. Check `out` afterwards. Values of
 * environment variables are in it. */
void request_write(const struct request *r, const struct policy *p, struct buf *out);

/* Read it. What was there is replaced, the strings are the caller's: request_clear() and
 * request_policy_clear(). Untouched on failure. */
must_check int request_parse(const char *text, size_t len, struct request *r,
			     struct request_policy *p, struct err *e);
void request_policy_clear(struct request_policy *p);
