/* SPDX-License-Identifier: MIT */
/* policy_sections.c - the sections of a policy, each by a table of its keys: a new key is a row. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "plan/policy_parts.h"
#include "plan/strv.h"

#define POLICY_FIELD(member) offsetof(struct policy, member)
#define FIELDS(table, value, record) json_fields(value, table, ARRAY_LEN(table), record, NULL, e)

static int whole_number(const struct json *value, uint64_t min, uint64_t max, uint64_t *out,
			struct err *e)
{
	if (value->type != JSON_INT || value->integer < 0 || (uint64_t)value->integer < min ||
	    (uint64_t)value->integer > max)
		return json_error(value, NULL, e,
				  "must be a whole number from %" PRIu64 " to %" PRIu64, min, max);
	*out = (uint64_t)value->integer;
	return 0;
}

/* user */

static bool is_plain_path(const char *path)
{
	return path[0] == '/' && !strpbrk(path, ":\n") && !strstr(path, "//") &&
	       !strstr(path, "/..") && strlen(path) < 256;
}

static int parse_path(const struct json *value, char **into, struct err *e)
{
	if (value->type != JSON_STRING || memchr(value->string.bytes, 0, value->string.len) ||
	    !is_plain_path(value->string.bytes))
		return json_error(value, NULL, e, "must be a plain absolute path");
	free(*into);
	*into = str_dup(value->string.bytes, e);
	return *into ? 0 : -e->code;
}

static int parse_user_name(const struct json *value, void *record, struct err *e)
{
	struct policy *p = record;

	if (value->type != JSON_STRING || memchr(value->string.bytes, 0, value->string.len) ||
	    !str_is_name(value->string.bytes, 31) || strpbrk(value->string.bytes, ":/,\\") ||
	    strchr("-+~0123456789", value->string.bytes[0]) ||
	    str_eq(value->string.bytes, "root") || str_eq(value->string.bytes, "agent"))
		return json_error(value, NULL, e,
				  "must be a name of a user other than root and agent");
	free(p->user.name);
	p->user.name = str_dup(value->string.bytes, e);
	return p->user.name ? 0 : -e->code;
}

/* Not root, and none of the ids that are the executor's. */
static int parse_uid(const struct json *value, void *record, struct err *e)
{
	uint64_t id = 0;

	if (whole_number(value, 1, 65519, &id, e) < 0)
		return -e->code;
	((struct policy *)record)->user.uid = (uid_t)id;
	return 0;
}

static int parse_gid(const struct json *value, void *record, struct err *e)
{
	uint64_t id = 0;

	if (whole_number(value, 0, 65519, &id, e) < 0)
		return -e->code;
	((struct policy *)record)->user.gid = (gid_t)id;
	return 0;
}

static int parse_home(const struct json *value, void *record, struct err *e)
{
	return parse_path(value, &((struct policy *)record)->user.home, e);
}

static int parse_shell(const struct json *value, void *record, struct err *e)
{
	return parse_path(value, &((struct policy *)record)->user.shell, e);
}

