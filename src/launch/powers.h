/* SPDX-License-Identifier: MIT */
/* powers.h - while a session runs, its supervisor moves foreign bytes: it holds no power then, and
 * keeps the few that taking the session down needs where it can raise them again. */
#pragma once

#include "base/err.h"

/* Give up for good what `down` does not need, and lower the rest. Nothing to do for who has none. */
must_check int powers_lower(struct err *e);

/* Have again what is left. */
must_check int powers_raise(struct err *e);
