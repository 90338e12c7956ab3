/* SPDX-License-Identifier: MIT */
/* policy_seccomp.c - the rules of a policy's filter, in our own form.
 *
 * A condition compares the low 32 bits of an argument, unless it says otherwise: the kernel looks at
 * no more of an int, and a comparison of all 64 can be led around by what stands in the others. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "plan/filter.h"
#include "plan/policy_parts.h"
#include "plan/strv.h"

#define CALLS_MAX 600 /* names in one rule */
#define CALL_NAME_MAX 40
#define VALUES_MAX 64 /* of one condition */
#define CONDITIONS_MAX 6

/* One condition as written: it holds where any of the values is met. */
struct condition {
	uint64_t index;
	uint64_t mask;
	uint64_t values[VALUES_MAX];
	unsigned n_values;
	bool has_not;
	uint64_t not_value;
};

/* One rule as written. */
struct written_rule {
	struct seccomp_rule rule;
	bool has_error;
	unsigned n_actions;
	struct condition conditions[CONDITIONS_MAX];
	unsigned n_conditions;
};

void policy_clear_rules(struct policy *p)
{
	for (unsigned i = 0; i < p->n_rules; i++)
		strv_free(p->rules[i].calls);
	free(p->rules);
	p->rules = NULL;
	p->n_rules = 0;
}

int policy_add_rule(struct policy *p, struct seccomp_rule *rule, struct err *e)
{
	struct seccomp_rule *grown = NULL;

	if (p->n_rules < POLICY_RULES_MAX)
		grown = reallocarray(p->rules, p->n_rules + 1, sizeof(*grown));
	if (!grown) {
		strv_free(rule->calls);
		rule->calls = NULL;
		return err_code(e, E2BIG, "seccomp: no room for more than %u rules", p->n_rules);
	}
	grown[p->n_rules++] = *rule;
	p->rules = grown;
	rule->calls = NULL;
	return 0;
}

/* A whole number, or a text such as "0x5412" for what people know in that form. */
static int parse_number(const struct json *value, uint64_t *out, struct err *e)
{
	const char *text;
	char *end;

	if (value->type == JSON_INT && value->integer >= 0) {
		*out = (uint64_t)value->integer;
		return 0;
	}
	text = value->type == JSON_STRING ? value->string.bytes : "";
	if (str_starts(text, "0x") && strlen(text) > 2 && strlen(text) <= 18 &&
	    text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == '\0') {
		*out = strtoull(text + 2, &end, 16);
		return 0;
	}
	return json_error(value, NULL, e, "must be a whole number, or a text like \"0x1f\"");
}

static int parse_arg_index(const struct json *value, void *record, struct err *e)
{
	struct condition *c = record;

	if (parse_number(value, &c->index, e) < 0 || c->index > 5)
		return json_error(value, NULL, e, "must be a number from 0 to 5");
	return 0;
}

static int parse_mask(const struct json *value, void *record, struct err *e)
{
	return parse_number(value, &((struct condition *)record)->mask, e);
}

static int parse_not(const struct json *value, void *record, struct err *e)
{
	struct condition *c = record;

	c->has_not = true;
	return parse_number(value, &c->not_value, e);
}

static int parse_values(const struct json *value, void *record, struct err *e)
{
	struct condition *c = record;

	if (value->type != JSON_ARRAY) {
		c->n_values = 1;
		return parse_number(value, &c->values[0], e);
	}
	if (value->list.count == 0 || value->list.count > VALUES_MAX)
		return json_error(value, NULL, e, "must hold 1 to %d values", VALUES_MAX);
	for (const struct json *item = value->list.first; item; item = item->next)
		if (parse_number(item, &c->values[c->n_values++], e) < 0)
			return -e->code;
	return 0;
}

