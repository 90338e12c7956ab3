/* SPDX-License-Identifier: MIT */
/* config.c - see config.h: the file by tables of its keys. A new key is a row. */
#include "api/config.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "plan/strv.h"

#define LISTEN_DEFAULT "127.0.0.1:8000"
#define ADVERTISE_DEFAULT "localhost"
#define PAUSE_TO_DISK_MS 600000u
#define DRAIN_MS 30000u
#define MAX_SESSIONS 4000u

#define FIELD(key, kind, type, member, ...)                                       \
	{                                                                         \
		key, kind, offsetof(type, member), .max = UINT64_MAX, __VA_ARGS__ \
	}

/* --- values ---------------------------------------------------------------------------------- */

static int take_text(const struct json *v, const char **text, struct err *e)
{
	if (v->type != JSON_STRING || memchr(v->string.bytes, 0, v->string.len))
		return json_error(v, NULL, e, "must be a string");
	*text = v->string.bytes;
	return 0;
}

/* Durations and sizes are texts with a unit, or bare numbers of seconds and bytes. */
static int take_unit(const struct json *v, int (*parse)(const char *, uint64_t *, struct err *),
		     uint64_t *out, struct err *e)
{
	char digits[24];
	struct err why = { 0 };
	const char *text = digits;

	if (v->type == JSON_INT)
		(void)snprintf(digits, sizeof(digits), "%lld", (long long)v->integer);
	else if (take_text(v, &text, e) < 0)
		return -e->code;
	if (parse(text, out, &why) < 0)
		return json_error(v, NULL, e, "%s", why.text);
	return 0;
}

static int take_absolute(const struct json *v, char **out, struct err *e)
{
	const char *text;

	if (take_text(v, &text, e) < 0)
		return -e->code;
	if (text[0] != '/')
		return json_error(v, NULL, e, "must be an absolute path");
	free(*out);
	*out = str_dup(text, e);
	return *out ? 0 : -e->code;
}

/* --- a template ------------------------------------------------------------------------------ */

static int take_rootfs(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct session_template *)record)->rootfs, e);
}

static int take_repo(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct session_template *)record)->repo, e);
}

static int take_dir(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct session_template *)record)->dir, e);
}

static int take_working_dir(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct session_template *)record)->working_dir, e);
}

static int take_memory(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_size, &((struct limits *)record)->memory_bytes, e);
}

static int take_swap(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_size, &((struct limits *)record)->swap_bytes, e);
}

static int take_cpus(const struct json *v, void *record, struct err *e)
{
	char text[32];
	struct err why = { 0 };

	if (v->type != JSON_REAL)
		return take_unit(v, str_milli, &((struct limits *)record)->cpu_milli, e);
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

	if (take_text(v, &text, e) < 0)
		return -e->code;
	if (!str_eq(text, "none") && !str_eq(text, "nat"))
		return json_error(v, NULL, e, "must be \"none\" or \"nat\"");
	t->net = str_eq(text, "nat") ? NET_NAT : NET_NONE;
	return 0;
}

static int take_reclaim(const struct json *v, void *record, struct err *e)
{
	const char *text;

	if (take_text(v, &text, e) < 0)
		return -e->code;
	if (!str_eq(text, "pause") && !str_eq(text, "stop"))
		return json_error(v, NULL, e, "must be \"pause\" or \"stop\"");
	((struct session_template *)record)->reclaim_stops = str_eq(text, "stop");
	return 0;
}

static int take_idle(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_duration, &((struct session_template *)record)->idle_ms, e);
}

static int take_lifetime(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_duration, &((struct session_template *)record)->lifetime_ms, e);
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
		if (take_text(m, &text, e) < 0)
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

static void template_clear(struct session_template *t)
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

static int take_template(struct config *c, const struct json *v, struct err *e)
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

