/* SPDX-License-Identifier: MIT */
/* policy_oci.c - a seccomp profile in OCI's form, as container engines export and ship them, into
 * rules of ours. Only allow-lists are taken: a profile that allows by default knows nothing of the
 * calls a later kernel brings. */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "plan/filter.h"
#include "plan/policy_parts.h"
#include "plan/strv.h"

struct oci {
	struct policy *p;
	int default_action; /* -1: not said yet */
	unsigned default_error;
};

/* One entry of "syscalls". */
struct entry {
	struct policy *p;
	struct seccomp_rule rule;
	char **names;
	bool has_action, has_error, applies;
};

struct oci_arg {
	uint64_t index, value, value_two;
	int op;
};

static int parse_action(const struct json *value, int *out, struct err *e)
{
	static const struct {
		const char *name;
		int action;
	} names[] = {
		{ "SCMP_ACT_ALLOW", SECCOMP_ALLOW },	  { "SCMP_ACT_ERRNO", SECCOMP_REFUSE },
		{ "SCMP_ACT_KILL", SECCOMP_KILL },	  { "SCMP_ACT_KILL_PROCESS", SECCOMP_KILL },
		{ "SCMP_ACT_KILL_THREAD", SECCOMP_KILL },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (value->type == JSON_STRING && str_eq(value->string.bytes, names[i].name)) {
			*out = names[i].action;
			return 0;
		}
	return json_error(value, NULL, e,
			  "must be SCMP_ACT_ALLOW, _ERRNO or _KILL; others are not taken");
}

static int parse_errno_ret(const struct json *value, unsigned *out, struct err *e)
{
	if (value->type != JSON_INT || value->integer < 0 || value->integer > 4095)
		return json_error(value, NULL, e, "must be a number from 0 to 4095");
	*out = (unsigned)value->integer;
	return 0;
}

static int parse_default_action(const struct json *value, void *record, struct err *e)
{
	struct oci *o = record;

	if (parse_action(value, &o->default_action, e) < 0)
		return -e->code;
	if (o->default_action == SECCOMP_ALLOW)
		return json_error(value, NULL, e, "a profile that allows by default is not taken");
	return 0;
}

static int parse_default_errno(const struct json *value, void *record, struct err *e)
{
	return parse_errno_ret(value, &((struct oci *)record)->default_error, e);
}

/* Of no meaning here: we build for one architecture, and the others are killed. */
static int ignore(const struct json *value, void *record, struct err *e)
{
	(void)value;
	(void)record;
	(void)e;
	return 0;
}

static int parse_names(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;

	if (value->type != JSON_ARRAY || value->list.count > 1000)
		return json_error(value, NULL, e, "must be an array of names");
	for (const struct json *item = value->list.first; item; item = item->next) {
		if (item->type != JSON_STRING || !str_is_name(item->string.bytes, 40))
			return json_error(value, NULL, e, "must be an array of names");
		if (strv_add(&entry->names, item->string.bytes, e) < 0)
			return -e->code;
	}
	return 0;
}

static int parse_entry_action(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;

	entry->has_action = true;
	return parse_action(value, &entry->rule.action, e);
}

static int parse_entry_errno(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;

	entry->has_error = value->type != JSON_NULL;
	return entry->has_error ? parse_errno_ret(value, &entry->rule.error, e) : 0;
}

static int parse_word(const struct json *value, uint64_t *out, struct err *e)
{
	if (value->type != JSON_INT || value->integer < 0)
		return json_error(value, NULL, e, "must be a whole number");
	*out = (uint64_t)value->integer;
	return 0;
}

static int parse_index(const struct json *value, void *record, struct err *e)
{
	struct oci_arg *arg = record;

	if (parse_word(value, &arg->index, e) < 0)
		return -e->code;
	return arg->index <= 5 ? 0 : json_error(value, NULL, e, "must be a number from 0 to 5");
}

static int parse_value(const struct json *value, void *record, struct err *e)
{
	return parse_word(value, &((struct oci_arg *)record)->value, e);
}

static int parse_value_two(const struct json *value, void *record, struct err *e)
{
	return parse_word(value, &((struct oci_arg *)record)->value_two, e);
}

enum { OCI_EQ = 100 };

static int parse_op(const struct json *value, void *record, struct err *e)
{
	static const struct {
		const char *name;
		int op;
	} names[] = {
		{ "SCMP_CMP_EQ", OCI_EQ },     { "SCMP_CMP_MASKED_EQ", SECCOMP_MASKED_EQ },
		{ "SCMP_CMP_NE", SECCOMP_NE }, { "SCMP_CMP_LT", SECCOMP_LT },
		{ "SCMP_CMP_LE", SECCOMP_LE }, { "SCMP_CMP_GE", SECCOMP_GE },
		{ "SCMP_CMP_GT", SECCOMP_GT },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (value->type == JSON_STRING && str_eq(value->string.bytes, names[i].name)) {
			((struct oci_arg *)record)->op = names[i].op;
			return 0;
		}
	return json_error(value, NULL, e, "is no comparison of seccomp");
}

static const struct field arg_fields[] = {
	{ .key = "index", .kind = FIELD_CUSTOM, .parse = parse_index, .required = true },
	{ .key = "value", .kind = FIELD_CUSTOM, .parse = parse_value, .required = true },
	{ .key = "valueTwo", .kind = FIELD_CUSTOM, .parse = parse_value_two },
	{ .key = "op", .kind = FIELD_CUSTOM, .parse = parse_op, .required = true },
};

/* Of a masked comparison "value" is the mask and "valueTwo" what is compared with. */
static struct seccomp_arg convert(const struct oci_arg *arg)
{
	struct seccomp_arg out = { .index = (unsigned)arg->index,
				   .op = arg->op,
				   .value = arg->value,
				   .mask = UINT64_MAX };

	if (arg->op == OCI_EQ)
		out.op = SECCOMP_MASKED_EQ;
	if (arg->op == SECCOMP_MASKED_EQ) {
		out.mask = arg->value;
		out.value = arg->value_two;
	}
	return out;
}

static int parse_args(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;

	if (value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_ARRAY || value->list.count > ARRAY_LEN(entry->rule.args))
		return json_error(value, NULL, e, "must be an array of no more than 6 conditions");
	for (const struct json *item = value->list.first; item; item = item->next) {
		struct oci_arg arg = { 0 };

		if (json_fields(item, arg_fields, ARRAY_LEN(arg_fields), &arg, NULL, e) < 0)
			return -e->code;
		entry->rule.args[entry->rule.n_args++] = convert(&arg);
	}
	return 0;
}

/* "includes" and "excludes" of engines' own profiles: capabilities and architectures a rule is for. */

static const char *const own_arches[] = {
#if defined(__x86_64__)
	"amd64", "x86_64", "x86", "SCMP_ARCH_X86_64",
#elif defined(__aarch64__)
	"arm64",
	"aarch64",
	"SCMP_ARCH_AARCH64",
#endif
	NULL,
};

static bool is_own_arch(const char *name)
{
	for (size_t i = 0; own_arches[i]; i++)
		if (str_eq(own_arches[i], name))
			return true;
	return false;
}

static bool has_cap(const struct policy *p, const char *name)
{
	int cap = policy_cap(name);

	return p->root_allowed && cap >= 0 && (p->root_caps & UINT64_C(1) << cap);
}

struct selection {
	const struct policy *p;
	bool any_cap, all_caps, has_caps, any_arch, has_arches;
};

static int select_caps(const struct json *value, void *record, struct err *e)
{
	struct selection *s = record;

	if (value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be an array of capabilities");
	s->all_caps = true;
	for (const struct json *item = value->list.first; item; item = item->next) {
		bool has = item->type == JSON_STRING && has_cap(s->p, item->string.bytes);

		s->has_caps = true;
		s->any_cap = s->any_cap || has;
		s->all_caps = s->all_caps && has;
	}
	return 0;
}

static int select_arches(const struct json *value, void *record, struct err *e)
{
	struct selection *s = record;

	if (value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be an array of architectures");
	for (const struct json *item = value->list.first; item; item = item->next) {
		s->has_arches = true;
		s->any_arch = s->any_arch ||
			      (item->type == JSON_STRING && is_own_arch(item->string.bytes));
	}
	return 0;
}

/* The oldest kernel we run on is newer than any that a profile asks for. */
static const struct field selection_fields[] = {
	{ .key = "caps", .kind = FIELD_CUSTOM, .parse = select_caps },
	{ .key = "arches", .kind = FIELD_CUSTOM, .parse = select_arches },
	{ .key = "minKernel", .kind = FIELD_CUSTOM, .parse = ignore },
};

static int parse_selection(const struct json *value, const struct entry *entry, struct selection *s,
			   struct err *e)
{
	*s = (struct selection) { .p = entry->p };
	if (value->type == JSON_NULL)
		return 0;
	return json_fields(value, selection_fields, ARRAY_LEN(selection_fields), s, NULL, e);
}

static int parse_includes(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;
	struct selection s;

	if (parse_selection(value, entry, &s, e) < 0)
		return -e->code;
	if ((s.has_caps && !s.all_caps) || (s.has_arches && !s.any_arch))
		entry->applies = false;
	return 0;
}

static int parse_excludes(const struct json *value, void *record, struct err *e)
{
	struct entry *entry = record;
	struct selection s;

	if (parse_selection(value, entry, &s, e) < 0)
		return -e->code;
	if ((s.has_caps && s.any_cap) || (s.has_arches && s.any_arch))
		entry->applies = false;
	return 0;
}

static const struct field entry_fields[] = {
	{ .key = "names", .kind = FIELD_CUSTOM, .parse = parse_names, .required = true },
	{ .key = "action", .kind = FIELD_CUSTOM, .parse = parse_entry_action, .required = true },
	{ .key = "errnoRet", .kind = FIELD_CUSTOM, .parse = parse_entry_errno },
	{ .key = "errno", .kind = FIELD_CUSTOM, .parse = ignore }, /* the same, by name */
	{ .key = "args", .kind = FIELD_CUSTOM, .parse = parse_args },
	{ .key = "comment", .kind = FIELD_CUSTOM, .parse = ignore },
	{ .key = "includes", .kind = FIELD_CUSTOM, .parse = parse_includes },
	{ .key = "excludes", .kind = FIELD_CUSTOM, .parse = parse_excludes },
};

/* Without conditions a refusal is what is answered where nothing allows the call. With conditions
 * it goes before every allowance, which is never weaker than what the profile says. */
static int take_entry(struct entry *entry, struct policy *p, struct err *e)
{
	if (!entry->applies || !entry->names)
		return 0;
	if (entry->rule.action == SECCOMP_REFUSE && !entry->has_error)
		entry->rule.error = EPERM;
	if (entry->rule.action == SECCOMP_REFUSE && entry->rule.n_args == 0)
		entry->rule.action = SECCOMP_OTHERWISE;
	entry->rule.calls = take_ptr(&entry->names);
	return policy_add_rule(p, &entry->rule, e);
}

static int parse_syscalls(const struct json *value, void *record, struct err *e)
{
	struct policy *p = ((struct oci *)record)->p;

	if (value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be an array");
	for (const struct json *item = value->list.first; item; item = item->next) {
		struct entry entry = { .p = p, .applies = true };
		int ret = json_fields(item, entry_fields, ARRAY_LEN(entry_fields), &entry, NULL, e);

		if (ret == 0)
			ret = take_entry(&entry, p, e);
		strv_free(entry.names);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static const struct field oci_fields[] = {
	{ .key = "defaultAction",
	  .kind = FIELD_CUSTOM,
	  .parse = parse_default_action,
	  .required = true },
	{ .key = "defaultErrnoRet", .kind = FIELD_CUSTOM, .parse = parse_default_errno },
	{ .key = "defaultErrno", .kind = FIELD_CUSTOM, .parse = ignore },
	{ .key = "architectures", .kind = FIELD_CUSTOM, .parse = ignore },
	{ .key = "archMap", .kind = FIELD_CUSTOM, .parse = ignore },
	{ .key = "flags", .kind = FIELD_CUSTOM, .parse = ignore },
	{ .key = "syscalls", .kind = FIELD_CUSTOM, .parse = parse_syscalls },
};

int policy_parse_oci(const char *text, size_t len, const char *where, struct policy *p,
		     struct err *e)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	struct oci oci = { .p = p, .default_error = EPERM };
	autojson struct json_doc *doc = NULL;

	if (json_parse(text, len, &limits, &doc, e) < 0)
		return err_wrap(e, "%s", where);
	policy_clear_rules(p);
	if (json_fields(json_root(doc), oci_fields, ARRAY_LEN(oci_fields), &oci, NULL, e) < 0)
		return err_wrap(e, "%s", where);
	p->default_error = oci.default_error;
	return 0;
}
