/* SPDX-License-Identifier: MIT */
/* json_out.c - see json_out.h. */
#include "base/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void line(struct json_out *o)
{
	if (!o->pretty)
		return;
	buf_putc(o->buf, '\n');
	for (unsigned i = 0; i < o->depth; i++)
		buf_puts(o->buf, "  ");
}

/* One code point that must not stand in a text as it is. */
static void escape(struct buf *b, unsigned code)
{
	static const char named[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (const char *n = named; *n; n += 2) {
		if ((unsigned char)n[0] != code)
			continue;
		buf_putc(b, '\\');
		buf_putc(b, n[1]);
		return;
	}
	buf_printf(b, "\\u%04x", code);
}

/* Control characters of both sets are escaped, so that what is shown cannot drive a terminal. */
static bool must_escape(const unsigned char *p, size_t n)
{
	if (n == 1)
		return p[0] < 0x20 || p[0] == 0x7f || p[0] == '"' || p[0] == '\\';
	return n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

static void text(struct buf *b, const char *bytes, size_t len)
{
	size_t plain = 0, at = 0;

	buf_putc(b, '"');
	while (at < len) {
		size_t n = utf8_sequence(bytes + at, len - at);
		const unsigned char *p = (const unsigned char *)bytes + at;

		if (n && !must_escape(p, n)) {
			at += n;
			continue;
		}
		buf_add(b, bytes + plain, at - plain);
		if (!n)
			buf_puts(b, "\xef\xbf\xbd");
		else
			escape(b, n == 1 ? p[0] : p[1]);
		at += n ? n : 1;
		plain = at;
	}
	buf_add(b, bytes + plain, len - plain);
	buf_putc(b, '"');
}

/* What stands before every value: comma, line, key. */
static void before(struct json_out *o, const char *key)
{
	if (o->comma)
		buf_putc(o->buf, ',');
	if (o->depth)
		line(o);
	if (key) {
		text(o->buf, key, strlen(key));
		buf_puts(o->buf, o->pretty ? ": " : ":");
	}
	o->comma = true;
}

static void open_list(struct json_out *o, const char *key, char bracket)
{
	before(o, key);
	buf_putc(o->buf, bracket);
	o->comma = false;
	o->depth++;
}

static void close_list(struct json_out *o, char bracket)
{
	o->depth--;
	if (o->comma) /* it is not empty */
		line(o);
	buf_putc(o->buf, bracket);
	o->comma = true;
}

void jo_object(struct json_out *o, const char *key)
{
	open_list(o, key, '{');
}

void jo_end_object(struct json_out *o)
{
	close_list(o, '}');
}

void jo_array(struct json_out *o, const char *key)
{
	open_list(o, key, '[');
}

void jo_end_array(struct json_out *o)
{
	close_list(o, ']');
}

void jo_string(struct json_out *o, const char *key, const char *value)
{
	if (value)
		jo_string_n(o, key, value, strlen(value));
	else
		jo_null(o, key);
}

void jo_string_n(struct json_out *o, const char *key, const char *bytes, size_t len)
{
	before(o, key);
	text(o->buf, bytes, len);
}

void jo_int(struct json_out *o, const char *key, int64_t value)
{
	before(o, key);
	buf_printf(o->buf, "%" PRId64, value);
}

void jo_u64(struct json_out *o, const char *key, uint64_t value)
{
	before(o, key);
	buf_printf(o->buf, "%" PRIu64, value);
}

void jo_real(struct json_out *o, const char *key, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		jo_null(o, key);
		return;
	}
	for (int precision = 15; precision <= 17; precision++) {
		(void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	before(o, key);
	buf_puts(o->buf, digits);
}

void jo_bool(struct json_out *o, const char *key, bool value)
{
	before(o, key);
	buf_puts(o->buf, value ? "true" : "false");
}

void jo_null(struct json_out *o, const char *key)
{
	before(o, key);
	buf_puts(o->buf, "null");
}
