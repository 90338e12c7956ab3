/* SPDX-License-Identifier: MIT */
/* show.h - what plan_show() and policy_show() have in common. */
#pragma once

#include "base/json_out.h"
#include "plan/policy.h"

/* null for a limit that is not set. */
void show_limits(struct json_out *o, const char *key, const struct limits *limits);

/* The names of the bits, as an array. */
void show_degraded(struct json_out *o, const char *key, unsigned bits);

/* The limits in the order of their struct: the name of number `i`, NULL behind the last, and the place
 * of its value. */
const char *limit_name(unsigned i);
uint64_t *limit_at(struct limits *limits, unsigned i);

const char *show_mount_mode(enum mount_mode mode);
const char *show_net_name(enum net_mode net);

/* An array of texts; null for NULL. */
void show_texts(struct json_out *o, const char *key, char *const *texts);
