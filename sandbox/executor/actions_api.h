/* SPDX-License-Identifier: MIT */
/* actions_api.h - the endpoints /actions: what became of actions, as handlers of routes. */
#pragma once

#include <stddef.h>

struct server;
struct conn;

void get_actions(struct server *s, struct conn *c, const char *body, size_t len);
void get_one_action(struct server *s, struct conn *c, const char *body, size_t len);
void get_output(struct server *s, struct conn *c, const char *body, size_t len);
void post_cancel(struct server *s, struct conn *c, const char *body, size_t len);
