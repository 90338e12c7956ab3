/* SPDX-License-Identifier: MIT */
/* record.c - see record.h. */
#include "session/record.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"
#include "base/json_wire.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/strv.h"

#define WHERE "record.json"

static const char *const
	ids_names[] = { [IDS_ROOT] = "root", [IDS_SUBIDS] = "subids", [IDS_SINGLE] = "single" };

static bool is_hex(const char *text)
{
	for (; *text; text++)
		if (escape_hex_digit(*text) < 0)
			return false;
	return true;
}

bool record_pause_ok(const char *text)
{
	return str_eq(text, RECORD_FROZEN) || str_eq(text, RECORD_ON_DISK);
}

/* The record, with room for what JSON holds in another form. */
struct wire {
	struct record r;
	uint64_t version, slot, host_uid, address, port, host_port, init_pid, init_start;
	char *id, *ids, *link, *key;
	char **groups;
};

static int parse_map(const struct json *list, struct id_map *map, struct err *e)
{
	struct id_map found = { 0 };

	if (list->type != JSON_ARRAY || list->list.count > IDS_RANGES_MAX)
		return json_error(list, WHERE, e, "must be a list of no more than %d ranges",
				  IDS_RANGES_MAX);
	for (const struct json *row = list->list.first; row; row = row->next) {
		uint32_t value[3] = { 0 };
		unsigned n = 0;

		if (row->type != JSON_ARRAY || row->list.count != 3)
			return json_error(list, WHERE, e, "a range is [inside, outside, count]");
		for (const struct json *v = row->list.first; v; v = v->next) {
			if (v->type != JSON_INT || v->integer < 0 || v->integer > UINT32_MAX)
				return json_error(list, WHERE, e, "an id is a number of 32 bits");
			value[n++] = (uint32_t)v->integer;
		}
		if (!value[2] || value[2] > UINT32_MAX - value[0] ||
		    value[2] > UINT32_MAX - value[1])
			return json_error(list, WHERE, e,
					  "a range is empty or ends behind the last id");
		found.range[found.n++] = (struct id_range) { value[0], value[1], value[2] };
	}
	*map = found;
	return 0;
}

static int parse_uids(const struct json *value, void *wire, struct err *e)
{
	return parse_map(value, &((struct wire *)wire)->r.session_uids, e);
}

static int parse_gids(const struct json *value, void *wire, struct err *e)
{
	return parse_map(value, &((struct wire *)wire)->r.session_gids, e);
}

/* [[host, inside], ...] */
static int parse_ports(const struct json *list, void *wire, struct err *e)
{
	struct record *r = &((struct wire *)wire)->r;

	if (list->type != JSON_ARRAY || list->list.count > RECORD_PORTS_MAX)
		return json_error(list, WHERE, e, "must be a list of no more than %d ports",
				  RECORD_PORTS_MAX);
	for (const struct json *row = list->list.first; row; row = row->next) {
		const struct json *host = row->type == JSON_ARRAY ? row->list.first : NULL;
		const struct json *inside = host ? host->next : NULL;

		if (!inside || inside->next || host->type != JSON_INT || inside->type != JSON_INT ||
		    host->integer < 1 || host->integer > UINT16_MAX || inside->integer < 1 ||
		    inside->integer > UINT16_MAX)
			return json_error(list, WHERE, e, "a port is [host, inside]");
		r->ports[r->n_ports++] =
			(struct record_port) { (uint16_t)host->integer, (uint16_t)inside->integer };
	}
	return 0;
}

