/* SPDX-License-Identifier: MIT */
/* log.c - see log.h. Control characters of foreign texts are shown as '?',
 * so that a file name cannot drive the reader's terminal. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

static enum log_level shown = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	shown = level;
}

enum log_level log_level(void)
{
	return shown;
}

/* The controls of ISO 6429 have a form of two bytes too, and terminals that take bytes as they are
 * another: what is no UTF-8. */
static void cleanse(char *line, size_t len)
{
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		unsigned char first = (unsigned char)line[i];

		n = utf8_sequence(line + i, len - i);
		if (n == 0 || (n == 1 && (first < 0x20 || first == 0x7f)))
			line[i] = '?';
		else if (n == 2 && utf8_code(line + i, n) < 0xa0)
			line[i] = line[i + 1] = '?';
	}
}

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	char line[1024] = "ohsandbox: ";
	size_t used = strlen(line);
	int n;

	if (level > shown)
		return;
	n = vsnprintf(line + used, sizeof(line) - used - 1, fmt, ap);
	if (n < 0)
		return;
	used += (size_t)n;
	if (used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	cleanse(line, used);
	line[used++] = '\n';
	/* A closed standard error leaves nobody to tell. */
	if (write(STDERR_FILENO, line, used) < 0)
		return;
}

#define LOG_FUNCTION(name, level)       \
	void name(const char *fmt, ...) \
	{                               \
		va_list ap;             \
                                        \
		va_start(ap, fmt);      \
		emit(level, fmt, ap);   \
		va_end(ap);             \
	}

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warn, LOG_LEVEL_WARN)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
