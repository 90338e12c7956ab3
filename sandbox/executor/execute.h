/* SPDX-License-Identifier: MIT */
/* execute.h - POST /execute_action: a request becomes a job, and what came of it the reply. */
#pragma once

#include <stddef.h>

struct server;
struct conn;

void post_action(struct server *s, struct conn *c, const char *body, size_t len);
