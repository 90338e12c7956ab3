/* SPDX-License-Identifier: MIT */
/* label.c - see label.h. */
#include "api/label.h"

#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "plan/strv.h"

struct fields {
	struct label label;
	uint64_t port;
};

static const struct field fields[] = {
	{ "template", FIELD_STRING, offsetof(struct fields, label.template), .max = UINT64_MAX },
	{ "image", FIELD_STRING, offsetof(struct fields, label.image), .max = UINT64_MAX },
	{ "program", FIELD_STRINGS, offsetof(struct fields, label.program), .max = UINT64_MAX },
	{ "directory", FIELD_STRING, offsetof(struct fields, label.directory), .max = UINT64_MAX },
	{ "program_key", FIELD_STRING, offsetof(struct fields, label.program_key),
	  .max = UINT64_MAX },
	{ "shape", FIELD_STRING, offsetof(struct fields, label.shape), .max = UINT64_MAX },
	{ "fresh", FIELD_STRING, offsetof(struct fields, label.fresh), .max = UINT64_MAX },
	{ "program_port", FIELD_U64, offsetof(struct fields, port), .max = UINT16_MAX },
};

void label_write(const struct label *l, struct buf *out)
{
	struct json_out o = { .buf = out };

	jo_object(&o, NULL);
	if (l->template)
		jo_string(&o, "template", l->template);
	if (l->image)
		jo_string(&o, "image", l->image);
	if (l->program) {
		jo_array(&o, "program");
		for (char *const *word = l->program; *word; word++)
			jo_string(&o, NULL, *word);
		jo_end_array(&o);
	}
	if (l->directory)
		jo_string(&o, "directory", l->directory);
	if (l->program_key)
		jo_string(&o, "program_key", l->program_key);
	if (l->shape)
		jo_string(&o, "shape", l->shape);
	if (l->fresh)
		jo_string(&o, "fresh", l->fresh);
	if (l->program_port)
		jo_u64(&o, "program_port", l->program_port);
	jo_end_object(&o);
}

int label_parse(const char *text, struct label *l, struct err *e)
{
	autojson struct json_doc *doc = NULL;
	struct fields f = { 0 };

	*l = f.label;
	if (!text)
		return 0;
	if (json_parse(text, strlen(text), &JSON_LIMITS_DEFAULT, &doc, e) < 0)
		return err_wrap(e, "label");
	if (json_fields(json_root(doc), fields, ARRAY_LEN(fields), &f, "label", e) < 0) {
		label_clear(&f.label);
		return -e->code;
	}
	f.label.program_port = (uint16_t)f.port;
	*l = f.label;
	return 0;
}

void label_clear(struct label *l)
{
	free(l->template);
	free(l->image);
	strv_free(l->program);
	free(l->directory);
	if (l->program_key)
		explicit_bzero(l->program_key, strlen(l->program_key));
	free(l->program_key);
	free(l->shape);
	free(l->fresh);
	*l = (struct label) { 0 };
}
