/* SPDX-License-Identifier: MIT */
/* mcp.h - tool servers that a client wants to have started. This executor starts none, and says so. */
#pragma once

#include <stddef.h>

struct server;
struct conn;

enum mcp_limits {
	MCP_BODY_MAX = 1 << 20, /* of a list of servers */
};

/* POST /update_mcp_server */
void mcp_update(struct server *s, struct conn *c, const char *body, size_t len);