static int take_templates(const struct json *v, void *record, struct err *e)
{
	struct config *c = record;

	if (v->type != JSON_ARRAY || v->list.count > CONFIG_TEMPLATES_MAX)
		return json_error(v, NULL, e, "must be an array of at most %d templates",
				  CONFIG_TEMPLATES_MAX);
	c->templates = calloc(v->list.count + 1, sizeof(*c->templates));
	if (!c->templates)
		return err_code(e, ENOMEM, "no memory");
	for (const struct json *item = v->list.first; item; item = item->next)
		if (take_template(c, item, e) < 0)
			return -e->code;
	return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static int take_listen(const struct json *v, void *record, struct err *e)
{
	static const struct field as_list = { "listen", FIELD_STRINGS,
					      offsetof(struct config, listen), .max = UINT64_MAX };
	struct config *c = record;
	struct json list = { .type = JSON_OBJECT, .line = v->line };
	struct json member = *v;

	if (v->type == JSON_ARRAY && v->list.count > CONFIG_LISTEN_MAX)
		return json_error(v, NULL, e, "at most %d addresses", CONFIG_LISTEN_MAX);
	member.next = NULL;
	list.list.first = &member;
	list.list.count = 1;
	return json_fields(&list, &as_list, 1, c, NULL, e);
}

static int take_socket(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct config *)record)->socket, e);
}

static int take_key_file(const struct json *v, void *record, struct err *e)
{
	return take_absolute(v, &((struct config *)record)->key_file, e);
}

static int take_url(const struct json *v, void *record, struct err *e)
{
	struct config *c = record;
	const char *text;

	if (take_text(v, &text, e) < 0)
		return -e->code;
	if ((!str_starts(text, "http://") && !str_starts(text, "https://")) ||
	    str_ends(text, "/") || (!strstr(text, "{port}") && !strstr(text, "{runtime_id}")))
		return json_error(
			v, NULL, e,
			"must be http:// or https:// with {port} or {runtime_id} in it and no / at its end");
	free(c->url);
	c->url = str_dup(text, e);
	return c->url ? 0 : -e->code;
}

static int take_pause_to_disk(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_duration, &((struct config *)record)->pause_to_disk_ms, e);
}

static int take_drain(const struct json *v, void *record, struct err *e)
{
	return take_unit(v, str_duration, &((struct config *)record)->drain_ms, e);
}

static int take_log(const struct json *v, void *record, struct err *e)
{
	const char *text;

	if (take_text(v, &text, e) < 0)
		return -e->code;
	if (!str_eq(text, "text") && !str_eq(text, "json"))
		return json_error(v, NULL, e, "must be \"text\" or \"json\"");
	((struct config *)record)->log_json = str_eq(text, "json");
	return 0;
}

static int take_repositories(const struct json *v, void *record, struct err *e)
{
	struct config *c = record;

	if (v->type != JSON_ARRAY)
		return json_error(v, NULL, e, "must be an array of directories");
	for (const struct json *item = v->list.first; item; item = item->next) {
		autofree char *path = NULL;

		if (take_absolute(item, &path, e) < 0 || strv_add(&c->repositories, path, e) < 0)
			return -e->code;
	}
	return 0;
}

static const struct field config_fields[] = {
	FIELD("listen", FIELD_CUSTOM, struct config, listen, .parse = take_listen),
	FIELD("socket", FIELD_CUSTOM, struct config, socket, .parse = take_socket),
	FIELD("key_file", FIELD_CUSTOM, struct config, key_file, .parse = take_key_file),
	FIELD("hosts", FIELD_STRINGS, struct config, hosts),
	FIELD("advertise", FIELD_STRING, struct config, advertise),
	FIELD("url", FIELD_CUSTOM, struct config, url, .parse = take_url),
	FIELD("repositories", FIELD_CUSTOM, struct config, repositories,
	      .parse = take_repositories),
	FIELD("templates", FIELD_CUSTOM, struct config, templates, .parse = take_templates),
	FIELD("only_templates", FIELD_BOOL, struct config, only_templates),
	FIELD("pause_to_disk_after", FIELD_CUSTOM, struct config, pause_to_disk_ms,
	      .parse = take_pause_to_disk),
	FIELD("drain_timeout", FIELD_CUSTOM, struct config, drain_ms, .parse = take_drain),
	{ "max_sessions", FIELD_U64, offsetof(struct config, max_sessions), false, 1, MAX_SESSIONS,
	  NULL },
	FIELD("log", FIELD_CUSTOM, struct config, log_json, .parse = take_log),
};

