/* SPDX-License-Identifier: MIT */
/* request_json.c - see request_json.h. Texts may hold any byte; see escape.h. */
#include "plan/request_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"
#include "base/json_wire.h"
#include "base/str.h"
#include "plan/policy_parts.h"
#include "plan/request.h"
#include "plan/show.h"
#include "plan/strv.h"

#define WHERE "request.json"
#define VERSION 1
#define PUBLISH_MAX 64u

static const char *const kinds
	[] = { [WORKSPACE_REPO] = "repo", [WORKSPACE_DIR] = "dir", [WORKSPACE_EMPTY] = "empty" };

/* The request, with room for what JSON holds in another form. */
struct wire {
	struct request r;
	struct request_policy p;
	uint64_t version;
	char *kind, *net;
};

static int parse_limits(const struct json *value, void *wire, struct err *e)
{
	struct request *r = &((struct wire *)wire)->r;

	if (value->type != JSON_OBJECT)
		return json_error(value, WHERE, e, "must be an object");
	for (const struct json *m = value->list.first; m; m = m->next) {
		unsigned i = 0;

		while (limit_name(i) && !str_eq(limit_name(i), m->key))
			i++;
		if (!limit_name(i))
			return json_error(m, WHERE, e, "is no limit");
		if (m->type != JSON_NULL && (m->type != JSON_INT || m->integer < 0))
			return json_error(m, WHERE, e, "must be a whole number or null");
		*limit_at(&r->limits, i) = m->type == JSON_NULL ? LIMIT_NONE : (uint64_t)m->integer;
		r->limit_named[i] = true;
	}
	return 0;
}

static int undo(char *text, struct err *e)
{
	return text && escape_undo(text, e) < 0 ? err_wrap(e, WHERE) : 0;
}

static const struct field mount_fields[] = {
	{ .key = "host",
	  .kind = FIELD_STRING,
	  .offset = offsetof(struct policy_mount, host),
	  .required = true },
	{ .key = "inside",
	  .kind = FIELD_STRING,
	  .offset = offsetof(struct policy_mount, inside),
	  .required = true },
	WIRE_CUSTOM("mode", policy_parse_mount_mode),
	{ .key = "is_file", .kind = FIELD_BOOL, .offset = offsetof(struct policy_mount, is_file) },
	{ .key = "owner_ids",
	  .kind = FIELD_BOOL,
	  .offset = offsetof(struct policy_mount, owner_ids) },
	{ .key = "plain_ids",
	  .kind = FIELD_BOOL,
	  .offset = offsetof(struct policy_mount, plain_ids) },
};

static int parse_mounts(const struct json *value, void *wire, struct err *e)
{
	struct request *r = &((struct wire *)wire)->r;

	if (value->type != JSON_ARRAY || value->list.count > REQUEST_MOUNTS_MAX)
		return json_error(value, WHERE, e, "must be a list of no more than %d mounts",
				  REQUEST_MOUNTS_MAX);
	r->mounts = calloc(value->list.count + 1, sizeof(*r->mounts));
	if (!r->mounts)
		return err_code(e, ENOMEM, WHERE ": no memory");
	for (const struct json *row = value->list.first; row; row = row->next) {
		struct policy_mount *m = &r->mounts[r->n_mounts++];

		if (json_fields(row, mount_fields, ARRAY_LEN(mount_fields), m, WHERE, e) < 0 ||
		    undo(m->host, e) < 0 || undo(m->inside, e) < 0)
			return -e->code;
	}
	return 0;
}

struct wire_publish {
	char *address;
	uint64_t port, inside;
};

static const struct field publish_fields[] = {
	{ .key = "address",
	  .kind = FIELD_STRING,
	  .offset = offsetof(struct wire_publish, address),
	  .required = true },
	{ .key = "port",
	  .kind = FIELD_U64,
	  .offset = offsetof(struct wire_publish, port),
	  .required = true,
	  .max = UINT16_MAX },
	{ .key = "inside",
	  .kind = FIELD_U64,
	  .offset = offsetof(struct wire_publish, inside),
	  .required = true,
	  .min = 1,
	  .max = UINT16_MAX },
};

