/* SPDX-License-Identifier: MIT */
/* answer.c - see answer.h. */
#include "git/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "session/gitrun.h"

#define PROGRESS_STEP 250

void answer_begin(struct answer *a)
{
	*a = (struct answer) { 0 };
	a->json.buf = &a->text;
	jo_object(&a->json, NULL);
}

void answer_warn(struct answer *a, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = '?';
	buf_puts(&a->warnings, line);
	buf_putc(&a->warnings, '\n');
}

void answer_progress(struct answer *a, uint64_t done, uint64_t total)
{
	char line[64];
	int n;

	if (done - a->last_progress < PROGRESS_STEP)
		return;
	a->last_progress = done;
	n = snprintf(line, sizeof(line), "P %llu %llu\n", (unsigned long long)done,
		     (unsigned long long)(total > done ? total : done));
	/* Who does not listen any more kills us. */
	if (write(GIT_RUN_ANSWER_FD, line, (size_t)n) < 0)
		return;
}

static void write_warnings(struct answer *a)
{
	char *line, *rest = a->warnings.data;

	jo_array(&a->json, "warnings");
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			jo_string(&a->json, NULL, line);
	jo_end_array(&a->json);
}

static void write_error(struct buf *out, const struct err *error)
{
	struct json_out json = { .buf = out };

	jo_object(&json, NULL);
	jo_object(&json, "error");
	jo_int(&json, "code", error->code);
	jo_string(&json, "text", error->text);
	jo_end_object(&json);
	jo_end_object(&json);
}

int answer_end(struct answer *a, const struct err *error)
{
	struct err e = { 0 };

	write_warnings(a);
	jo_end_object(&a->json);
	if (error) {
		buf_reset(&a->text);
		write_error(&a->text, error);
	}
	if (buf_check(&a->text, &e) < 0 ||
	    io_write_all(GIT_RUN_ANSWER_FD, buf_str(&a->text), a->text.len, &e) < 0)
		return 2;
	buf_clear(&a->text);
	buf_clear(&a->warnings);
	return error ? 1 : 0;
}
