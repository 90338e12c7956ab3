/* SPDX-License-Identifier: MIT */
/* session_json.c - see session_json.h. */
#include "launch/session_json.h"

#include <stdio.h>

#include "base/str.h"
#include "session/record.h"

/* Where a pause or a resume was cut off it is the processes that count. */
const char *session_state_name(const struct record *r, bool alive)
{
	if (alive)
		return str_eq(r->paused, RECORD_FROZEN) ? "paused" : "running";
	return r->paused || r->persists ? "paused" : "kept";
}

static void strings(struct json_out *o, const char *key, char *const *list)
{
	jo_array(o, key);
	for (; list && *list; list++)
		jo_string(o, NULL, *list);
	jo_end_array(o);
}

/* Where its executor answers, or will when it is resumed. */
static void endpoints(struct json_out *o, const struct record *r, bool stands)
{
	char url[64] = "", address[64] = "";

	if (stands && r->host_port)
		(void)snprintf(url, sizeof(url), "http://localhost:%u", r->host_port);
	if (stands && r->address)
		(void)snprintf(address, sizeof(address), "%u.%u.%u.%u:%u", r->address >> 24,
			       r->address >> 16 & 255, r->address >> 8 & 255, r->address & 255,
			       r->port);
	jo_string(o, "url", url[0] ? url : NULL);
	jo_string(o, "address", address[0] ? address : NULL);
}

static void details(struct json_out *o, const struct record *r)
{
	strings(o, "command", r->command);
	strings(o, "layers_root", r->layers_root);
	strings(o, "layers_workspace", r->layers_workspace);
	jo_array(o, "groups");
	for (unsigned i = 0; i < r->n_groups; i++)
		jo_string(o, NULL, r->group[i]);
	jo_end_array(o);
	jo_string(o, "link", r->link[0] ? r->link : NULL);
	if (r->slot == SESSION_NO_SLOT)
		jo_null(o, "slot");
	else
		jo_u64(o, "slot", r->slot);
	jo_string(o, "label", r->label);
	jo_bool(o, "persists", r->persists);
	jo_string(o, "policy_digest", r->policy_digest);
	if (r->init_pid && !r->rested)
		jo_int(o, "init_pid", r->init_pid);
	else
		jo_null(o, "init_pid");
}

void session_json(struct json_out *o, const char *key, const struct record *r, bool alive,
		  bool whole)
{
	bool stands = alive || r->paused || r->persists;

	jo_object(o, key);
	jo_string(o, "id", r->id);
	jo_string(o, "state", session_state_name(r, alive));
	jo_string(o, "paused", r->paused);
	jo_string(o, "name", r->name);
	jo_string(o, "created", r->created);
	endpoints(o, r, stands);
	if (whole)
		jo_string(o, "session_api_key", stands && r->key[0] ? r->key : NULL);
	jo_string(o, "workspace", "/workspace");
	jo_string(o, "kind", r->workspace_kind);
	jo_string(o, "path", r->path);
	jo_string(o, "commit", r->commit);
	jo_string(o, "user", r->user);
	jo_string(o, "policy", r->policy);
	jo_bool(o, "stays", r->stays);
	if (whole)
		details(o, r);
	jo_end_object(o);
}