static int parse_publish(const struct json *value, void *wire, struct err *e)
{
	struct request *r = &((struct wire *)wire)->r;

	if (value->type != JSON_ARRAY || value->list.count > PUBLISH_MAX)
		return json_error(value, WHERE, e, "must be a list of no more than %u ports",
				  PUBLISH_MAX);
	r->publish = calloc(value->list.count + 1, sizeof(*r->publish));
	if (!r->publish)
		return err_code(e, ENOMEM, WHERE ": no memory");
	for (const struct json *row = value->list.first; row; row = row->next) {
		struct wire_publish w = { 0 };
		int ret = json_fields(row, publish_fields, ARRAY_LEN(publish_fields), &w, WHERE, e);

		if (ret == 0)
			ret = undo(w.address, e);
		if (ret < 0) {
			free(w.address);
			return ret;
		}
		r->publish[r->n_publish++] = (struct publish) {
			.address = w.address,
			.port = (uint16_t)w.port,
			.inside = (uint16_t)w.inside,
		};
	}
	return 0;
}

static const struct field fields[] = {
	{ .key = "version",
	  .kind = FIELD_U64,
	  .offset = offsetof(struct wire, version),
	  .required = true,
	  .min = VERSION,
	  .max = VERSION },
	WIRE_MUST("kind", kind),
	WIRE_TEXT("path", r.path),
	WIRE_TEXT("subdir", r.subdir),
	WIRE_TEXT("rev", r.rev),
	WIRE_FLAG("dirty", r.dirty),
	WIRE_FLAG("trust_repo", r.trust_repo),
	WIRE_TEXT("workdir", r.workdir),
	WIRE_LIST("argv", r.argv),
	WIRE_LIST("env", r.env),
	WIRE_CUSTOM("limits", parse_limits),
	WIRE_TEXT("net", net),
	WIRE_TEXT("user", r.user),
	WIRE_TEXT("hostname", r.hostname),
	WIRE_CUSTOM("mounts", parse_mounts),
	WIRE_FLAG("toolchains", r.toolchains),
	WIRE_TEXT("rootfs", r.rootfs),
	WIRE_FLAG("rootfs_mapped", r.rootfs_mapped),
	WIRE_FLAG("rootfs_fixed", r.rootfs_fixed),
	WIRE_TEXT("rootfs_shell", r.rootfs_shell),
	WIRE_CUSTOM("publish", parse_publish),
	WIRE_FLAG("tty", r.tty),
	WIRE_FLAG("keep", r.keep),
	WIRE_FLAG("ends_with_us", r.ends_with_us),
	WIRE_TEXT("term", r.term),
	WIRE_TEXT("name", r.name),
	WIRE_TEXT("label", r.label),
	WIRE_FLAG("persists", r.persists),
	WIRE_LIST("toolchain_path", r.toolchain_path),
	WIRE_LIST("host_env", r.host_env),
	WIRE_MUST("policy_path", p.path),
	WIRE_MUST("policy", p.texts.own),
	WIRE_TEXT("policy_extended", p.texts.extended),
	WIRE_TEXT("policy_oci", p.texts.oci),
};

static void *member(const struct wire *w, const struct field *f)
{
	return (char *)(uintptr_t)w + f->offset;
}

static void wire_clear(struct wire *w)
{
	free(w->kind);
	free(w->net);
	request_clear(&w->r);
	request_policy_clear(&w->p);
}

static int undo_all(struct wire *w, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (fields[i].kind == FIELD_STRING && undo(*(char **)member(w, &fields[i]), e) < 0)
			return -e->code;
		if (fields[i].kind != FIELD_STRINGS)
			continue;
		for (char **p = *(char ***)member(w, &fields[i]); p && *p; p++)
			if (undo(*p, e) < 0)
				return -e->code;
	}
	return 0;
}

/* What the table could not check. */
static int finish(struct wire *w, struct err *e)
{
	struct request *r = &w->r;
	size_t kind = 0;

	while (kind < ARRAY_LEN(kinds) && !str_eq(kinds[kind], w->kind))
		kind++;
	if (kind == ARRAY_LEN(kinds))
		return err_code(e, EINVAL, WHERE ": 'kind': '%.20s' is not repo, dir or empty",
				w->kind);
	r->kind = (enum workspace_kind)kind;
	if (r->kind != WORKSPACE_EMPTY && !r->path)
		return err_code(e, EINVAL, WHERE ": key 'path' is missing");
	r->net = -1;
	for (int net = NET_NONE; w->net && net <= NET_NAT; net++)
		if (str_eq(w->net, show_net_name((enum net_mode)net)))
			r->net = net;
	if (w->net && r->net < 0)
		return err_code(e, EINVAL, WHERE ": 'net': '%.20s' is not none or nat", w->net);
	if (r->name && !request_name_ok(r->name))
		return err_code(e, EINVAL, WHERE ": 'name': '%.70s' is no name of a session",
				r->name);
	if (r->label && strlen(r->label) > REQUEST_LABEL_MAX)
		return err_code(e, EINVAL, WHERE ": 'label' is longer than %u bytes",
				REQUEST_LABEL_MAX);
	r->resolved = true;
	return 0;
}

