/* SPDX-License-Identifier: MIT */
/* session_json.h - a session as `start`, `list --json` and `show` print it. */
#pragma once

#include <stdbool.h>

#include "base/json_out.h"
#include "session/session.h"

/* One object. `whole` adds what only `show` has: the key, the layers, the command. */
void session_json(struct json_out *o, const char *key, const struct record *r, bool alive,
		  bool whole);

/* "running"; "paused"; or "kept" for layers alone. */
const char *session_state_name(const struct record *r, bool alive);
