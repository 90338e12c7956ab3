/* SPDX-License-Identifier: MIT */
/* config_template.c - see config.h: what one template may say, a row of a table a key. */
#include <stdio.h>
#include <string.h>

#include "api/config_parts.h"
#include "base/str.h"
#include "plan/strv.h"

/* --- values ---------------------------------------------------------------------------------- */

int config_take_text(const struct json *v, const char **text, struct err *e)
{
	if (v->type != JSON_STRING || memchr(v->string.bytes, 0, v->string.len))
		return json_error(v, NULL, e, "must be a string");
	*text = v->string.bytes;
	return 0;
}

/* Durations and sizes are texts with a unit, or bare numbers of seconds and bytes. */
int config_take_unit(const struct json *v, int (*parse)(const char *, uint64_t *, struct err *),
		     uint64_t *out, struct err *e)
{
	char digits[24];
	struct err why = { 0 };
	const char *text = digits;

	if (v->type == JSON_INT)
		(void)snprintf(digits, sizeof(digits), "%lld", (long long)v->integer);
	else if (config_take_text(v, &text, e) < 0)
		return -e->code;
	if (parse(text, out, &why) < 0)
		return json_error(v, NULL, e, "%s", why.text);
	return 0;
}

int config_take_absolute(const struct json *v, char **out, struct err *e)
{
	const char *text;

	if (config_take_text(v, &text, e) < 0)
		return -e->code;
	if (text[0] != '/')
		return json_error(v, NULL, e, "must be an absolute path");
	free(*out);
	*out = str_dup(text, e);
	return *out ? 0 : -e->code;
}

/* --- keys ------------------------------------------------------------------------------------ */

static int take_rootfs(const struct json *v, void *record, struct err *e)
{
	return config_take_absolute(v, &((struct session_template *)record)->rootfs, e);
}

static int take_repo(const struct json *v, void *record, struct err *e)
{
	return config_take_absolute(v, &((struct session_template *)record)->repo, e);
}

static int take_dir(const struct json *v, void *record, struct err *e)
{
	return config_take_absolute(v, &((struct session_template *)record)->dir, e);
}

static int take_working_dir(const struct json *v, void *record, struct err *e)
{
	return config_take_absolute(v, &((struct session_template *)record)->working_dir, e);
}

static int take_memory(const struct json *v, void *record, struct err *e)
{
	return config_take_unit(v, str_size, &((struct limits *)record)->memory_bytes, e);
}

static int take_swap(const struct json *v, void *record, struct err *e)
{
	return config_take_unit(v, str_size, &((struct limits *)record)->swap_bytes, e);
}

static int take_cpus(const struct json *v, void *record, struct err *e)
{
	char text[32];
	struct err why = { 0 };

	if (v->type != JSON_REAL)
		return config_take_unit(v, str_milli, &((struct limits *)record)->cpu_milli, e);
	(void)snprintf(text, sizeof(text), "%.3f", v->real);
	if (str_milli(text, &((struct limits *)record)->cpu_milli, &why) < 0)
		return json_error(v, NULL, e, "%s", why.text);
	return 0;
}

static int take_limits(const struct json *v, void *record, struct err *e)
{
	static const struct field fields[] = {
		FIELD("memory", FIELD_CUSTOM, struct limits, memory_bytes, .parse = take_memory),
		FIELD("swap", FIELD_CUSTOM, struct limits, swap_bytes, .parse = take_swap),
		FIELD("cpus", FIELD_CUSTOM, struct limits, cpu_milli, .parse = take_cpus),
		FIELD("pids", FIELD_U64, struct limits, pids, .min = 1),
	};

	return json_fields(v, fields, ARRAY_LEN(fields),
			   &((struct session_template *)record)->limits, NULL, e);
}

static int take_net(const struct json *v, void *record, struct err *e)
{
	struct session_template *t = record;
	const char *text;

	if (config_take_text(v, &text, e) < 0)
		return -e->code;
	if (!str_eq(text, "none") && !str_eq(text, "nat"))
		return json_error(v, NULL, e, "must be \"none\" or \"nat\"");
	t->net = str_eq(text, "nat") ? NET_NAT : NET_NONE;
	return 0;
}