static const struct field fields[] = {
	{ .key = "version",
	  .kind = FIELD_U64,
	  .offset = offsetof(struct wire, version),
	  .required = true,
	  .min = RECORD_VERSION,
	  .max = RECORD_VERSION },
	WIRE_MUST("id", id),
	WIRE_TEXT("created", r.created),
	WIRE_MUST("ids", ids),
	WIRE_NUMBER("slot", slot, SESSION_NO_SLOT),
	WIRE_CUSTOM("session_uids", parse_uids),
	WIRE_CUSTOM("session_gids", parse_gids),
	WIRE_NUMBER("host_uid", host_uid, UINT32_MAX),
	WIRE_TEXT("workspace_kind", r.workspace_kind),
	WIRE_TEXT("path", r.path),
	WIRE_TEXT("subdir", r.subdir),
	WIRE_TEXT("rev", r.rev),
	WIRE_TEXT("commit", r.commit),
	WIRE_TEXT("repo_id", r.repo_id),
	WIRE_TEXT("policy", r.policy),
	WIRE_TEXT("policy_digest", r.policy_digest),
	WIRE_LIST("command", r.command),
	WIRE_TEXT("user", r.user),
	WIRE_LIST("layers_root", r.layers_root),
	WIRE_LIST("layers_workspace", r.layers_workspace),
	WIRE_LIST("groups", groups),
	WIRE_TEXT("link", link),
	WIRE_NUMBER("address", address, UINT32_MAX),
	WIRE_NUMBER("port", port, UINT16_MAX),
	WIRE_NUMBER("host_port", host_port, UINT16_MAX),
	WIRE_CUSTOM("ports", parse_ports),
	WIRE_TEXT("key", key),
	WIRE_FLAG("keep", r.keep),
	WIRE_FLAG("stays", r.stays),
	WIRE_TEXT("name", r.name),
	WIRE_TEXT("label", r.label),
	WIRE_FLAG("persists", r.persists),
	WIRE_TEXT("paused", r.paused),
	WIRE_FLAG("wakes", r.wakes),
	WIRE_FLAG("rested", r.rested),
	WIRE_TEXT("freezer", r.freezer),
	WIRE_FLAG("ready", r.ready),
	WIRE_NUMBER("init_pid", init_pid, INT32_MAX),
	WIRE_NUMBER("init_start", init_start, INT64_MAX),
};

static void *member(const struct wire *w, const struct field *f)
{
	return (char *)(uintptr_t)w + f->offset;
}

static void list_clear(char ***list)
{
	for (char **p = *list; p && *p; p++)
		free(*p);
	free(*list);
	*list = NULL;
}

/* All strings and lists of strings are freed through the table, so that none is forgotten. */
static void wire_clear(struct wire *w)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].kind == FIELD_STRING) {
			free(*(char **)member(w, &fields[i]));
			*(char **)member(w, &fields[i]) = NULL;
		} else if (fields[i].kind == FIELD_STRINGS) {
			list_clear(member(w, &fields[i]));
		}
	}
}

static int wire_unescape(struct wire *w, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].kind == FIELD_STRING) {
			char *text = *(char **)member(w, &fields[i]);

			if (text && escape_undo(text, e) < 0)
				return err_wrap(e, WHERE);
		} else if (fields[i].kind == FIELD_STRINGS) {
			for (char **p = *(char ***)member(w, &fields[i]); p && *p; p++)
				if (escape_undo(*p, e) < 0)
					return err_wrap(e, WHERE);
		}
	}
	return 0;
}

/* Copy a text of foreign length into a member of fixed size. */
static int fill(char *to, size_t size, const char *from, const char *key, struct err *e)
{
	size_t n = from ? strlen(from) : 0;

	if (n >= size)
		return err_code(e, EINVAL, WHERE ": '%s' is longer than %zu bytes", key, size - 1);
	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
	return 0;
}

/* Its groups are removed by path: nothing but a plain absolute one is believed. */
static bool is_plain_path(const char *path)
{
	size_t n = strlen(path);

	return path[0] == '/' && !strstr(path, "/../") && !str_ends(path, "/..") && n < 4096;
}

static int take_groups(struct wire *w, struct err *e)
{
	unsigned n = 0;

	for (char **p = w->groups; p && *p; p++, n++)
		if (n >= ARRAY_LEN(w->r.group) || !is_plain_path(*p))
			return err_code(e, EINVAL,
					WHERE ": 'groups' holds no more than %zu absolute paths",
					ARRAY_LEN(w->r.group));
	for (unsigned i = 0; i < n; i++)
		w->r.group[i] = w->groups[i];
	w->r.n_groups = n;
	free(w->groups);
	w->groups = NULL;
	return 0;
}

static int take_ids_mode(const char *name, enum ids_mode *out, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(ids_names); i++)
		if (str_eq(name, ids_names[i])) {
			*out = (enum ids_mode)i;
			return 0;
		}
	return err_code(e, EINVAL, WHERE ": 'ids': '%.20s' is not root, subids or single", name);
}

