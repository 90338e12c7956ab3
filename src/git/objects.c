/* SPDX-License-Identifier: MIT */
/* objects.c - see objects.h. */
#include "git/objects.h"

#include <git2.h>
#include <git2/sys/repository.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "git/batch.h"
#include "git/gitlib.h"

#define OBJECT_MAX ((size_t)4 << 30)
#define TAG_DEPTH 8

struct objects {
	size_t id_bytes;
	git_odb *odb;
	git_repository
		*repository; /* the objects and nothing else: no directory, no configuration */
	struct batch *batch; /* git's plumbing instead */
};

static bool config_is(git_config *config, const char *key, const char *value)
{
	git_buf text = { 0 };
	bool is = git_config_get_string_buf(&text, config, key) == 0 && str_eq(text.ptr, value);

	git_buf_dispose(&text);
	return is;
}

static int look_for_promisor(const git_config_entry *entry, void *arg)
{
	if (str_eq(entry->name, "extensions.partialclone") ||
	    (str_starts(entry->name, "remote.") && str_ends(entry->name, ".promisor")))
		*(bool *)arg = true;
	return 0;
}

int repo_format_read(const struct repo *r, struct repo_format *out, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/config", r->common_path);
	struct repo_format found = { 0 };
	git_config *config = NULL;
	int n;

	if (!path)
		return -e->code;
	n = git_config_open_ondisk(&config, path);
	if (n < 0)
		return err_git(e, n, "read '%s'", path);
	found.sha256 = config_is(config, "extensions.objectformat", "sha256");
	found.reftable = config_is(config, "extensions.refstorage", "reftable");
	n = git_config_foreach(config, look_for_promisor, &found.promisor);
	git_config_free(config);
	if (n < 0)
		return err_git(e, n, "read '%s'", path);
	*out = found;
	return 0;
}

static int open_library(struct objects *o, const struct repo *r, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/objects", r->common_path);
	git_config *config = NULL;
	int n;

	if (!path)
		return -e->code;
	n = git_odb_open(&o->odb, path);
	if (n == 0)
		n = git_repository_wrap_odb(&o->repository, o->odb);
	/* An empty configuration: no core.autocrlf, no attributes file, no driver of the user's. */
	if (n == 0)
		n = git_config_new(&config);
	if (n == 0)
		n = git_repository_set_config(o->repository, config);
	git_config_free(config);
	return n < 0 ? err_git(e, n, "open the objects of '%s'", r->path) : 0;
}

int objects_open(const struct repo *r, const struct repo_format *format, struct objects **out,
		 struct err *e)
{
	struct objects *o = calloc(1, sizeof(*o));
	int n;

	if (!o)
		return err_code(e, ENOMEM, "out of memory");
	o->id_bytes = format->sha256 ? 32 : 20;
	n = format->sha256 ? batch_open(r, &o->batch, e) : open_library(o, r, e);
	if (n < 0) {
		objects_free(o);
		return n;
	}
	*out = o;
	return 0;
}

void objects_free(struct objects *o)
{
	if (!o)
		return;
	git_repository_free(o->repository);
	git_odb_free(o->odb);
	batch_close(o->batch);
	free(o);
}

size_t objects_id_bytes(const struct objects *o)
{
	return o->id_bytes;
}

git_odb *objects_odb(struct objects *o)
{
	return o->odb;
}

git_repository *objects_repository(struct objects *o)
{
	return o->repository;
}

static int read_library(struct objects *o, const struct object_id *id, struct object *out,
			struct err *e)
{
	git_odb_object *found = NULL;
	char hex[GIT_ID_MAX + 1];
	git_oid oid;
	int n;

	memcpy(oid.id, id->bytes, sizeof(oid.id));
	n = git_odb_read(&found, o->odb, &oid);
	if (n < 0) {
		object_id_hex(o, id, hex);
		return err_git(e, n, "read object %s", hex);
	}
	*out = (struct object) {
		.kind = (enum object_kind)git_odb_object_type(found),
		.data = git_odb_object_data(found),
		.size = git_odb_object_size(found),
		.owner = found,
	};
	return 0;
}

int object_read(struct objects *o, const struct object_id *id, struct object *out, struct err *e)
{
	char hex[GIT_ID_MAX + 1];
	int n;

	if (!o->batch)
		return read_library(o, id, out, e);
	object_id_hex(o, id, hex);
	n = batch_read(o->batch, hex, OBJECT_MAX, out, e);
	return n < 0 ? err_wrap(e, "read object %s", hex) : 0;
}

