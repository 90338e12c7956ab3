/* SPDX-License-Identifier: MIT */
/* wire_v0_values.h - values of V0 actions that are more than a JSON type. Pure. */
#pragma once

#include "sandbox/executor/action.h"

/* The list of a `view_range`: two integers, or what cannot be shown, with the list as Python would
 * print it. */
void wire_v0_range(const struct json *list, struct action_range *range);

/* A text that Python would read as an integer. Where it is out of range it becomes the nearest one
 * that is not. Returns whether it is one. */
bool wire_v0_integer(struct text t, int64_t *out);