static int take_reclaim(const struct json *v, void *record, struct err *e)
{
	const char *text;

	if (config_take_text(v, &text, e) < 0)
		return -e->code;
	if (!str_eq(text, "pause") && !str_eq(text, "stop"))
		return json_error(v, NULL, e, "must be \"pause\" or \"stop\"");
	((struct session_template *)record)->reclaim_stops = str_eq(text, "stop");
	return 0;
}

static int take_idle(const struct json *v, void *record, struct err *e)
{
	return config_take_unit(v, str_duration, &((struct session_template *)record)->idle_ms, e);
}

static int take_lifetime(const struct json *v, void *record, struct err *e)
{
	return config_take_unit(v, str_duration, &((struct session_template *)record)->lifetime_ms,
				e);
}

static int take_environment(const struct json *v, void *record, struct err *e)
{
	struct session_template *t = record;

	if (v->type != JSON_OBJECT)
		return json_error(v, NULL, e, "must be an object");
	for (const struct json *m = v->list.first; m; m = m->next) {
		autofree char *pair = NULL;
		const char *text;

		if (!*m->key || strchr(m->key, '='))
			return json_error(m, NULL, e, "is no name of a variable");
		if (config_take_text(m, &text, e) < 0)
			return -e->code;
		pair = str_fmt(e, "%s=%s", m->key, text);
		if (!pair || strv_env_put(&t->environment, pair, e) < 0)
			return -e->code;
	}
	return 0;
}

static const struct field template_fields[] = {
	FIELD("name", FIELD_STRING, struct session_template, name, .required = true),
	FIELD("image", FIELD_STRING, struct session_template, image, .required = true),
	FIELD("rootfs", FIELD_CUSTOM, struct session_template, rootfs, .parse = take_rootfs),
	FIELD("repo", FIELD_CUSTOM, struct session_template, repo, .parse = take_repo),
	FIELD("rev", FIELD_STRING, struct session_template, rev),
	FIELD("dir", FIELD_CUSTOM, struct session_template, dir, .parse = take_dir),
	FIELD("policy", FIELD_STRING, struct session_template, policy),
	FIELD("user", FIELD_STRING, struct session_template, user),
	FIELD("working_dir", FIELD_CUSTOM, struct session_template, working_dir,
	      .parse = take_working_dir),
	FIELD("environment", FIELD_CUSTOM, struct session_template, environment,
	      .parse = take_environment),
	FIELD("command", FIELD_STRINGS, struct session_template, command),
	FIELD("limits", FIELD_CUSTOM, struct session_template, limits, .parse = take_limits),
	FIELD("net", FIELD_CUSTOM, struct session_template, net, .parse = take_net),
	{ "warm", FIELD_U64, offsetof(struct session_template, warm), false, 0, CONFIG_WARM_MAX,
	  NULL },
	FIELD("idle_timeout", FIELD_CUSTOM, struct session_template, idle_ms, .parse = take_idle),
	FIELD("lifetime", FIELD_CUSTOM, struct session_template, lifetime_ms,
	      .parse = take_lifetime),
	FIELD("reclaim", FIELD_CUSTOM, struct session_template, reclaim_stops,
	      .parse = take_reclaim),
};

void config_template_clear(struct session_template *t)
{
	char *const texts[] = { t->name, t->image,  t->rootfs, t->repo,	      t->rev,
				t->dir,	 t->policy, t->user,   t->working_dir };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	strv_free(t->environment);
	strv_free(t->command);
}

/* What one key alone cannot say. */
static int check_template(const struct json *v, const struct session_template *t, struct err *e)
{
	if (!!t->repo && !!t->dir)
		return json_error(v, NULL, e, "'repo' and 'dir' exclude each other");
	if (t->rev && !t->repo)
		return json_error(v, NULL, e, "'rev' wants a 'repo'");
	/* Nobody could tell whether it has changed since. */
	if (t->warm && t->dir)
		return json_error(v, NULL, e, "'warm' does not go with 'dir'");
	return 0;
}

int config_take_template(struct config *c, const struct json *v, struct err *e)
{
	struct session_template *t = &c->templates[c->n_templates++];

	t->net = -1;
	t->limits = (struct limits) { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE,
				      LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE };
	if (json_fields(v, template_fields, ARRAY_LEN(template_fields), t, NULL, e) < 0)
		return -e->code;
	for (unsigned i = 0; i + 1 < c->n_templates; i++)
		if (str_eq(c->templates[i].name, t->name))
			return json_error(v, NULL, e, "the name '%.60s' is taken", t->name);
	return check_template(v, t, e);
}
