/* SPDX-License-Identifier: MIT */
/* start_body.h - the body of POST /start, as both generations of clients send it. Pure.
 *
 * Source: the runtime API's own clients; which keys they send, and in which of several types, is told
 * at each. Keys that are not known are left alone: clients add some with every release. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/command.h"
#include "base/err.h"
#include "base/sha256.h"

enum start_body_limits {
	START_BODY_MAX = 1 << 20,
	START_IMAGE_MAX = 512,
	START_VARIABLES_MAX = 1024,
	START_FACTOR_MAX = 64,
};

struct start_body {
	char *image;
	char *session_id; /* NULL: the server chooses */
	struct start_command command;
	char *working_dir;
	char **environment; /* "K=V" */
	uint64_t
		factor; /* resource_factor: multiplies the template's limits; 1 where there is none */
	int64_t user, group; /* run_as_user, run_as_group; -1 where there is none */
};

/* -EINVAL with *e naming key and line. `b` is to be cleared in both cases. */
must_check int start_body_parse(const char *text, size_t len, struct start_body *b, struct err *e);
void start_body_clear(struct start_body *b);

/* A digest of what is asked for: equal for two starts that differ in the session's name alone. */
void start_body_shape(const struct start_body *b, char out[SHA256_HEX_BYTES]);
