/* SPDX-License-Identifier: MIT */
/* standstill.h - the workload is frozen by the host: meanwhile no time passes, and nothing is asked of it.
 *
 *	POST /pause	from now on everything but what is open, and these two, is answered by 503
 *	POST /resume	everything goes on */
#pragma once

#include <stddef.h>

#include "http/conn.h"

#define STANDSTILL_PAUSE "/pause"
#define STANDSTILL_RESUME "/resume"

/* May this be heard now? As conns.admit says. */
int standstill_admit(struct server *s, const struct http_request *r, const char **why);

void standstill_pause(struct server *s, struct conn *c, const char *body, size_t len);
void standstill_resume(struct server *s, struct conn *c, const char *body, size_t len);