/* What the table could not check. Groups come last: from then on the record owns them. */
static int wire_finish(struct wire *w, struct err *e)
{
	if (strlen(w->id) != sizeof(w->r.id) - 1 || !is_hex(w->id))
		return err_code(e, EINVAL, WHERE ": 'id': '%.20s' is not 12 hexadecimal digits",
				w->id);
	if (w->link && *w->link && !str_is_name(w->link, sizeof(w->r.link) - 1))
		return err_code(e, EINVAL, WHERE ": 'link': '%.20s' is no name of an interface",
				w->link);
	if (w->r.name && !request_name_ok(w->r.name))
		return err_code(e, EINVAL, WHERE ": 'name': '%.70s' is no name of a session",
				w->r.name);
	if (w->r.label && strlen(w->r.label) > REQUEST_LABEL_MAX)
		return err_code(e, EINVAL, WHERE ": 'label' is longer than %u bytes",
				REQUEST_LABEL_MAX);
	if (w->r.paused && !record_pause_ok(w->r.paused))
		return err_code(e, EINVAL, WHERE ": 'paused': '%.20s' is not %s or %s", w->r.paused,
				RECORD_FROZEN, RECORD_ON_DISK);
	if (w->r.freezer && !is_plain_path(w->r.freezer))
		return err_code(e, EINVAL, WHERE ": 'freezer' is no absolute path");
	if (w->key && !is_hex(w->key))
		return err_code(e, EINVAL, WHERE ": 'key' is not hexadecimal");
	if (take_ids_mode(w->ids, &w->r.ids, e) < 0 ||
	    fill(w->r.id, sizeof(w->r.id), w->id, "id", e) < 0 ||
	    fill(w->r.link, sizeof(w->r.link), w->link, "link", e) < 0 ||
	    fill(w->r.key, sizeof(w->r.key), w->key, "key", e) < 0 || take_groups(w, e) < 0)
		return -e->code;
	w->r.version = (unsigned)w->version;
	w->r.slot = (uint32_t)w->slot;
	w->r.host_uid = (uint32_t)w->host_uid;
	w->r.address = (uint32_t)w->address;
	w->r.port = (uint16_t)w->port;
	w->r.host_port = (uint16_t)w->host_port;
	w->r.init_pid = (pid_t)w->init_pid;
	w->r.init_start = w->init_start;
	return 0;
}

int record_parse(const char *text, size_t len, struct record *r, struct err *e)
{
	struct json_limits limits = { .bytes = RECORD_BYTES_MAX,
				      .depth = 4,
				      .values = WIRE_LIST_MAX };
	struct wire w __attribute__((cleanup(wire_clear))) = { .slot = SESSION_NO_SLOT };
	autojson struct json_doc *doc = NULL;

	if (json_parse(text, len, &limits, &doc, e) < 0)
		return err_wrap(e, WHERE);
	if (json_root(doc)->type != JSON_OBJECT)
		return err_code(e, EINVAL, WHERE ": not an object");
	if (json_fields(json_root(doc), fields, ARRAY_LEN(fields), &w, WHERE, e) < 0 ||
	    wire_unescape(&w, e) < 0 || wire_finish(&w, e) < 0)
		return -e->code;
	*r = w.r;
	w.r = (struct record) { 0 };
	return 0;
}

static void write_map(struct json_out *o, const char *key, const struct id_map *map)
{
	jo_array(o, key);
	for (unsigned i = 0; i < map->n; i++) {
		jo_array(o, NULL);
		jo_u64(o, NULL, map->range[i].inside);
		jo_u64(o, NULL, map->range[i].outside);
		jo_u64(o, NULL, map->range[i].count);
		jo_end_array(o);
	}
	jo_end_array(o);
}

static void write_ports(struct json_out *o, const struct record *r)
{
	jo_array(o, "ports");
	for (unsigned i = 0; i < r->n_ports; i++) {
		jo_array(o, NULL);
		jo_u64(o, NULL, r->ports[i].host);
		jo_u64(o, NULL, r->ports[i].inside);
		jo_end_array(o);
	}
	jo_end_array(o);
}

static void write_field(struct json_out *o, const struct field *f, const struct wire *w,
			struct buf *escaped)
{
	const void *at = member(w, f);

