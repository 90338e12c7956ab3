/* SPDX-License-Identifier: MIT */
/* str.c - see str.h. */
#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool str_eq(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && strcmp(text + n - m, suffix) == 0;
}

int str_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
	uint64_t value = 0;
	const char *p = text;

	if (!*p)
		return err_code(e, EINVAL, "an empty text is not a number");
	for (; *p; p++) {
		if (*p < '0' || *p > '9')
			return err_code(e, EINVAL, "'%.40s' is not a whole number", text);
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return err_code(e, ERANGE, "'%.40s' is too large", text);
	}
	if (value < min || value > max)
		return err_code(e, ERANGE, "%.40s is not between %llu and %llu", text,
				(unsigned long long)min, (unsigned long long)max);
	*out = value;
	return 0;
}

/* Digits with at most three decimals, in thousandths; *rest is what follows. */
static int scan_milli(const char *text, uint64_t *milli, const char **rest)
{
	uint64_t value = 0, scale = 1000;
	const char *p = text;

	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	if (p == text)
		return -EINVAL;
	if (__builtin_mul_overflow(value, (uint64_t)1000, &value))
		return -ERANGE;
	if (*p == '.') {
		const char *first = ++p;

		for (; isdigit((unsigned char)*p) && p - first < 3; p++) {
			scale /= 10;
			if (__builtin_add_overflow(value, (uint64_t)(*p - '0') * scale, &value))
				return -ERANGE;
		}
		if (p == first)
			return -EINVAL;
	}
	*milli = value;
	*rest = p;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* text = number and one of the units; the value is in thousandths of the factor's unit. */
static int scan_unit(const char *text, const struct unit *units, size_t n, uint64_t *out)
{
	uint64_t milli, whole;
	const char *rest;
	int r = scan_milli(text, &milli, &rest);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(milli / 1000, units[i].factor, &whole) ||
		    __builtin_add_overflow(whole, milli % 1000 * units[i].factor / 1000, &whole))
			return -ERANGE;
		*out = whole;
		return 0;
	}
	return -EINVAL;
}

int str_size(const char *text, uint64_t *bytes, struct err *e)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 1ULL << 10 },
		{ "KB", 1ULL << 10 },
		{ "KiB", 1ULL << 10 },
		{ "M", 1ULL << 20 },
		{ "MB", 1ULL << 20 },
		{ "MiB", 1ULL << 20 },
		{ "G", 1ULL << 30 },
		{ "GB", 1ULL << 30 },
		{ "GiB", 1ULL << 30 },
		{ "T", 1ULL << 40 },
		{ "TB", 1ULL << 40 },
		{ "TiB", 1ULL << 40 },
	};
	uint64_t value;
	int r = scan_unit(text, units, ARRAY_LEN(units), &value);

	if (r == 0 && value > INT64_MAX)
		r = -ERANGE;
	if (r == -ERANGE)
		return err_code(e, ERANGE, "'%.40s' is too large for a size", text);
	if (r < 0)
		return err_code(e, EINVAL, "'%.40s' is not a size such as 512M or 2G", text);
	*bytes = value;
	return 0;
}

int str_duration(const char *text, uint64_t *ms, struct err *e)
{
	static const struct unit units[] = {
		{ "", 1000 },	{ "ms", 1 },	  { "s", 1000 },
		{ "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	};
	uint64_t value;
	int r = scan_unit(text, units, ARRAY_LEN(units), &value);

	if (r == 0 && value > INT64_MAX / 1000000)
		r = -ERANGE;
	if (r == -ERANGE)
		return err_code(e, ERANGE, "'%.40s' is too long", text);
	if (r < 0)
		return err_code(e, EINVAL, "'%.40s' is not a duration such as 30s or 5m", text);
	*ms = value;
	return 0;
}

int str_milli(const char *text, uint64_t *milli, struct err *e)
{
	const char *rest;
	uint64_t value;
	int r = scan_milli(text, &value, &rest);

	if (r == -ERANGE)
		return err_code(e, ERANGE, "'%.40s' is too large", text);
	if (r < 0 || *rest)
		return err_code(e, EINVAL, "'%.40s' is not a number such as 2 or 1.5", text);
	*milli = value;
	return 0;
}

bool str_eq_secret(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned char diff = n != m;

	/* Walks the whole of b whatever a is; the length of b is no secret. */
	for (size_t i = 0; i < m; i++)
		diff |= (unsigned char)(b[i] ^ (n ? a[i % n] : 1));
	return diff == 0;
}

bool str_is_name(const char *text, size_t max_len)
{
	size_t n = strlen(text);

	if (!n || n > max_len)
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f || text[i] == '/')
			return false;
	return true;
}

char *str_dup(const char *text, struct err *e)
{
	char *copy = strdup(text);

	if (!copy)
		(void)err_code(e, ENOMEM, "out of memory");
	return copy;
}

char *str_fmt(struct err *e, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		(void)err_code(e, ENOMEM, "out of memory");
		return NULL;
	}
	return text;
}
