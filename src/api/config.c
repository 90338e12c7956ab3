/* SPDX-License-Identifier: MIT */
/* config.c - see config.h: the file by tables of its keys. A new key is a row. */
#include "api/config.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/config_parts.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "plan/strv.h"

#define LISTEN_DEFAULT "127.0.0.1:8000"
#define ADVERTISE_DEFAULT "localhost"
#define PAUSE_TO_DISK_MS 600000u
#define DRAIN_MS 30000u
#define MAX_SESSIONS 4000u

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
		if (config_take_template(c, item, e) < 0)
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
	return config_take_absolute(v, &((struct config *)record)->socket, e);
}

static int take_key_file(const struct json *v, void *record, struct err *e)
{
	return config_take_absolute(v, &((struct config *)record)->key_file, e);
}

static int take_url(const struct json *v, void *record, struct err *e)
{
	struct config *c = record;
	const char *text;

	if (config_take_text(v, &text, e) < 0)
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
	return config_take_unit(v, str_duration, &((struct config *)record)->pause_to_disk_ms, e);
}

static int take_drain(const struct json *v, void *record, struct err *e)
{
	return config_take_unit(v, str_duration, &((struct config *)record)->drain_ms, e);
}

static int take_log(const struct json *v, void *record, struct err *e)
{
	const char *text;

	if (config_take_text(v, &text, e) < 0)
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

		if (config_take_absolute(item, &path, e) < 0 ||
		    strv_add(&c->repositories, path, e) < 0)
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
		config_template_clear(&c->templates[i]);
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
