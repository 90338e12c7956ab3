/* SPDX-License-Identifier: MIT */
/* fuzz_multipart.c - a line as Content-Type, the rest as the body: what comes out lies within it and
 * does not depend on how it arrives, nor on how much of a piece is taken at once. */
#include <stdlib.h>
#include <string.h>

#include "http/multipart.h"

#define CHECK(ok)                         \
	do {                              \
		if (!(ok))                \
			__builtin_trap(); \
	} while (0)

/* Everything that was said, as one number. */
struct sum {
	unsigned value;
};

static void add(struct sum *s, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		s->value = s->value * 31 + at[i] + 1;
}

static void add_found(struct sum *s, const struct multipart_found *f)
{
	CHECK(strlen(f->name) <= MULTIPART_NAME_MAX && f->name[0]);
	CHECK(strlen(f->filename) <= MULTIPART_FILENAME_MAX);
	CHECK(f->has_filename || !f->filename[0]);
	add(s, f->name, strlen(f->name) + 1);
	add(s, f->filename, strlen(f->filename) + 1);
}

/* `step` bytes come at once, and `most` of a piece are taken. */
static unsigned run(struct multipart m, const char *body, size_t len, size_t step, size_t most)
{
	size_t at = 0, there = 0;
	struct multipart_found f;
	struct sum s = { 0 };
	struct err e = { 0 };

	for (;;) {
		enum multipart_event event = multipart_next(&m, body + at, there - at, &f, &e);

		CHECK(f.used <= there - at);
		if (event == MULTIPART_DATA) {
			if (f.used > most)
				f.used = most;
			add(&s, body + at, f.used);
		} else if (event != MULTIPART_MORE) {
			add(&s, &event, sizeof(event));
		}
		if (event == MULTIPART_PART)
			add_found(&s, &f);
		if (event == MULTIPART_END || event == MULTIPART_BAD)
			return s.value;
		at += f.used;
		if (event != MULTIPART_MORE)
			continue;
		if (there == len)
			return s.value;
		there = len - there < step ? len : there + step;
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const unsigned char *line = memchr(data, '\n', size);
	struct http_text type = { .at = (const char *)data };
	struct multipart m;
	struct err e = { 0 };
	const char *body;
	unsigned whole;
	size_t len;

	if (!line)
		return 0;
	type.len = (size_t)(line - data);
	if (memchr(data, '\0', type.len) || multipart_begin(&m, type, &e) < 0)
		return 0;
	body = (const char *)line + 1;
	len = size - type.len - 1;
	whole = run(m, body, len, len + 1, len + 1);
	CHECK(run(m, body, len, 1, 1) == whole);
	CHECK(run(m, body, len, 3, len + 1) == whole);
	CHECK(run(m, body, len, len + 1, 2) == whole);
	return 0;
}
