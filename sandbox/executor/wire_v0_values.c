/* SPDX-License-Identifier: MIT */
/* wire_v0_values.c - see wire_v0_values.h. */
#include "sandbox/executor/wire_v0_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/executor/observation.h"

#define TOO_LONG "..."

static void show_value(const struct json *value, struct buf *out)
{
	switch (value->type) {
	case JSON_INT:
		buf_printf(out, "%" PRId64, value->integer);
		break;
	case JSON_REAL:
		observation_seconds(out, value->real);
		break;
	case JSON_STRING:
		buf_putc(out, '\'');
		buf_add(out, value->string.bytes, value->string.len);
		buf_putc(out, '\'');
		break;
	case JSON_BOOL:
		buf_puts(out, value->boolean ? "True" : "False");
		break;
	case JSON_NULL:
		buf_puts(out, "None");
		break;
	default:
		buf_puts(out, value->type == JSON_ARRAY ? "[" TOO_LONG "]" : "{" TOO_LONG "}");
	}
}

static void show_list(const struct json *list, size_t room, char *shown)
{
	autobuf struct buf text = { 0 };
	size_t len;

	for (const struct json *v = list->list.first; v && text.len < room; v = v->next) {
		buf_puts(&text, v == list->list.first ? "[" : ", ");
		show_value(v, &text);
	}
	buf_putc(&text, ']');
	len = text.len < room ? text.len : room - sizeof(TOO_LONG "]");
	while (len < text.len && ((unsigned char)text.data[len] & 0xc0) == 0x80)
		len--; /* not within a character */
	(void)snprintf(shown, room, "%.*s%s", (int)len, buf_str(&text),
		       len < text.len ? TOO_LONG "]" : "");
}

void wire_v0_range(const struct json *list, struct action_range *range)
{
	const struct json *first = list->list.first, *last = first ? first->next : NULL;

	*range = (struct action_range) { .given = true };
	show_list(list, sizeof(range->shown), range->shown);
	range->good = last && !last->next && first->type == JSON_INT && last->type == JSON_INT;
	if (!range->good)
		return;
	range->first = first->integer;
	range->last = last->integer;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

bool wire_v0_integer(struct text t, int64_t *out)
{
	bool negative;
	int64_t value = 0;

	t = text_strip(t);
	negative = t.len && t.at[0] == '-';
	if (t.len && (t.at[0] == '-' || t.at[0] == '+')) {
		t.at++;
		t.len--;
	}
	if (!t.len || !digit(t.at[t.len - 1]))
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (t.at[i] == '_' && i > 0 && digit(t.at[i - 1]))
			continue;
		if (!digit(t.at[i]))
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, t.at[i] - '0', &value))
			value = INT64_MAX;
	}
	*out = negative ? -value : value;
	return true;
}
