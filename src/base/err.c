/* SPDX-License-Identifier: MIT */
/* err.c - fill, wrap and keep errors; see err.h. */
#define OHS_ERR_DEFINITIONS
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_errno(struct err *e, const char *fmt, ...)
{
	int code = errno ? errno : EIO;
	va_list ap;
	int used;

	e->code = code;
	va_start(ap, fmt);
	used = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof(e->text))
		(void)snprintf(e->text + used, sizeof(e->text) - (size_t)used, ": %s",
			       strerror(code));
	return -code;
}

int err_code(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -code;
}

/* As much of it as there is room for. */
static void append(struct err *e, const char *text)
{
	size_t used = strlen(e->text), len = strlen(text), room = sizeof(e->text) - 1 - used;

	if (len > room)
		len = room;
	memcpy(e->text + used, text, len);
	e->text[used + len] = '\0';
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[ERR_TEXT_BYTES];
	va_list ap;
	int used;

	memcpy(inner, e->text, sizeof(inner));
	va_start(ap, fmt);
	used = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (used >= 0 && (size_t)used < sizeof(e->text)) {
		append(e, ": ");
		append(e, inner);
	}
	return -e->code;
}

void err_keep(struct err *first, const struct err *next)
{
	if (!first->code)
		*first = *next;
}