int config_new(struct config **out, struct err *e)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return err_code(e, ENOMEM, "no memory");
	c->pause_to_disk_ms = PAUSE_TO_DISK_MS;
	c->drain_ms = DRAIN_MS;
	c->max_sessions = MAX_SESSIONS;
	c->advertise = str_dup(ADVERTISE_DEFAULT, e);
	if (!c->advertise || strv_add(&c->listen, LISTEN_DEFAULT, e) < 0) {
		config_free(c);
		return -e->code;
	}
	*out = c;
	return 0;
}

int config_parse(const char *text, size_t len, const char *where, struct config **out,
		 struct err *e)
{
	autojson struct json_doc *doc = NULL;
	struct config *c = NULL;
	int result;

	if (json_parse(text, len, &JSON_LIMITS_DEFAULT, &doc, e) < 0)
		return err_wrap(e, "%s", where);
	result = config_new(&c, e);
	if (result < 0)
		return result;
	if (json_fields(json_root(doc), config_fields, ARRAY_LEN(config_fields), c, NULL, e) < 0) {
		config_free(c);
		return err_wrap(e, "%s", where);
	}
	*out = c;
	return 0;
}

int config_load(const char *path, struct config **out, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	autobuf struct buf text = { 0 };
	struct config *c = NULL;

	if (fd < 0)
		return err_errno(e, "open '%s'", path);
	if (io_read_all(fd, CONFIG_BYTES_MAX, &text, e) < 0)
		return err_wrap(e, "'%s'", path);
	if (config_parse(buf_str(&text), text.len, path, &c, e) < 0 || !c)
		return err_wrap(e, "configuration");
	sha256_hex(buf_str(&text), text.len, c->digest);
	c->path = str_dup(path, e);
	if (!c->path) {
		config_free(c);
		return -e->code;
	}
	*out = c;
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->n_templates; i++)
		template_clear(&c->templates[i]);
	free(c->templates);
	free(c->path);
	strv_free(c->listen);
	free(c->socket);
	free(c->key_file);
	strv_free(c->hosts);
	free(c->advertise);
	free(c->url);
	strv_free(c->repositories);
	free(c);
}

/* --- questions ------------------------------------------------------------------------------- */

static int verify_directory(const char *what, const char *path, struct err *e)
{
	struct stat st;

	if (!path)
		return 0;
	if (stat(path, &st) < 0)
		return err_errno(e, "%s '%s'", what, path);
	if (!S_ISDIR(st.st_mode))
		return err_code(e, ENOTDIR, "%s '%s' is no directory", what, path);
	return 0;
}

static int verify_template(const struct session_template *t, struct err *e)
{
	struct policy *p = NULL;

	if (verify_directory("rootfs", t->rootfs, e) < 0 ||
	    verify_directory("repo", t->repo, e) < 0 || verify_directory("dir", t->dir, e) < 0)
		return err_wrap(e, "template '%s'", t->name);
	if (!t->policy)
		return 0;
	if (policy_load(t->policy, &p, e) < 0)
		return err_wrap(e, "template '%s'", t->name);
	policy_free(p);
	return 0;
}

int config_verify(const struct config *c, struct err *e)
{
	for (char *const *r = c->repositories; r && *r; r++)
		if (verify_directory("repositories:", *r, e) < 0)
			return -e->code;
	for (unsigned i = 0; i < c->n_templates; i++)
		if (verify_template(&c->templates[i], e) < 0)
			return -e->code;
	return 0;
}

const struct session_template *config_named(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_templates; i++)
		if (str_eq(c->templates[i].name, name))
			return &c->templates[i];
	return NULL;
}

const struct session_template *config_template(const struct config *c, const char *image)
{
	for (unsigned i = 0; i < c->n_templates; i++)
		if (fnmatch(c->templates[i].image, image, 0) == 0)
			return &c->templates[i];
	return NULL;
}

bool config_allows(const struct config *c, const char *path)
{
	for (char *const *r = c->repositories; r && *r; r++) {
		autofree char *whole = realpath(*r, NULL);

		if (whole && fs_is_beneath(whole, path))
			return true;
	}
	return false;
}
