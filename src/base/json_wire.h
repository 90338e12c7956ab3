/* SPDX-License-Identifier: MIT */
/* json_wire.h - rows of a table of fields (json.h) whose record is the file's own `struct wire`: what is
 * read, with room for what JSON holds in another form. For files that define one. */
#pragma once

#include <stddef.h>

#include "base/json.h"

#define WIRE_LIST_MAX 65536 /* arguments of a command, variables */

#define WIRE_AT(k, kind_, member) \
	.key = (k), .kind = FIELD_##kind_, .offset = offsetof(struct wire, member)
#define WIRE_TEXT(k, member)               \
	{                                  \
		WIRE_AT(k, STRING, member) \
	}
#define WIRE_MUST(k, member)                                 \
	{                                                    \
		WIRE_AT(k, STRING, member), .required = true \
	}
#define WIRE_LIST(k, member)                                      \
	{                                                         \
		WIRE_AT(k, STRINGS, member), .max = WIRE_LIST_MAX \
	}
#define WIRE_FLAG(k, member)             \
	{                                \
		WIRE_AT(k, BOOL, member) \
	}
#define WIRE_NUMBER(k, member, most)                   \
	{                                              \
		WIRE_AT(k, U64, member), .max = (most) \
	}
#define WIRE_CUSTOM(k, f)                                    \
	{                                                    \
		.key = (k), .kind = FIELD_CUSTOM, .parse = f \
	}
