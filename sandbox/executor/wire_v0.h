/* SPDX-License-Identifier: MIT */
/* wire_v0.h - OpenHands' V0 JSON: actions in, observations out. Pure: no I/O. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/action.h"
#include "sandbox/executor/observation.h"

/* Why a body is no action. The text goes into the reply as it is. */
struct wire_refusal {
	int status; /* 422 or 500 */
	char text[ERR_TEXT_BYTES];
};

/* Decode the body of /execute_action. 0 with *a owning what it needs, or a negative errno with
 * *why filled. */
must_check int wire_v0_action(const char *body, size_t len, struct action *a,
			      struct wire_refusal *why);

/* Write the observation as V0 has it. */
void wire_v0_observation(const struct observation *o, struct buf *out);