static const struct field condition_fields[] = {
	{ .key = "arg", .kind = FIELD_CUSTOM, .parse = parse_arg_index, .required = true },
	{ .key = "mask", .kind = FIELD_CUSTOM, .parse = parse_mask },
	{ .key = "value", .kind = FIELD_CUSTOM, .parse = parse_values },
	{ .key = "not", .kind = FIELD_CUSTOM, .parse = parse_not },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int check_condition(const struct json *value, const struct condition *c, struct err *e)
{
	if ((c->n_values > 0) == c->has_not)
		return json_error(value, NULL, e, "a condition has one of 'value' and 'not'");
	for (unsigned i = 0; i < c->n_values; i++)
		if (c->values[i] & ~c->mask)
			return json_error(value, NULL, e,
					  "a value has bits that its mask takes away");
	return 0;
}

static int parse_conditions(const struct json *value, void *record, struct err *e)
{
	struct written_rule *w = record;

	if (value->type != JSON_ARRAY || value->list.count > CONDITIONS_MAX)
		return json_error(value, NULL, e, "must be an array of no more than %d conditions",
				  CONDITIONS_MAX);
	for (const struct json *item = value->list.first; item; item = item->next) {
		struct condition *c = &w->conditions[w->n_conditions++];

		c->mask = UINT32_MAX;
		if (json_fields(item, condition_fields, ARRAY_LEN(condition_fields), c, NULL, e) <
			    0 ||
		    check_condition(item, c, e) < 0)
			return -e->code;
	}
	return 0;
}

static int parse_error_name(const struct json *value, unsigned *out, struct err *e)
{
	int number = value->type == JSON_STRING ? policy_errno(value->string.bytes) : -1;

	if (value->type == JSON_INT && value->integer >= 0 && value->integer < 4096)
		number = (int)value->integer;
	if (number < 0)
		return json_error(value, NULL, e,
				  "must be the name of an error, such as \"EPERM\", or its number");
	*out = (unsigned)number;
	return 0;
}

static int parse_rule_error(const struct json *value, void *record, struct err *e)
{
	struct written_rule *w = record;

	w->has_error = true;
	return parse_error_name(value, &w->rule.error, e);
}

static int parse_calls(const struct json *value, struct written_rule *w, int action, struct err *e)
{
	char **call;

	w->rule.action = action;
	w->n_actions++;
	if (w->n_actions > 1)
		return json_error(value, NULL, e,
				  "a rule has one of 'allow', 'refuse', 'kill' and 'otherwise'");
	if (value->type != JSON_ARRAY || value->list.count == 0 || value->list.count > CALLS_MAX)
		return json_error(value, NULL, e,
				  "must be an array of 1 to %d names of system calls", CALLS_MAX);
	w->rule.calls = calloc(value->list.count + 1, sizeof(*w->rule.calls));
	if (!w->rule.calls)
		return err_code(e, ENOMEM, "policy: no memory");
	call = w->rule.calls;
	for (const struct json *item = value->list.first; item; item = item->next, call++) {
		if (item->type != JSON_STRING || !str_is_name(item->string.bytes, CALL_NAME_MAX))
			return json_error(value, NULL, e,
					  "must be an array of names of system calls");
		*call = str_dup(item->string.bytes, e);
		if (!*call)
			return -e->code;
	}
	return 0;
}

static int parse_allow(const struct json *value, void *record, struct err *e)
{
	return parse_calls(value, record, SECCOMP_ALLOW, e);
}

static int parse_refuse(const struct json *value, void *record, struct err *e)
{
	return parse_calls(value, record, SECCOMP_REFUSE, e);
}

static int parse_kill(const struct json *value, void *record, struct err *e)
{
	return parse_calls(value, record, SECCOMP_KILL, e);
}

static int parse_otherwise(const struct json *value, void *record, struct err *e)
{
	return parse_calls(value, record, SECCOMP_OTHERWISE, e);
}

static const struct field rule_fields[] = {
	{ .key = "allow", .kind = FIELD_CUSTOM, .parse = parse_allow },
	{ .key = "refuse", .kind = FIELD_CUSTOM, .parse = parse_refuse },
	{ .key = "kill", .kind = FIELD_CUSTOM, .parse = parse_kill },
	{ .key = "otherwise", .kind = FIELD_CUSTOM, .parse = parse_otherwise },
	{ .key = "error", .kind = FIELD_CUSTOM, .parse = parse_rule_error },
	{ .key = "when", .kind = FIELD_CUSTOM, .parse = parse_conditions },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

static int check_rule(const struct json *value, struct written_rule *w, struct err *e)
{
	bool answers = w->rule.action == SECCOMP_REFUSE || w->rule.action == SECCOMP_OTHERWISE;

	if (w->n_actions == 0)
		return json_error(value, NULL, e,
				  "a rule has one of 'allow', 'refuse', 'kill' and 'otherwise'");
	if (w->has_error && !answers)
		return json_error(value, NULL, e, "'error' belongs to 'refuse' and 'otherwise'");
	if (w->rule.action == SECCOMP_OTHERWISE && w->n_conditions)
		return json_error(value, NULL, e, "'otherwise' has no conditions");
	if (answers && !w->has_error)
		w->rule.error = EPERM;
	return 0;
}

static int add_copy(const struct written_rule *w, const struct seccomp_rule *partial,
		    struct policy *p, struct err *e)
{
	struct seccomp_rule rule = *partial;

	rule.calls = NULL;
	if (strv_extend(&rule.calls, w->rule.calls, e) < 0) {
		strv_free(rule.calls);
		return -e->code;
	}
	return policy_add_rule(p, &rule, e);
}

/* A rule for every choice of one value a condition: the filter knows no "or". */
static int expand(const struct written_rule *w, unsigned at, struct seccomp_rule *partial,
		  struct policy *p, struct err *e)
{
	const struct condition *c;

	if (at == w->n_conditions)
		return add_copy(w, partial, p, e);
	c = &w->conditions[at];
	partial->n_args = at + 1;
	for (unsigned i = 0; i < (c->has_not ? 1 : c->n_values); i++) {
		partial->args[at] =
			(struct seccomp_arg) { .index = (unsigned)c->index,
					       .op = c->has_not ? SECCOMP_NE : SECCOMP_MASKED_EQ,
					       .value = c->has_not ? c->not_value : c->values[i],
					       .mask = c->has_not ? UINT64_MAX : c->mask };
		if (expand(w, at + 1, partial, p, e) < 0)
			return -e->code;
	}
	return 0;
}

static int parse_rule(const struct json *value, struct policy *p, struct err *e)
{
	struct written_rule w = { 0 };
	struct seccomp_rule partial;
	int ret = json_fields(value, rule_fields, ARRAY_LEN(rule_fields), &w, NULL, e);

	if (ret == 0)
		ret = check_rule(value, &w, e);
	/* Most have no conditions, and are taken as they are. */
	if (ret == 0 && w.n_conditions == 0)
		return policy_add_rule(p, &w.rule, e);
	partial = w.rule;
	if (ret == 0)
		ret = expand(&w, 0, &partial, p, e);
	strv_free(w.rule.calls);
	return ret;
}

static int add_rules(const struct json *value, struct policy *p, struct err *e)
{
	if (value->type != JSON_ARRAY)
		return json_error(value, NULL, e, "must be an array of rules");
	for (const struct json *item = value->list.first; item; item = item->next)
		if (parse_rule(item, p, e) < 0)
			return -e->code;
	return 0;
}

static int parse_rules(const struct json *value, void *record, struct err *e)
{
	struct policy *p = record;

	policy_clear_rules(p);
	free(p->seccomp_oci);
	p->seccomp_oci = NULL;
	return add_rules(value, p, e);
}

static int skip(const struct json *value, void *record, struct err *e)
{
	(void)value; /* taken after the others, whatever their order */
	(void)record;
	(void)e;
	return 0;
}

static int parse_default_error(const struct json *value, void *record, struct err *e)
{
	return parse_error_name(value, &((struct policy *)record)->default_error, e);
}

static int parse_oci_name(const struct json *value, void *record, struct err *e)
{
	struct policy *p = record;

	if (value->type != JSON_STRING || value->string.len == 0 ||
	    memchr(value->string.bytes, 0, value->string.len))
		return json_error(value, NULL, e, "must be the path of an OCI profile");
	free(p->seccomp_oci);
	p->seccomp_oci = str_dup(value->string.bytes, e);
	return p->seccomp_oci ? 0 : -e->code;
}

static const struct field seccomp_fields[] = {
	{ .key = "default_error", .kind = FIELD_CUSTOM, .parse = parse_default_error },
	{ .key = "rules", .kind = FIELD_CUSTOM, .parse = parse_rules },
	{ .key = "more_rules", .kind = FIELD_CUSTOM, .parse = skip },
	{ .key = "oci", .kind = FIELD_CUSTOM, .parse = parse_oci_name },
	{ .key = "why", .kind = FIELD_CUSTOM, .parse = policy_why },
};

int policy_parse_seccomp(const struct json *value, void *reader, struct err *e)
{
	struct policy *p = ((struct policy_reader *)reader)->p;
	const struct json *oci, *more;

	if (json_fields(value, seccomp_fields, ARRAY_LEN(seccomp_fields), p, NULL, e) < 0)
		return -e->code;
	more = json_get(value, "more_rules");
	oci = json_get(value, "oci");
	if (oci && (more || json_get(value, "rules")))
		return json_error(oci, NULL, e,
				  "an OCI profile stands in place of rules, not beside them");
	return more ? add_rules(more, p, e) : 0;
}