static const struct field user_fields[] = {
	{ .key = "name", .kind = FIELD_CUSTOM, .parse = parse_user_name },
	{ .key = "uid", .kind = FIELD_CUSTOM, .parse = parse_uid },
	{ .key = "gid", .kind = FIELD_CUSTOM, .parse = parse_gid },
	{ .key = "home", .kind = FIELD_CUSTOM, .parse = parse_home },
	{ .key = "shell", .kind = FIELD_CUSTOM, .parse = parse_shell },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_user(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(user_fields, value, ((struct policy_reader *)reader)->p);
}

/* root: each capability is a line with its reason: {"CAP_CHOWN": "dpkg gives files to ..."} */

static int parse_caps(const struct json *value, void *record, struct err *e)
{
	uint64_t mask = 0;

	if (value->type != JSON_OBJECT)
		return json_error(value, NULL, e,
				  "must be an object of capabilities and their reasons");
	for (const struct json *item = value->list.first; item; item = item->next) {
		int cap = policy_cap(item->key);

		if (cap < 0)
			return json_error(item, NULL, e,
					  "is no capability that a session's root may have");
		if (policy_why(item, NULL, e) < 0)
			return -e->code;
		mask |= UINT64_C(1) << cap;
	}
	((struct policy *)record)->root_caps = mask;
	return 0;
}

static const struct field root_fields[] = {
	{ .key = "allowed", .kind = FIELD_BOOL, .offset = POLICY_FIELD(root_allowed) },
	{ .key = "capabilities", .kind = FIELD_CUSTOM, .parse = parse_caps },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_root(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(root_fields, value, ((struct policy_reader *)reader)->p);
}

/* limits: texts as on the command line, or whole numbers; null for none */

static int limit_number(const char *text, uint64_t *out, struct err *e)
{
	return str_u64(text, 0, INT64_MAX, out, e);
}

static const struct limit_key {
	const char *key;
	size_t offset;
	int (*parse)(const char *text, uint64_t *out, struct err *e);
} limit_keys[] = {
	{ "memory", offsetof(struct limits, memory_bytes), str_size },
	{ "swap", offsetof(struct limits, swap_bytes), str_size },
	{ "cpus", offsetof(struct limits, cpu_milli), str_milli },
	{ "pids", offsetof(struct limits, pids), limit_number },
	{ "timeout", offsetof(struct limits, timeout_ms), str_duration },
	{ "nofile", offsetof(struct limits, nofile), limit_number },
	{ "fsize", offsetof(struct limits, fsize_bytes), str_size },
	{ "tmp", offsetof(struct limits, tmp_bytes), str_size },
};

static int parse_limit_value(const struct json *value, const struct limit_key *key, uint64_t *out,
			     struct err *e)
{
	struct err why = { 0 };

	if (value->type == JSON_NULL) {
		*out = LIMIT_NONE;
		return 0;
	}
	if (value->type == JSON_INT && value->integer >= 0 && key->parse == limit_number) {
		*out = (uint64_t)value->integer;
		return 0;
	}
	if (value->type != JSON_STRING || memchr(value->string.bytes, 0, value->string.len))
		return json_error(value, NULL, e,
				  key->parse == limit_number ? "must be a whole number or null"
							     : "must be a text or null");
	if (key->parse(value->string.bytes, out, &why) < 0)
		return json_error(value, NULL, e, "%s", why.text);
	return 0;
}

static int parse_limit(const struct json *value, void *record, struct err *e)
{
	struct limits *limits = &((struct policy *)record)->limits;

	for (size_t i = 0; i < ARRAY_LEN(limit_keys); i++)
		if (str_eq(limit_keys[i].key, value->key))
			return parse_limit_value(
				value, &limit_keys[i],
				(uint64_t *)((char *)limits + limit_keys[i].offset), e);
	return json_error(value, NULL, e, "is no limit");
}

static const struct field limits_fields[] = {
	{ .key = "memory", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "memory_percent",
	  .kind = FIELD_U64,
	  .offset = POLICY_FIELD(memory_percent),
	  .min = 1,
	  .max = 100 },
	{ .key = "swap", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "cpus", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "pids", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "timeout", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "nofile", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "fsize", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "tmp", .kind = FIELD_CUSTOM, .parse = parse_limit },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_limits(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(limits_fields, value, ((struct policy_reader *)reader)->p);
}

static int degraded_bit(const char *name, unsigned *bit)
{
	for (*bit = 1; degraded_name(*bit); *bit <<= 1)
		if (str_eq(degraded_name(*bit), name))
			return 0;
	return -1;
}

int policy_parse_degraded(const struct json *value, void *reader, struct err *e)
{
	unsigned bits = 0, bit;

	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be an array of names");
	for (const struct json *item = value->list.first; item; item = item->next) {
		if (item->type != JSON_STRING || degraded_bit(item->string.bytes, &bit) < 0)
			return json_error(
				value, NULL, e,
				"holds what cannot be degraded; there are memory, swap, cpus, pids, network, ids");
		bits |= bit;
	}
	((struct policy_reader *)reader)->p->allow_degraded = bits;
	return 0;
}

/* network */

static int parse_mode(const struct json *value, void *record, struct err *e)
{
	static const char *const names[] = { [NET_NONE] = "none", [NET_NAT] = "nat" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (value->type == JSON_STRING && str_eq(value->string.bytes, names[i])) {
			((struct policy *)record)->net = (enum net_mode)i;
			return 0;
		}
	return json_error(value, NULL, e, "must be \"none\" or \"nat\"");
}

static int parse_resolvers(const struct json *value, void *record, struct err *e)
{
	autostrv char **list = NULL;
	struct policy *p = record;
	unsigned char address[16];

	if (value->type != JSON_ARRAY && value->type != JSON_NULL)
		return json_error(value, NULL, e,
				  "must be an array of addresses, or null for the host's");
	if (value->type == JSON_ARRAY && value->list.count > 3)
		return json_error(value, NULL, e, "holds more than the three a resolver asks");
	for (const struct json *item = value->type == JSON_ARRAY ? value->list.first : NULL; item;
	     item = item->next) {
		if (item->type != JSON_STRING ||
		    (inet_pton(AF_INET, item->string.bytes, address) != 1 &&
		     inet_pton(AF_INET6, item->string.bytes, address) != 1))
			return json_error(value, NULL, e, "must hold addresses alone, as texts");
		if (strv_add(&list, item->string.bytes, e) < 0)
			return -e->code;
	}
	strv_free(p->resolvers);
	p->resolvers = take_ptr(&list);
	return 0;
}

static const struct field network_fields[] = {
	{ .key = "mode", .kind = FIELD_CUSTOM, .parse = parse_mode },
	{ .key = "resolvers", .kind = FIELD_CUSTOM, .parse = parse_resolvers },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_network(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(network_fields, value, ((struct policy_reader *)reader)->p);
}

/* environment and certificates */

static bool is_variable(const char *name)
{
	return *name && !strchr("0123456789", *name) &&
	       !name[strspn(name,
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")];
}

/* Added to what the extended policy sets. */
static int parse_set(const struct json *value, void *record, struct err *e)
{
	struct policy *p = record;

	if (value->type != JSON_OBJECT)
		return json_error(value, NULL, e, "must be an object of variables");
	if (value->list.count > POLICY_LIST_MAX)
		return json_error(value, NULL, e, "holds more than %d variables", POLICY_LIST_MAX);
	for (const struct json *item = value->list.first; item; item = item->next) {
		autofree char *text = NULL;

		if (item->type != JSON_STRING || memchr(item->string.bytes, 0, item->string.len) ||
		    !is_variable(item->key))
			return json_error(item, NULL, e,
					  "must be the name of a variable, with a text");
		text = str_fmt(e, "%s=%s", item->key, item->string.bytes);
		if (!text || strv_env_put(&p->env, text, e) < 0)
			return -e->code;
	}
	return 0;
}

static int parse_variables(const struct json *value, char ***into, struct err *e)
{
	autostrv char **list = NULL;

	if (value->type != JSON_ARRAY || value->list.count > POLICY_LIST_MAX)
		return json_error(value, NULL, e, "must be an array of names of variables");
	for (const struct json *item = value->list.first; item; item = item->next) {
		if (item->type != JSON_STRING || !is_variable(item->string.bytes))
			return json_error(value, NULL, e, "must be an array of names of variables");
		if (strv_add(&list, item->string.bytes, e) < 0)
			return -e->code;
	}
	strv_free(*into);
	*into = take_ptr(&list);
	return 0;
}

static int parse_pass(const struct json *value, void *record, struct err *e)
{
	return parse_variables(value, &((struct policy *)record)->pass_env, e);
}

static int parse_bundle_variables(const struct json *value, void *record, struct err *e)
{
	return parse_variables(value, &((struct policy *)record)->certificate_env, e);
}

static int parse_bundle_files(const struct json *value, void *record, struct err *e)
{
	autostrv char **list = NULL;
	struct policy *p = record;

	if (value->type != JSON_ARRAY || value->list.count > POLICY_LIST_MAX)
		return json_error(value, NULL, e, "must be an array of paths");
	for (const struct json *item = value->list.first; item; item = item->next) {
		char *path = NULL;

		if (parse_path(item, &path, e) < 0 || strv_take(&list, path, e) < 0)
			return -e->code;
	}
	strv_free(p->certificates);
	p->certificates = take_ptr(&list);
	return 0;
}

static const struct field environment_fields[] = {
	{ .key = "set", .kind = FIELD_CUSTOM, .parse = parse_set },
	{ .key = "pass", .kind = FIELD_CUSTOM, .parse = parse_pass },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_environment(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(environment_fields, value, ((struct policy_reader *)reader)->p);
}

static const struct field certificates_fields[] = {
	{ .key = "files", .kind = FIELD_CUSTOM, .parse = parse_bundle_files },
	{ .key = "variables", .kind = FIELD_CUSTOM, .parse = parse_bundle_variables },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_certificates(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(certificates_fields, value, ((struct policy_reader *)reader)->p);
}

/* mounts */

int policy_parse_mount_mode(const struct json *value, void *record, struct err *e)
{
	static const char *const names[] = { [MOUNT_MODE_COW] = "cow", [MOUNT_MODE_RO] = "ro" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (value->type == JSON_STRING && str_eq(value->string.bytes, names[i])) {
			((struct policy_mount *)record)->mode = (enum mount_mode)i;
			return 0;
		}
	return json_error(value, NULL, e, "must be \"cow\" or \"ro\"");
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
	{ .key = "mode", .kind = FIELD_CUSTOM, .parse = policy_parse_mount_mode },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static void clear_mounts(struct policy *p)
{
	for (unsigned i = 0; i < p->n_mounts; i++) {
		free(p->mounts[i].host);
		free(p->mounts[i].inside);
	}
	free(p->mounts);
	p->mounts = NULL;
	p->n_mounts = 0;
}

int policy_parse_mounts(const struct json *value, void *reader, struct err *e)
{
	struct policy *p = ((struct policy_reader *)reader)->p;

	if (value->type != JSON_ARRAY || value->list.count > 100)
		return json_error(value, NULL, e, "must be an array of no more than 100 mounts");
	clear_mounts(p);
	p->mounts = calloc(value->list.count + 1, sizeof(*p->mounts));
	if (!p->mounts)
		return err_code(e, ENOMEM, "policy: no memory");
	for (const struct json *item = value->list.first; item; item = item->next) {
		struct policy_mount *mount = &p->mounts[p->n_mounts++];

		if (FIELDS(mount_fields, item, mount) < 0)
			return -e->code;
		if ((mount->host[0] != '/' && strncmp(mount->host, "~/", 2) != 0) ||
		    !is_plain_path(mount->inside))
			return json_error(value, NULL, e,
					  "'host' must begin with '/' or '~/', 'inside' with '/'");
	}
	return 0;
}
