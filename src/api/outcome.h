/* SPDX-License-Identifier: MIT */
/* outcome.h - what a session's executor answers to a command, for the daemon's own use. Pure. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Take a reply of /execute_action apart, which is a session's word: what the command printed is appended
 * to `content`, and its exit status, which is negative where it was not seen to end, goes to *status.
 * -EPROTO for what is no observation of a command, with what it says where it is a refusal. */
must_check int outcome_read(const char *reply, size_t len, struct buf *content, int *status,
			    struct err *e);
