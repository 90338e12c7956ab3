/* SPDX-License-Identifier: MIT */
/* request.h - pieces that resolving a request is made of; for src/plan alone. */
#pragma once

#include "plan/plan.h"

#define REQUEST_MOUNTS_MAX 128

/* Append a mount whose texts the request takes over; they are freed on failure, and NULL is one. */
must_check int request_take_mount(struct request *r, struct policy_mount *mount, struct err *e);
