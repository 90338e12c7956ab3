/* SPDX-License-Identifier: MIT */
/* service.h - a program of the image's own, started inside by the session's executor. */
#pragma once

#include <stdbool.h>

#include "api/label.h"
#include "base/buf.h"
#include "session/session.h"

/* Start what the label names, in the background. 1: it is to be waited for; 0 where it names nothing. One
 * that runs is not started again. */
must_check int service_start(const struct record *r, const struct label *l, struct err *e);

/* Wait until it answers at its port. -ECHILD where it ends before, with its last words; the end of what
 * it wrote goes to `log`. */
must_check int service_await(const struct record *r, const struct label *l, struct buf *log,
			     struct err *e);

/* Does it answer? Also where the label names nothing. */
bool service_answers(const struct record *r, const struct label *l);

/* 0 while it has not ended, else -ECHILD as above. */
must_check int service_check(const struct record *r, const struct label *l, struct err *e);
