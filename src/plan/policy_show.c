/* SPDX-License-Identifier: MIT */
/* policy_show.c - what is in effect, as JSON, and its digest.
 *
 * The digest covers every value that is shown but the policy's name, path, description and the
 * digest itself: two files that mean the same have the same. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/sha256.h"
#include "base/str.h"
#include "plan/filter.h"
#include "plan/policy_parts.h"
#include "plan/show.h"

static const char *const objects_names[] = { "auto", "all", "reachable" };
static const char *const action_names[] = {
	[SECCOMP_ALLOW] = "allow", [SECCOMP_REFUSE] = "refuse",	      [SECCOMP_KILL] = "kill",
	[SECCOMP_ONLY] = "only",   [SECCOMP_OTHERWISE] = "otherwise",
};

static void show_user(struct json_out *o, const struct policy *p)
{
	jo_object(o, "user");
	jo_string(o, "name", p->user.name);
	jo_u64(o, "uid", p->user.uid);
	jo_u64(o, "gid", p->user.gid);
	jo_string(o, "home", p->user.home);
	jo_string(o, "shell", p->user.shell);
	jo_end_object(o);
}

static void show_root(struct json_out *o, const struct policy *p)
{
	jo_object(o, "root");
	jo_bool(o, "allowed", p->root_allowed);
	jo_array(o, "capabilities");
	for (unsigned cap = 0; cap < 64; cap++)
		if (p->root_caps & UINT64_C(1) << cap)
			jo_string(o, NULL, policy_cap_name(cap));
	jo_end_array(o);
	jo_end_object(o);
}

static void show_texts_or_empty(struct json_out *o, const char *key, char *const *texts)
{
	char *none[] = { NULL };

	show_texts(o, key, texts ? texts : none);
}

static void show_environment(struct json_out *o, const struct policy *p)
{
	jo_object(o, "environment");
	jo_object(o, "set");
	for (char **env = p->env; env && *env; env++) {
		size_t len = strcspn(*env, "=");
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)len, *env);
		jo_string(o, name, *env + len + 1);
	}
	jo_end_object(o);
	show_texts_or_empty(o, "pass", p->pass_env);
	jo_end_object(o);
	jo_object(o, "certificates");
	show_texts_or_empty(o, "files", p->certificates);
	show_texts_or_empty(o, "variables", p->certificate_env);
	jo_end_object(o);
}

static void show_mounts(struct json_out *o, const struct policy *p)
{
	jo_array(o, "mounts");
	for (unsigned i = 0; i < p->n_mounts; i++) {
		jo_object(o, NULL);
		jo_string(o, "host", p->mounts[i].host);
		jo_string(o, "inside", p->mounts[i].inside);
		jo_string(o, "mode", show_mount_mode(p->mounts[i].mode));
		jo_end_object(o);
	}
	jo_end_array(o);
}

static void show_rest(struct json_out *o, const struct policy *p)
{
	jo_string(o, "hostname", p->hostname);
	jo_object(o, "root_filesystem");
	jo_string(o, "base", p->root_base);
	jo_end_object(o);
	jo_object(o, "git");
	jo_string(o, "objects", objects_names[p->git_objects]);
	jo_string(o, "name", p->git_name);
	jo_string(o, "email", p->git_email);
	jo_end_object(o);
	jo_object(o, "namespaces");
	jo_bool(o, "nested", p->nested_userns);
	jo_end_object(o);
}

/* All that the digest covers, the filter's rules by a digest of their own. */
static void show_effective(struct json_out *o, const struct policy *p)
{
	show_user(o, p);
	show_root(o, p);
	show_limits(o, "limits", &p->limits);
	jo_u64(o, "memory_percent", p->memory_percent);
	show_degraded(o, "allow_degraded", p->allow_degraded);
	jo_object(o, "network");
	jo_string(o, "mode", show_net_name(p->net));
	show_texts(o, "resolvers", p->resolvers);
	jo_end_object(o);
	show_environment(o, p);
	show_mounts(o, p);
	show_rest(o, p);
}

static void show_error(struct json_out *o, const char *key, unsigned error)
{
	const char *name = policy_errno_name(error);

	if (name)
		jo_string(o, key, name);
	else
		jo_u64(o, key, error);
}

static void show_hex(struct json_out *o, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jo_string(o, key, text);
}