int request_parse(const char *text, size_t len, struct request *r, struct request_policy *p,
		  struct err *e)
{
	struct json_limits limits = { .bytes = REQUEST_BYTES_MAX,
				      .depth = 4,
				      .values = WIRE_LIST_MAX };
	struct wire w __attribute__((cleanup(wire_clear))) = { .version = 0 };
	autojson struct json_doc *doc = NULL;

	request_init(&w.r);
	if (json_parse(text, len, &limits, &doc, e) < 0)
		return err_wrap(e, WHERE);
	if (json_fields(json_root(doc), fields, ARRAY_LEN(fields), &w, WHERE, e) < 0 ||
	    undo_all(&w, e) < 0 || finish(&w, e) < 0)
		return -e->code;
	*r = w.r;
	*p = w.p;
	request_init(&w.r);
	w.p = (struct request_policy) { 0 };
	return 0;
}

void request_policy_clear(struct request_policy *p)
{
	free(take_ptr(&p->path));
	policy_texts_clear(&p->texts);
}

static void put(struct json_out *o, const char *key, const char *text, struct buf *escaped)
{
	escape_text(text, escaped);
	jo_string(o, key, buf_str(escaped));
}

static void write_limits(struct json_out *o, const struct request *r)
{
	struct limits limits = r->limits;

	jo_object(o, "limits");
	for (unsigned i = 0; limit_name(i); i++) {
		uint64_t value = *limit_at(&limits, i);

		if (r->limit_named[i] && value == LIMIT_NONE)
			jo_null(o, limit_name(i));
		else if (r->limit_named[i])
			jo_u64(o, limit_name(i), value);
	}
	jo_end_object(o);
}

static void write_mounts(struct json_out *o, const struct request *r, struct buf *escaped)
{
	jo_array(o, "mounts");
	for (unsigned i = 0; i < r->n_mounts; i++) {
		const struct policy_mount *m = &r->mounts[i];

		jo_object(o, NULL);
		put(o, "host", m->host, escaped);
		put(o, "inside", m->inside, escaped);
		jo_string(o, "mode", show_mount_mode(m->mode));
		jo_bool(o, "is_file", m->is_file);
		jo_bool(o, "owner_ids", m->owner_ids);
		jo_bool(o, "plain_ids", m->plain_ids);
		jo_end_object(o);
	}
	jo_end_array(o);
}

static void write_publish(struct json_out *o, const struct request *r, struct buf *escaped)
{
	jo_array(o, "publish");
	for (unsigned i = 0; i < r->n_publish; i++) {
		jo_object(o, NULL);
		put(o, "address", r->publish[i].address, escaped);
		jo_u64(o, "port", r->publish[i].port);
		jo_u64(o, "inside", r->publish[i].inside);
		jo_end_object(o);
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
		put(o, f->key, *(char *const *)at, escaped);
	} else if (f->kind == FIELD_STRINGS && *(char **const *)at) {
		jo_array(o, f->key);
		for (char **p = *(char **const *)at; *p; p++)
			put(o, NULL, *p, escaped);
		jo_end_array(o);
	}
}

void request_write(const struct request *r, const struct policy *p, struct buf *out)
{
	struct json_out o = { .buf = out };
	autobuf struct buf escaped = { 0 };
	/* The strings are borrowed: this wire is never cleared. */
	struct wire w = { .r = *r,
			  .p = { .path = p->path, .texts = p->texts },
			  .version = VERSION,
			  .kind = (char *)(uintptr_t)kinds[r->kind] };

	if (r->net >= 0)
		w.net = (char *)(uintptr_t)show_net_name((enum net_mode)r->net);
	jo_object(&o, NULL);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		write_field(&o, &fields[i], &w, &escaped);
	write_limits(&o, r);
	write_mounts(&o, r, &escaped);
	write_publish(&o, r, &escaped);
	jo_end_object(&o);
	if (escaped.failed)
		out->failed = true;
}