	if (f->kind == FIELD_U64) {
		jo_u64(o, f->key, *(const uint64_t *)at);
	} else if (f->kind == FIELD_BOOL) {
		jo_bool(o, f->key, *(const bool *)at);
	} else if (f->kind == FIELD_STRING && *(char *const *)at) {
		escape_text(*(char *const *)at, escaped);
		jo_string(o, f->key, buf_str(escaped));
	} else if (f->kind == FIELD_STRINGS && *(char **const *)at) {
		jo_array(o, f->key);
		for (char **p = *(char **const *)at; *p; p++) {
			escape_text(*p, escaped);
			jo_string(o, NULL, buf_str(escaped));
		}
		jo_end_array(o);
	}
}

void record_write(const struct record *r, struct buf *out)
{
	struct json_out o = { .buf = out };
	char *groups[ARRAY_LEN(r->group) + 1] = { 0 };
	autobuf struct buf escaped = { 0 };
	struct wire w = { .r = *r };

	/* The strings are borrowed: this wire is never cleared. */
	memcpy(groups, r->group, r->n_groups * sizeof(groups[0]));
	w.version = RECORD_VERSION;
	w.slot = r->slot;
	w.host_uid = r->host_uid;
	w.address = r->address;
	w.port = r->port;
	w.host_port = r->host_port;
	w.init_pid = (uint64_t)r->init_pid;
	w.init_start = r->init_start;
	w.id = w.r.id;
	w.ids = (char *)(uintptr_t)ids_names[r->ids];
	w.link = w.r.link;
	w.key = w.r.key;
	w.groups = groups;

	jo_object(&o, NULL);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		write_field(&o, &fields[i], &w, &escaped);
	write_map(&o, "session_uids", &r->session_uids);
	write_map(&o, "session_gids", &r->session_gids);
	write_ports(&o, r);
	jo_end_object(&o);
	if (escaped.failed)
		out->failed = true;
}

static int copy_text(const char *from, char **to, struct err *e)
{
	if (!from)
		return 0;
	*to = str_dup(from, e);
	return *to ? 0 : -e->code;
}

static int copy_list(char *const *from, char ***to, struct err *e)
{
	return from ? strv_extend(to, from, e) : 0;
}

static int copy_texts(const struct record *r, struct record *out, struct err *e)
{
	if (copy_text(r->created, &out->created, e) < 0 ||
	    copy_text(r->workspace_kind, &out->workspace_kind, e) < 0 ||
	    copy_text(r->path, &out->path, e) < 0 || copy_text(r->subdir, &out->subdir, e) < 0 ||
	    copy_text(r->rev, &out->rev, e) < 0 || copy_text(r->commit, &out->commit, e) < 0 ||
	    copy_text(r->repo_id, &out->repo_id, e) < 0 ||
	    copy_text(r->policy, &out->policy, e) < 0 ||
	    copy_text(r->policy_digest, &out->policy_digest, e) < 0 ||
	    copy_text(r->user, &out->user, e) < 0 || copy_text(r->name, &out->name, e) < 0 ||
	    copy_text(r->label, &out->label, e) < 0 || copy_text(r->paused, &out->paused, e) < 0 ||
	    copy_text(r->freezer, &out->freezer, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < r->n_groups; i++) {
		out->group[i] = str_dup(r->group[i], e);
		if (!out->group[i])
			return -e->code;
		out->n_groups++;
	}
	return 0;
}

int record_copy(const struct record *r, struct record *out, struct err *e)
{
	struct record copy = *r;

	copy.created = copy.workspace_kind = copy.path = copy.subdir = copy.rev = copy.commit =
		NULL;
	copy.repo_id = copy.policy = copy.policy_digest = copy.user = NULL;
	copy.name = copy.label = copy.paused = copy.freezer = NULL;
	copy.command = copy.layers_root = copy.layers_workspace = NULL;
	copy.n_groups = 0;
	if (copy_texts(r, &copy, e) < 0 || copy_list(r->command, &copy.command, e) < 0 ||
	    copy_list(r->layers_root, &copy.layers_root, e) < 0 ||
	    copy_list(r->layers_workspace, &copy.layers_workspace, e) < 0) {
		record_clear(&copy);
		return -e->code;
	}
	*out = copy;
	return 0;
}

void record_clear(struct record *r)
{
	struct wire w = { .r = *r };

	for (unsigned i = 0; i < r->n_groups; i++)
		free(r->group[i]);
	wire_clear(&w);
	explicit_bzero(r, sizeof(*r)); /* the key */
}
