/* SPDX-License-Identifier: MIT */
/* service.h - a program of the image's own, started inside by the session's executor. */
#pragma once

#include "api/label.h"
#include "session/session.h"

/* Start what the label names, as an action of the workload's, and wait until it listens at its port.
 * Nothing where it names nothing. One that ends before is an error with the tail of what it wrote. A
 * second time, with the same session's processes, nothing is started again. */
must_check int service_start(const struct record *r, const struct label *l, struct err *e);