static void show_args(struct json_out *o, const struct seccomp_arg *args, unsigned n)
{
	static const char *const ops[] = {
		[SECCOMP_MASKED_EQ] = "value", [SECCOMP_NE] = "not",	  [SECCOMP_LT] = "less",
		[SECCOMP_LE] = "at_most",      [SECCOMP_GE] = "at_least", [SECCOMP_GT] = "more"
	};

	if (n == 0)
		return;
	jo_array(o, "when");
	for (unsigned i = 0; i < n; i++) {
		jo_object(o, NULL);
		jo_u64(o, "arg", args[i].index);
		if (args[i].op == SECCOMP_MASKED_EQ)
			show_hex(o, "mask", args[i].mask);
		show_hex(o, ops[args[i].op], args[i].value);
		jo_end_object(o);
	}
	jo_end_array(o);
}

static void show_rules(struct json_out *o, const struct policy *p)
{
	jo_array(o, "rules");
	for (unsigned i = 0; i < p->n_rules; i++) {
		const struct seccomp_rule *rule = &p->rules[i];

		jo_object(o, NULL);
		show_texts(o, action_names[rule->action], rule->calls);
		if (rule->action == SECCOMP_REFUSE || rule->action == SECCOMP_OTHERWISE)
			show_error(o, "error", rule->error);
		show_args(o, rule->args, rule->n_args);
		jo_end_object(o);
	}
	jo_end_array(o);
}

/* What holds besides, so that one page says all of it. */
static void show_walls(struct json_out *o, const struct policy *p)
{
	size_t n;
	const struct filter_wall *walls = filter_walls(&n);

	jo_array(o, "always");
	for (size_t i = 0; i < n; i++) {
		if (walls[i].when == FILTER_UNLESS_NESTED && p->nested_userns)
			continue;
		jo_object(o, NULL);
		jo_string(o, action_names[walls[i].action], walls[i].calls);
		show_error(o, "error", walls[i].error);
		show_args(o, walls[i].args, walls[i].n_args);
		if (walls[i].when == FILTER_SINGLE_ID)
			jo_bool(o, "with_one_id", true);
		if (*walls[i].why)
			jo_string(o, "why", walls[i].why);
		jo_end_object(o);
	}
	jo_end_array(o);
}

void policy_show(const struct policy *p, struct buf *out)
{
	struct json_out o = { .buf = out, .pretty = true };

	jo_object(&o, NULL);
	jo_string(&o, "name", p->name);
	jo_string(&o, "path", p->path);
	jo_string(&o, "description", p->description);
	jo_string(&o, "digest", p->digest);
	show_effective(&o, p);
	jo_object(&o, "seccomp");
	jo_string(&o, "oci", p->seccomp_oci);
	show_error(&o, "default_error", p->default_error);
	show_rules(&o, p);
	show_walls(&o, p);
	jo_end_object(&o);
	jo_end_object(&o);
	buf_putc(out, '\n');
}

static void digest_rules(struct policy *p)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, &p->default_error, sizeof(p->default_error));
	for (unsigned i = 0; i < p->n_rules; i++) {
		const struct seccomp_rule *rule = &p->rules[i];
		uint32_t numbers[] = { (uint32_t)rule->action, rule->error, rule->n_args };

		sha256_add(&s, numbers, sizeof(numbers));
		for (unsigned a = 0; a < rule->n_args; a++) {
			const struct seccomp_arg *arg = &rule->args[a];
			uint64_t words[] = { arg->index, (uint64_t)arg->op, arg->value, arg->mask };

			sha256_add(&s, words, sizeof(words));
		}
		for (char **name = rule->calls; *name; name++)
			sha256_add(&s, *name, strlen(*name) + 1);
		sha256_add(&s, "", 1);
	}
	sha256_end_hex(&s, p->rules_digest);
}

int policy_digest(struct policy *p, struct err *e)
{
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	digest_rules(p);
	jo_object(&o, NULL);
	show_effective(&o, p);
	jo_string(&o, "seccomp", p->rules_digest);
	jo_end_object(&o);
	if (buf_check(&text, e) < 0)
		return err_wrap(e, "policy '%s'", p->name);
	sha256_hex(buf_str(&text), text.len, p->digest);
	return 0;
}
