/* SPDX-License-Identifier: MIT */
/* route.c - see route.h. Adding an endpoint is a row and a function. */
#include "sandbox/executor/route.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/actions_api.h"
#include "sandbox/executor/execute.h"
#include "sandbox/executor/mcp.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/standstill.h"

static void get_alive(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char ok[] = "{\"status\":\"ok\"}";

	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, NULL, ok, sizeof(ok) - 1);
}

/* No editor is served from a session. */
static void get_editor_token(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const char none[] = "{\"token\":null}";

	(void)s;
	(void)body;
	(void)len;
	conn_reply(c, 200, NULL, none, sizeof(none) - 1);
}

/* What V1's clients ask of their agent server. */
static void refuse_v1(struct server *s, struct conn *c, const char *body, size_t len)
{
	(void)s;
	(void)body;
	(void)len;
	conn_reply_detail(
		c, 501,
		"this session's executor does V0's actions; V1's agent server is a program of the "
		"image's own: see 'rootfs' and 'command' in ohsandbox-serve(5)");
}

/* Whoever waits for an action, however long it takes, or has asked for anything with the key, uses the
 * session. */
static uint64_t idle_since(const struct server *s)
{
	uint64_t asked_ms = s->conns.keyed_ms, done_ms = s->dispatch.used_ms;

	if (s->dispatch.in_hand)
		return loop_now();
	return asked_ms > done_ms ? asked_ms : done_ms;
}

static void get_info(struct server *s, struct conn *c, const char *body, size_t len)
{
	autobuf struct buf text = { 0 };

	(void)body;
	(void)len;
	info_show(&s->info, idle_since(s), &text);
	conn_reply(c, 200, NULL, buf_str(&text), text.len);
}

const struct route routes[] = {
	{ "GET", "/alive", true, 0, .handle = get_alive },
	{ "GET", "/health", true, 0, .handle = get_alive }, /* V1's clients wait for it */
	{ "GET", "/api/*", false, 0, .handle = refuse_v1 },
	{ "GET", "/api/*/*", false, 0, .handle = refuse_v1 },
	{ "GET", "/api/*/*/*", false, 0, .handle = refuse_v1 },
	{ "POST", "/api/*", false, 0, .handle = refuse_v1 },
	{ "POST", "/api/*/*", false, 0, .handle = refuse_v1 },
	{ "POST", "/api/*/*/*", false, 0, .handle = refuse_v1 },
	{ "GET", "/server_info", true, 0, .handle = get_info },
	{ "POST", "/list_files", false, TRANSFER_LIST_BODY, .handle = transfer_list },
	{ "GET", "/download_files", false, 0, .handle = transfer_download },
	{ "POST", "/upload_file", false, 0, .begin = transfer_upload },
	{ "GET", "/vscode/connection_token", false, 0, .handle = get_editor_token },
	{ "POST", "/update_mcp_server", false, MCP_BODY_MAX, .handle = mcp_update },
	{ "POST", STANDSTILL_PAUSE, false, 0, .handle = standstill_pause },
	{ "POST", STANDSTILL_RESUME, false, 0, .handle = standstill_resume },
	{ "GET", "/actions", false, 0, .handle = get_actions },
	{ "GET", "/actions/*", false, 0, .handle = get_one_action },
	{ "GET", "/actions/*/output", false, 0, .handle = get_output },
	{ "POST", "/actions/*/cancel", false, 0, .handle = post_cancel },
	{ "POST", "/execute_action", false, DISPATCH_BODY_MAX, .handle = post_action },
};
const size_t routes_count = ARRAY_LEN(routes);
