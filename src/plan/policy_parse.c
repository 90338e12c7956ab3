/* SPDX-License-Identifier: MIT */
/* policy_parse.c - a policy's text, and that of the one it extends, into struct policy. Pure. */
#include <string.h>

#include "base/str.h"
#include "plan/policy_parts.h"

#define POLICY_FIELD(member) offsetof(struct policy, member)
#define FIELDS(table, value, record) json_fields(value, table, ARRAY_LEN(table), record, NULL, e)

int policy_why(const struct json *value, void *record, struct err *e)
{
	(void)record; /* reasons are for people */
	if (value->type == JSON_STRING)
		return 0;
	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be a text or an array of texts");
	for (const struct json *item = value->list.first; item; item = item->next)
		if (item->type != JSON_STRING)
			return json_error(value, NULL, e, "must be a text or an array of texts");
	return 0;
}

static int parse_hostname(const struct json *value, void *reader, struct err *e)
{
	struct policy *p = ((struct policy_reader *)reader)->p;

	if (value->type != JSON_STRING || !str_is_name(value->string.bytes, 63))
		return json_error(value, NULL, e, "must be a host's name");
	free(p->hostname);
	p->hostname = str_dup(value->string.bytes, e);
	return p->hostname ? 0 : -e->code;
}

static int parse_base(const struct json *value, void *record, struct err *e)
{
	struct policy *p = record;

	if (value->type != JSON_STRING || !str_eq(value->string.bytes, "host"))
		return json_error(value, NULL, e, "must be \"host\"");
	free(p->root_base);
	p->root_base = str_dup(value->string.bytes, e);
	return p->root_base ? 0 : -e->code;
}

