/* SPDX-License-Identifier: MIT */
/* service.h - a program of the image's own, started inside by the session's executor. */
#pragma once

#include <stdbool.h>

#include "api/label.h"
#include "session/session.h"

/* Start what the label names, in the background, and wait until it answers at its port. Nothing where
 * it names nothing. -ECHILD where it ends before, with the tail of what it wrote. One that runs is
 * not started again. */
must_check int service_start(const struct record *r, const struct label *l, struct err *e);

/* Does it answer? Also where the label names nothing. */
bool service_answers(const struct record *r, const struct label *l);

/* 0 while it has not ended, else -ECHILD as above. */
must_check int service_check(const struct record *r, const struct label *l, struct err *e);