void object_clear(struct object *object)
{
	git_odb_object_free(object->owner);
	free(object->heap);
	*object = (struct object) { 0 };
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool object_id_parse(const struct objects *o, const char *hex, struct object_id *out)
{
	struct object_id id = { 0 };

	for (size_t i = 0; i < o->id_bytes; i++) {
		int high = digit(hex[2 * i]), low = high < 0 ? -1 : digit(hex[2 * i + 1]);

		if (low < 0)
			return false;
		id.bytes[i] = (uint8_t)(high << 4 | low);
	}
	*out = id;
	return true;
}

void object_id_hex(const struct objects *o, const struct object_id *id, char out[GIT_ID_MAX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < o->id_bytes; i++) {
		out[2 * i] = digits[id->bytes[i] >> 4];
		out[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	out[2 * o->id_bytes] = '\0';
}

int object_peel(struct objects *o, struct object_id *id, struct err *e)
{
	for (int depth = 0; depth < TAG_DEPTH; depth++) {
		autoobject struct object object = { 0 };

		if (object_read(o, id, &object, e) < 0)
			return -e->code;
		if (object.kind != OBJECT_TAG)
			return 0;
		if (object.size < 7 + 2 * o->id_bytes || memcmp(object.data, "object ", 7) != 0 ||
		    !object_id_parse(o, (const char *)object.data + 7, id))
			return err_code(e, EINVAL, "a tag names no object");
	}
	return err_code(e, ELOOP, "a tag of tags of tags");
}

/* "committer Name <mail> 1700000000 +0000" in the header. */
static int64_t committer_time(const char *text)
{
	const char *end = strstr(text, "\n\n"), *line = strstr(text, "\ncommitter "), *mail;
	int64_t seconds = 0;

	if (!line || (end && line > end))
		return 0;
	end = strchr(line + 1, '\n');
	mail = end ? memrchr(line, '>', (size_t)(end - line)) : NULL;
	if (!mail || mail[1] != ' ')
		return 0;
	for (const char *p = mail + 2; *p >= '0' && *p <= '9' && seconds < INT64_MAX / 100; p++)
		seconds = seconds * 10 + (*p - '0');
	return seconds;
}

int commit_read(struct objects *o, struct object_id *id, struct commit *out, struct err *e)
{
	autoobject struct object object = { 0 };
	char hex[GIT_ID_MAX + 1];

	if (object_peel(o, id, e) < 0 || object_read(o, id, &object, e) < 0)
		return -e->code;
	object_id_hex(o, id, hex);
	if (object.kind != OBJECT_COMMIT)
		return err_code(e, EINVAL, "object %s is no commit", hex);
	if (object.size < 5 + 2 * o->id_bytes || memcmp(object.data, "tree ", 5) != 0 ||
	    !object_id_parse(o, (const char *)object.data + 5, &out->tree))
		return err_code(e, EINVAL, "commit %s names no tree", hex);
	out->time = committer_time((const char *)object.data);
	return 0;
}

static int apply_filters(git_filter_list *filters, const struct object *blob, char **out,
			 size_t *len, struct err *e)
{
	git_buf text = { 0 };
	int n = git_filter_list_apply_to_buffer(&text, filters, (const char *)blob->data,
						blob->size);

	if (n < 0)
		return err_git(e, n, "set line ends");
	*out = malloc(text.size + 1);
	if (*out) {
		memcpy(*out, text.ptr, text.size);
		(*out)[text.size] = '\0';
		*len = text.size;
	}
	git_buf_dispose(&text);
	return *out ? 0 : err_code(e, ENOMEM, "out of memory");
}

int objects_smudge(struct objects *o, const struct object_id *commit, const char *path,
		   const struct object *blob, char **out, size_t *len, struct err *e)
{
	git_filter_options options = { .version = GIT_FILTER_OPTIONS_VERSION };
	git_filter_list *filters = NULL;
	int n;

	*out = NULL;
	if (!o->repository)
		return 0;
	options.flags = GIT_FILTER_ATTRIBUTES_FROM_COMMIT | GIT_FILTER_NO_SYSTEM_ATTRIBUTES;
	memcpy(options.attr_commit_id.id, commit->bytes, GIT_OID_RAWSZ);
	n = git_filter_list_load_ext(&filters, o->repository, NULL, path, GIT_FILTER_TO_WORKTREE,
				     &options);
	if (n < 0)
		return err_git(e, n, "attributes of '%s'", path);
	n = filters ? apply_filters(filters, blob, out, len, e) : 0;
	git_filter_list_free(filters);
	return n;
}