static const struct field root_fs_fields[] = {
	{ .key = "base", .kind = FIELD_CUSTOM, .parse = parse_base },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int parse_root_fs(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(root_fs_fields, value, ((struct policy_reader *)reader)->p);
}

static int parse_objects(const struct json *value, void *record, struct err *e)
{
	static const char *const names[] = { [GIT_OBJECTS_AUTO] = "auto",
					     [GIT_OBJECTS_ALL] = "all",
					     [GIT_OBJECTS_REACHABLE] = "reachable" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (value->type == JSON_STRING && str_eq(value->string.bytes, names[i])) {
			((struct policy *)record)->git_objects = (enum git_objects)i;
			return 0;
		}
	return json_error(value, NULL, e, "must be \"auto\", \"all\" or \"reachable\"");
}

/* It goes into a configuration file of git and into commits: no line may end in it. */
static int parse_identity(const struct json *value, char **into, struct err *e)
{
	bool text = value->type == JSON_STRING && value->string.len > 0 && value->string.len < 200;

	for (size_t i = 0; text && i < value->string.len; i++)
		text = (unsigned char)value->string.bytes[i] >= ' ' &&
		       !strchr("<>\x7f", value->string.bytes[i]);
	if (!text)
		return json_error(value, NULL, e, "must be a short line without '<' and '>'");
	free(*into);
	*into = str_dup(value->string.bytes, e);
	return *into ? 0 : -e->code;
}

static int parse_git_name(const struct json *value, void *record, struct err *e)
{
	return parse_identity(value, &((struct policy *)record)->git_name, e);
}

static int parse_git_email(const struct json *value, void *record, struct err *e)
{
	return parse_identity(value, &((struct policy *)record)->git_email, e);
}

static const struct field git_fields[] = {
	{ .key = "objects", .kind = FIELD_CUSTOM, .parse = parse_objects },
	{ .key = "name", .kind = FIELD_CUSTOM, .parse = parse_git_name },
	{ .key = "email", .kind = FIELD_CUSTOM, .parse = parse_git_email },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int parse_git(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(git_fields, value, ((struct policy_reader *)reader)->p);
}

static const struct field namespaces_fields[] = {
	{ .key = "nested", .kind = FIELD_BOOL, .offset = POLICY_FIELD(nested_userns) },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int parse_namespaces(const struct json *value, void *reader, struct err *e)
{
	return FIELDS(namespaces_fields, value, ((struct policy_reader *)reader)->p);
}

static int parse_description(const struct json *value, void *reader, struct err *e)
{
	struct policy *p = ((struct policy_reader *)reader)->p;

	if (value->type != JSON_STRING)
		return json_error(value, NULL, e, "must be a text");
	free(p->description);
	p->description = str_dup(value->string.bytes, e);
	return p->description ? 0 : -e->code;
}

static int parse_extends(const struct json *value, void *reader, struct err *e)
{
	const struct policy_reader *r = reader;

	if (value->type != JSON_STRING || !str_is_name(value->string.bytes, 200))
		return json_error(value, NULL, e, "must be the name of a policy");
	if (r->base)
		return json_error(value, NULL, e,
				  "a policy that another extends cannot extend again");
	return 0; /* it has been read before */
}

static const struct field policy_fields[] = {
	{ .key = "description", .kind = FIELD_CUSTOM, .parse = parse_description },
	{ .key = "extends", .kind = FIELD_CUSTOM, .parse = parse_extends },
	{ .key = "user", .kind = FIELD_CUSTOM, .parse = policy_parse_user },
	{ .key = "root", .kind = FIELD_CUSTOM, .parse = policy_parse_root },
	{ .key = "limits", .kind = FIELD_CUSTOM, .parse = policy_parse_limits },
	{ .key = "allow_degraded", .kind = FIELD_CUSTOM, .parse = policy_parse_degraded },
	{ .key = "network", .kind = FIELD_CUSTOM, .parse = policy_parse_network },
	{ .key = "environment", .kind = FIELD_CUSTOM, .parse = policy_parse_environment },
	{ .key = "certificates", .kind = FIELD_CUSTOM, .parse = policy_parse_certificates },
	{ .key = "mounts", .kind = FIELD_CUSTOM, .parse = policy_parse_mounts },
	{ .key = "hostname", .kind = FIELD_CUSTOM, .parse = parse_hostname },
	{ .key = "root_filesystem", .kind = FIELD_CUSTOM, .parse = parse_root_fs },
	{ .key = "git", .kind = FIELD_CUSTOM, .parse = parse_git },
	{ .key = "namespaces", .kind = FIELD_CUSTOM, .parse = parse_namespaces },
	{ .key = "seccomp", .kind = FIELD_CUSTOM, .parse = policy_parse_seccomp },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int read_text(struct policy_reader *r, const struct json *root, struct err *e)
{
	struct err why = { 0 };

	if (json_fields(root, policy_fields, ARRAY_LEN(policy_fields), r, NULL, &why) < 0)
		return err_code(e, why.code, "%s: %s", r->where, why.text);
	return 0;
}

static int parse_document(const char *text, size_t len, const char *where, struct json_doc **doc,
			  struct err *e)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;

	if (json_parse(text, len, &limits, doc, e) < 0)
		return err_wrap(e, "%s", where);
	return 0;
}

static int read_extended(const struct json *extends, struct policy *p, const char *where,
			 int (*find)(const char *name, struct buf *text, struct err *e),
			 struct err *e)
{
	struct policy_reader base = { .p = p, .where = extends->string.bytes, .base = true };
	autojson struct json_doc *doc = NULL;
	autobuf struct buf text = { 0 };

	if (!str_is_name(extends->string.bytes, 200) || (!find && !p->texts.extended))
		return json_error(extends, where, e, "must be the name of a policy");
	if (p->texts.extended)
		buf_puts(&text, p->texts.extended);
	else if (find(extends->string.bytes, &text, e) < 0)
		return err_wrap(e, "%s: line %u: 'extends'", where, extends->line);
	if (buf_check(&text, e) < 0 ||
	    parse_document(buf_str(&text), text.len, base.where, &doc, e) < 0 ||
	    read_text(&base, json_root(doc), e) < 0)
		return -e->code;
	if (!p->texts.extended)
		p->texts.extended = buf_take(&text);
	return 0;
}

static int parse_into(const char *text, size_t len, const char *where,
		      int (*find)(const char *name, struct buf *text, struct err *e),
		      struct policy *p, struct err *e)
{
	struct policy_reader reader = { .p = p, .where = where };
	autojson struct json_doc *doc = NULL;
	const struct json *extends;

	if (policy_init(p, e) < 0 || parse_document(text, len, where, &doc, e) < 0)
		return -e->code;
	/* Key order must not matter: what is extended comes first wherever it is named. */
	extends = json_root(doc)->type == JSON_OBJECT ? json_get(json_root(doc), "extends") : NULL;
	if (extends && extends->type == JSON_STRING &&
	    read_extended(extends, p, where, find, e) < 0)
		return -e->code;
	if (read_text(&reader, json_root(doc), e) < 0)
		return -e->code;
	p->texts.own = strndup(text, len);
	if (!p->texts.own)
		return err_code(e, ENOMEM, "policy: no memory");
	return policy_digest(p, e);
}

int policy_parse(const char *text, size_t len, const char *where,
		 int (*find)(const char *name, struct buf *text, struct err *e),
		 struct policy **out, struct err *e)
{
	struct policy *p = calloc(1, sizeof(*p));

	if (!p)
		return err_code(e, ENOMEM, "policy: no memory");
	if (parse_into(text, len, where, find, p, e) < 0) {
		policy_free(p);
		return -e->code;
	}
	*out = p;
	return 0;
}

int policy_parse_texts(const struct policy_texts *t, const char *where, struct policy **out,
		       struct err *e)
{
	struct policy *p = calloc(1, sizeof(*p));
	int r = 0;

	if (!p)
		return err_code(e, ENOMEM, "policy: no memory");
	if (t->extended) {
		p->texts.extended = str_dup(t->extended, e);
		r = p->texts.extended ? 0 : -e->code;
	}
	if (r == 0)
		r = parse_into(t->own, strlen(t->own), where, NULL, p, e);
	if (r < 0)
		policy_free(p);
	else
		*out = p;
	return r;
}
