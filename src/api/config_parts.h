/* SPDX-License-Identifier: MIT */
/* config_parts.h - what config.c (the file) and config_template.c (a template in it) share. */
#pragma once

#include <stddef.h>

#include "api/config.h"
#include "base/json.h"

#define FIELD(key, kind, type, member, ...)                                       \
	{                                                                         \
		key, kind, offsetof(type, member), .max = UINT64_MAX, __VA_ARGS__ \
	}

/* A string without a zero byte; *text is the document's. */
must_check int config_take_text(const struct json *v, const char **text, struct err *e);

/* A text with a unit, as `parse` reads it, or a bare number of the least unit. */
must_check int config_take_unit(const struct json *v,
				int (*parse)(const char *, uint64_t *, struct err *), uint64_t *out,
				struct err *e);

/* An absolute path, in place of what *out was. */
must_check int config_take_absolute(const struct json *v, char **out, struct err *e);

/* One more in c->templates, which has room for it. */
must_check int config_take_template(struct config *c, const struct json *v, struct err *e);
void config_template_clear(struct session_template *t);
